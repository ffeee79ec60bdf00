"""Sub-commands of serving. Imports nothing heavy before a command runs; a missing extra ends in one line."""

from __future__ import annotations

from typing import Annotated

import typer

from distriage.extras import needs_extra
from distriage_serving import loop_cli
from distriage_serving.bot import cli as bot_cli


def register(app: typer.Typer) -> None:
    """Add the serving commands to the command line."""
    app.command()(serve)
    bot_cli.register(app)
    loop_cli.register(app)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0: any free one; default: 8000.")] = None,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
) -> None:
    """Answer over HTTP. All settings can come from the environment too, as DISTRIAGE_HOST, DISTRIAGE_API_KEYS, ...; see README."""
    with needs_extra("serve"):
        from distriage_serving.server import run_server
        from distriage_serving.settings import load_settings
    run_server(load_settings({"host": host, "port": port, "model": model}))
