"""`distriage reviews`. Imports nothing heavy before a command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from distriage.base.disk import writing
from distriage.base.extras import needs_extra
from distriage.base.terminal import counted
from distriage_serving.commands.options import DatabaseOption, open_store

reviews_app = typer.Typer(name="reviews", help="Maintainers' decisions on the model's verdicts.", no_args_is_help=True)


@reviews_app.command()
def export(
    database: DatabaseOption = None,
    output: Annotated[Path | None, typer.Option(help="A file; default: standard output.")] = None,
) -> None:
    """Write people's reviews as JSONL, the latest on each axis of each issue, with its text.
    Those of a text that was edited since are left out.
    For `python training/research corpus import-reviews`, and those of own labels for `distriage learn --reviews`.
    """
    with needs_extra("serve"):
        from distriage_serving.store.review_records import review_records

        with open_store(database, must_exist=True) as store:
            records, edited = review_records(store)
    lines = [record.model_dump_json() + "\n" for record in records]
    if edited:
        typer.echo(f"{counted(edited, 'review')} left out: the report was edited since", err=True)
    if output is None:
        sys.stdout.write("".join(lines))
        return
    with writing(output):
        output.write_text("".join(lines), encoding="utf-8")
    typer.echo(f"{counted(len(lines), 'review')} in {output}", err=True)
