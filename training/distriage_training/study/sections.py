"""The sections of a study: figures, each with its table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from distriage_training.study.figures import COLUMN, PAGE, Picture


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the study; `name` is that of its files."""

    name: str
    headings: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure (perhaps absent) with its table and notes.

    Attributes:
        whole: A table of all counts, too large for the page.
        widths: In which the picture is written.
        corrected: Whether its shares are corrected for the model's errors on validation.
    """

    title: str
    note: str
    table: Table
    picture: Picture | None = None
    whole: Table | None = None
    widths: Sequence[int] = (PAGE, COLUMN)
    corrected: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with figures."""

    id: str
    title: str
    figures: list[Figure] = field(default_factory=list)
