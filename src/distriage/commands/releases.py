"""`distriage releases`: a table of releases, for machines without a network. Imports nothing heavy before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from distriage.base.terminal import counted

releases_app = typer.Typer(
    name="releases",
    help="Keep a table of repositories' releases, so that `classify --releases` says which versions are old.",
    no_args_is_help=True,
)


@releases_app.callback()
def _group() -> None:
    pass


@releases_app.command("update")
def update(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="The file to write (.json).")],
    repositories: Annotated[
        list[str] | None, typer.Argument(metavar="[OWNER/REPO]...", help="Default: those in the table.")
    ] = None,
) -> None:
    """Read the newest releases from GitHub, each repository at most once a day (GITHUB_TOKEN is used if set)."""
    from distriage.base.references import check_repository
    from distriage.github.address import token_of_environment
    from distriage.github.client import Client
    from distriage.signs.table import update_table

    for name in repositories or ():
        check_repository(name)
    read = update_table(table, repositories or (), Client(token_of_environment(), max_wait_s=0.0))
    for name, count in read.items():
        typer.echo(f"{name}: {counted(count, 'release')}")
    if not read:
        typer.echo(f"{table}: all were read less than a day ago")
