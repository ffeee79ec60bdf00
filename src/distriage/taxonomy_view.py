"""The taxonomy as tables for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from distriage.taxonomy import Axis, Taxonomy


def print_taxonomy(console: Console, taxonomy: Taxonomy, axes: Sequence[Axis], *, with_definitions: bool) -> None:
    """Print axes as tables, a row per label."""
    console.print(f"taxonomy {taxonomy.name} {taxonomy.version}", style="dim")
    for axis in axes:
        console.print(f"\n{axis.name}: {axis.question} ({len(axis.label_ids)})", style="bold", markup=False)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("id", no_wrap=True)
        if axis.families:
            table.add_column("family", style="dim")
        if with_definitions:
            table.add_column("definition")
            table.add_column("source", style="dim")
        for label in axis.labels:
            cells = [label.id if label.retired is None else f"{label.id} (retired {label.retired})"]
            cells += [label.family or ""] if axis.families else []
            cells += [label.definition, label.source] if with_definitions else []
            table.add_row(*cells)
        console.print(table)


def taxonomy_json(taxonomy: Taxonomy, axes: Sequence[Axis]) -> str:
    """The same as JSON: name, version, axes with their labels."""
    document = {
        "name": taxonomy.name,
        "version": taxonomy.version,
        "axes": {
            axis.id: {
                "name": axis.name,
                "question": axis.question,
                "requires": {"axis": axis.requires[0], "label": axis.requires[1]} if axis.requires else None,
                "labels": [
                    {
                        "id": label.id,
                        "name": label.name,
                        "family": label.family,
                        "definition": label.definition,
                        "source": label.source,
                        "retired": label.retired,
                    }
                    for label in axis.labels
                ],
            }
            for axis in axes
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2)
