"""`distriage import-database`. Imports nothing heavy before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from distriage.base.extras import needs_extra
from distriage.base.terminal import counted
from distriage_serving.commands.options import DatabaseOption, open_store


def import_database(
    file: Annotated[Path, typer.Argument(help="The SQLite file; stop all that works on it.")],
    database: DatabaseOption = None,
) -> None:
    """Copy all of an SQLite file, reviews too, into the bot's database: one on PostgreSQL that is still empty."""
    with needs_extra("serve"):
        from distriage_serving.store.migrations.copy import copy_rows

        with open_store(f"sqlite:///{file}", must_exist=True) as old, open_store(database, must_exist=False) as new:
            count = copy_rows(old, new)
    typer.echo(f"{counted(count, 'row')} copied", err=True)
