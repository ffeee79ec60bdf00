"""`distriage mcp`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from distriage.agents.start import start


def mcp(
    past: Annotated[
        Path | None, typer.Option(metavar="INDEX", help="The repository's past issues, from `distriage past index`.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
) -> None:
    """Serve coding agents over standard input and output (Model Context Protocol); only reads."""
    start(past, model)
