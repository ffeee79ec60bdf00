"""`distriage bench` on the command line; imports what measures only when it runs."""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def bench(
    reports: Annotated[
        Path | None, typer.Option(help="A file of reports (JSONL, Parquet); default: the model's reference reports.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Reports whose latency is measured.")] = 100,
    many: Annotated[int, typer.Option(min=1, metavar="N", help="Reports whose throughput is measured.")] = 2000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each measurement is repeated.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.1, help="Length of each load over HTTP.")] = 20.0,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
    encoder: Annotated[
        Path | None, typer.Option(help="The peers' encoder, in Hugging Face's form; default: all-MiniLM-L6-v2.")
    ] = None,
    infinity: Annotated[
        str, typer.Option(metavar="URL|PROGRAM", help="A running infinity-emb, or its program, to be started.")
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="SECTION", help="parts, start, graph, text, many, http, past or equal; default: all."),
    ] = None,
    equal: Annotated[
        int, typer.Option(min=0, metavar="N", help="Also answer N reports in every way and count the differences.")
    ] = 0,
    issues: Annotated[int, typer.Option(min=100, help="Past issues among which reports are looked up.")] = 100_000,
    figures: Annotated[
        Path | None, typer.Option(help="Measure nothing; take the figures of an earlier run from this file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="A checkout: write docs/benchmarks.md, its figures and README's there.")
    ] = None,
) -> None:
    """Measure what a verdict costs, part by part and beside other ways to run the same encoder. JSON comes last."""
    from distriage.base.errors import InputError
    from distriage_training.bench.figures.tables import print_heading, print_tables
    from distriage_training.bench.run import EQUAL, SECTIONS, Order, measure

    if unknown := set(only or ()) - {*SECTIONS, EQUAL}:
        raise InputError(f"--only {min(unknown)}: expected one of {', '.join((*SECTIONS, EQUAL))}")
    if page is not None:
        from distriage_training.bench.figures.page import check_checkout

        check_checkout(page)
    if figures is not None:
        from distriage_training.bench.figures.page import read_figures

        steps = iter([read_figures(figures)])
    else:
        wanted = frozenset(only or ())
        order = Order(model, reports, count, rounds, many, seconds, encoder, infinity, equal, issues, wanted)
        steps = measure(order, Console(stderr=True, highlight=False))
    out = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    first = next(steps)
    print_heading(out, first)
    shown = {"missing"}  # is whole at the end
    for found in chain([first], steps):
        print_tables(out, {section: found[section] for section in found if section not in shown})
        shown |= found.keys()
    print_tables(out, {"missing": found["missing"]})
    out.print()
    if page is not None:
        from distriage_training.bench.figures.page import write_page

        write_page(found, page)
    typer.echo(json.dumps(found))
