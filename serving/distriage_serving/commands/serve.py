"""`distriage serve`. Imports nothing heavy before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from distriage.base.extras import needs_extra
from distriage_serving.commands.options import ModelOption


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0: any free one; default: 8000.")] = None,
    model: ModelOption = None,
) -> None:
    """Answer over HTTP. Settings come from the environment; see docs/settings.md."""
    with needs_extra("serve"):
        from distriage_serving.server import run_server
        from distriage_serving.settings import load_settings
    run_server(load_settings({"host": host, "port": port, "model": model}))
