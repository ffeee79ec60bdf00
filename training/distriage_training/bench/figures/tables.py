"""The figures on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from distriage_training.bench.figures.layout import tables


def print_heading(console: Console, figures: Mapping[str, Any]) -> None:
    """Print what was measured where."""
    machine = figures["machine"]
    console.print(
        f"{figures['model']} on {machine['cpu']}, {machine['cores']} cores; load when it began: {machine['load']}",
        markup=False,
    )


def print_tables(console: Console, figures: Mapping[str, Any]) -> None:
    """Print the tables of what `figures` holds."""
    for one in tables(figures):
        shown = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        for place, heading in enumerate(one.columns):
            shown.add_column(heading, justify="right" if place and one.title != "Not measured" else "left")
        for row in one.rows:
            shown.add_row(*map(Text, row))  # `[bench]` is an extra, not markup
        console.print(f"\n[bold]{one.title}[/bold]", emoji=False)
        console.print(shown)
        if one.note:
            console.print(one.note, markup=False)
