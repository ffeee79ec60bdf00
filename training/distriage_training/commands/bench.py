"""`distriage bench` on the command line; imports the measurements only when it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage_training.commands.options import wide_console

Reports = Annotated[
    Path | None, typer.Option(help="A file of reports (JSONL, Parquet); default: the model's reference reports.")
]
Count = Annotated[int, typer.Option(min=1, help="Reports whose latency is measured.")]
Many = Annotated[int, typer.Option(min=1, metavar="N", help="Reports whose throughput is measured.")]
Rounds = Annotated[int, typer.Option(min=1, help="How often each measurement is repeated.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="Length of each load over HTTP.")]
Issues = Annotated[int, typer.Option(min=1, metavar="N", help="Open issues in the measured triage queue.")]
Database = Annotated[
    str, typer.Option(metavar="URL", help="An empty PostgreSQL database, to be filled with the queue's issues.")
]
Model = Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")]


def bench(
    reports: Reports = None,
    count: Count = 100,
    many: Many = 2000,
    rounds: Rounds = 3,
    seconds: Seconds = 20.0,
    model: Model = None,
    queue_issues: Issues = 10_000,
    database: Database = "",
    only: Annotated[
        list[str] | None, typer.Option(metavar="SECTION", help="parts, start, many, http or queue; default: all.")
    ] = None,
) -> None:
    """Measure what a verdict costs on this machine: part by part, from a cold start, in bulk, by HTTP; and the triage
    queue.

    JSON comes last.
    """
    from distriage_training.bench.layout import BUILDERS
    from distriage_training.bench.run import SECTIONS, Order, check_sections, measure
    from distriage_training.bench.tables import print_as_measured

    sections = check_sections(only, SECTIONS)
    order = Order(model, reports, count, rounds, many, seconds, queue_issues, database)
    steps = measure(order, sections, Console(stderr=True, highlight=False))
    typer.echo(json.dumps(print_as_measured(wide_console(), steps, BUILDERS)))
