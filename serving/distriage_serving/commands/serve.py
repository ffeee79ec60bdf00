"""`distriage serve`. Imports nothing heavy before it runs."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from distriage.base.extras import needs_extra
from distriage_serving.commands.options import ModelOption


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0: any free one; default: 8000.")] = None,
    model: ModelOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Show the triage queue with invented issues.")] = False,
) -> None:
    """Answer over HTTP. Settings come from the environment; see docs/settings.md."""
    with needs_extra("serve"):
        from distriage_serving.server import run_server
        from distriage_serving.settings import load_settings

        if demo:
            from distriage_serving.demo.fill import demo_options
    options: dict[str, Any] = {"host": host, "port": port, "model": model}
    settings = load_settings(options)
    if not demo:
        run_server(settings)
        return
    with TemporaryDirectory() as folder:
        options |= demo_options(settings, folder)
        typer.echo(f"log in at /queue with the token {options['admin_token']}", err=True)
        run_server(load_settings(options))
