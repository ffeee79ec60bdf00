"""The sections of a study: figures, each with its table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the study; `name` is that of its CSV file."""

    name: str
    headings: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of a coloured cross table: count and strength, 0 to 1."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[int, float]]]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure (perhaps absent) with its table and notes.

    Attributes:
        grid: A cross table shown in colour: row and column names, and cells of (count, strength 0 to 1).
    """

    title: str
    note: str
    table: Table
    picture: Markup = Markup("")  # noqa: RUF009 - a string, it cannot change
    grid: Grid | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with figures."""

    id: str
    title: str
    figures: list[Figure] = field(default_factory=list)
