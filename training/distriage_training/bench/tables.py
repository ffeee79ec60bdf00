"""The figures on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from distriage_training.bench.layout import Builder, tables


def print_heading(console: Console, figures: Mapping[str, Any]) -> None:
    """Print the subject and the machine."""
    machine = figures["machine"]
    console.print(
        f"{figures['model']} on {machine['cpu']}, {machine['cores']} cores; load when it began: {machine['load']}",
        markup=False,
    )


def print_as_measured(
    console: Console, found: Iterator[Mapping[str, Any]], builders: Mapping[str, Builder]
) -> Mapping[str, Any]:
    """Print the heading, each table once it is measured, and finally the reason for each missing one.

    Args:
        found: The growing figures, as `measure` yields them.

    Returns:
        All figures.
    """
    figures = next(found)
    print_heading(console, figures)
    shown = {"missing"}  # is whole at the end
    for figures in chain([figures], found):  # noqa: B020 - the last are all
        print_tables(console, {section: figures[section] for section in figures if section not in shown}, builders)
        shown |= figures.keys()
    print_tables(console, {"missing": figures["missing"]}, builders)
    console.print()
    return figures


def print_tables(console: Console, figures: Mapping[str, Any], builders: Mapping[str, Builder]) -> None:
    """Print the tables of the sections that `figures` holds."""
    for one in tables(figures, builders):
        shown = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        for place, heading in enumerate(one.columns):
            shown.add_column(heading, justify="right" if place and one.title != "Not measured" else "left")
        for row in one.rows:
            shown.add_row(*map(Text, row))  # `[bench]` is an extra, not markup
        console.print(f"\n[bold]{one.title}[/bold]", emoji=False)
        console.print(shown)
        if one.note:
            console.print(one.note, markup=False)
