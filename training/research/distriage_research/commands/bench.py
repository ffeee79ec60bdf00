"""`bench` on the command line: the figures of docs/benchmarks.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distriage_training.commands.bench import Count, Database, Many, Model, Reports, Rounds, Seconds
from distriage_training.commands.options import wide_console


def bench(
    reports: Reports = None,
    count: Count = 100,
    many: Many = 2000,
    rounds: Rounds = 3,
    seconds: Seconds = 20.0,
    model: Model = None,
    encoder: Annotated[
        Path | None, typer.Option(help="The peers' encoder, in Hugging Face's form; default: all-MiniLM-L6-v2.")
    ] = None,
    infinity: Annotated[
        str, typer.Option(metavar="URL|PROGRAM", help="A running infinity-emb, or its program, to be started.")
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECTION", help="parts, start, graph, text, many, http, past, queue or equal; default: all."
        ),
    ] = None,
    equal: Annotated[
        int, typer.Option(min=0, metavar="N", help="Also answer N reports in every way and count the differences.")
    ] = 0,
    database: Database = "",
    issues: Annotated[int, typer.Option(min=100, help="Past issues among which reports are looked up.")] = 100_000,
    figures: Annotated[
        Path | None, typer.Option(help="Measure nothing; take the figures of an earlier run from this file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="A checkout: write docs/benchmarks.md, its figures and README's there.")
    ] = None,
) -> None:
    """Measure a verdict beside other ways to run the same encoder, and look-ups among past issues. JSON comes last."""
    from distriage_research.bench.layout import BUILDERS
    from distriage_research.bench.page import check_checkout, read_figures, write_page
    from distriage_research.bench.run import EQUAL, SECTIONS, Beside, measure
    from distriage_training.bench.run import Order, check_sections
    from distriage_training.bench.tables import print_as_measured

    sections = check_sections(only, (*SECTIONS, EQUAL))
    if page is not None:
        check_checkout(page)
    if figures is not None:
        steps = iter([read_figures(figures)])
    else:
        order = Order(model, reports, count, rounds, many, seconds, database=database)
        beside = Beside(encoder, infinity, equal, issues)
        steps = measure(order, beside, sections, Console(stderr=True, highlight=False))
    found = print_as_measured(wide_console(), steps, BUILDERS)
    if page is not None:
        write_page(found, page)
    typer.echo(json.dumps(found))
