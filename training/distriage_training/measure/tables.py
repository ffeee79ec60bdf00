"""Markdown tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; pipes and line breaks in a cell are made harmless."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
