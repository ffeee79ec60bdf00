"""The taxonomy for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from distriage.answer.playbooks import playbook_of
from distriage.answer.screen import show
from distriage.model.label import Label
from distriage.model.taxonomy import Axis, Taxonomy

INDENT = (0, 0, 0, 2)


class Requirement(BaseModel, extra="forbid", frozen=True):
    """The label that another axis must have for this axis to apply."""

    axis: str
    label: str


class LabelEntry(BaseModel, extra="forbid", frozen=True):
    """One label of an axis."""

    id: str
    name: str
    family: str | None
    definition: str
    source: str
    retired: str | None


class AxisEntry(BaseModel, extra="forbid", frozen=True):
    """One question with its possible answers."""

    name: str
    question: str
    requires: Requirement | None
    labels: tuple[LabelEntry, ...]


class TaxonomyAnswer(BaseModel, extra="forbid", frozen=True):
    """The taxonomy of the loaded model; the same as `distriage taxonomy --json`."""

    name: str
    version: str
    axes: Mapping[str, AxisEntry]


def print_taxonomy(console: Console, taxonomy: Taxonomy, axes: Sequence[Axis], *, with_definitions: bool) -> None:
    """Print axes, a row per label; with definitions, each under its label, so that it is readable at 80 columns."""
    parts: list[RenderableType] = [Text(f"taxonomy {taxonomy.name} {taxonomy.version}", style="dim")]
    for axis in axes:
        parts.append(Text(f"\n{axis.name}: {axis.question} ({len(axis.label_ids)})", style="bold"))
        if with_definitions:
            for label in axis.labels:
                parts += [_heading(label), Padding(Text(label.definition), INDENT)]
            continue
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        for label in axis.labels:
            retired = "" if label.retired is None else f" (retired {label.retired})"
            table.add_row(label.id + retired, label.family)
        parts.append(table)
    show(console, *parts)


def print_label(console: Console, taxonomy: Taxonomy, axis: Axis, label: Label) -> None:
    """Print everything known about one label: its definition, and its playbook if any."""
    parts: list[RenderableType] = [_heading(label), Text(label.definition)]
    book = playbook_of(taxonomy, axis.id, label.id)
    rows = book and {
        "Looks like": [book.looks],
        "Confirm": book.confirm,
        "Not to be confused": [book.unlike],
        "Usually fixed by": [book.fixes],
        "Ask for": book.ask,
        "Sources": book.sources,
    }
    for heading, lines in (rows or {}).items():
        if lines:
            parts.append(Text(f"\n{heading}", style="bold"))
            parts += [Padding(Text(line), INDENT) for line in lines]
    show(console, *parts)


def _heading(label: Label) -> Text:
    about = [f"family {label.family}"] if label.family else []
    about += [f"source: {label.source}"] if label.source else []
    about += [f"retired {label.retired}"] if label.retired is not None else []
    return Text.assemble((label.id, "bold"), (f"  {', '.join(about)}" if about else "", "dim"))


def taxonomy_answer(taxonomy: Taxonomy, axes: Sequence[Axis]) -> TaxonomyAnswer:
    """The same for machines."""
    entries = {axis.id: AxisEntry.model_validate(axis, from_attributes=True) for axis in axes}
    return TaxonomyAnswer(name=taxonomy.name, version=taxonomy.version, axes=entries)
