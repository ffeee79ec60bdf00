"""Known issues: added to a bundle, and how well `--similar` finds them on a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from distriage.bundle import INDEX, Bundle
from distriage.classifier import Classifier
from distriage.errors import CorpusError
from distriage.similar import Similar
from distriage.taxonomy import Taxonomy
from distriage.types import IssueReport, Prediction
from distriage_training.config import Config
from distriage_training.corpus import BUG_AXES, Record
from distriage_training.examples import load_split_records
from distriage_training.export import seal
from distriage_training.index import known_issues, write_index

AT = (1, 5)  # neighbours


def add_index(bundle: Bundle, config: Config) -> int:
    """Write the index of a configuration's known issues into a bundle, in place of the one that it may have, and seal it anew.

    Returns:
        How many issues it holds.

    Raises:
        CorpusError: the data is missing or not valid, or none of the training records is a known issue.
    """
    issues = known_issues(load_split_records(config, bundle.taxonomy)["train"], bundle.taxonomy)
    if not issues:
        raise CorpusError(f"{config.path}: no training record has a url and a label on every axis; expected known issues")
    write_index(issues, bundle.taxonomy, bundle.path / INDEX)
    seal(bundle.path, bundle.manifest)
    return len(issues)


def measure_similar(
    classifier: Classifier, records: Sequence[Record], predictions: Sequence[Prediction], train: Sequence[Record], console: Console
) -> dict[str, Any]:
    """How often a neighbour has the same label.

    Args:
        records: Of the split; those that are labelled on every axis are asked for. None of them is in the index.
        train: What a random neighbour, or one of the commonest label, is drawn from.

    Returns:
        `n`, `issues` and, by what is shared (an axis, or cause and fix together), `recall` for this model and its baselines:
        share of reports with such an issue among the nearest `AT`; `precision`: share of the nearest `AT[-1]` that are such.
    """
    taxonomy = classifier.bundle.taxonomy
    similar = Similar(classifier)
    known = known_issues(train, taxonomy)
    asked = [(record, prediction) for record, prediction in zip(records, predictions, strict=True) if record.labels.keys() == taxonomy.axes.keys()]
    found = [
        [neighbour.labels for neighbour in similar.nearest(IssueReport(record.title, record.body, record.id), AT[-1], prediction)]
        for record, prediction in track(asked, "neighbours", console=console, transient=True)
    ]
    shared = {}
    for axes in _shared_axes(taxonomy) if asked else ():
        wanted = [_labels(record.labels, axes) for record, _ in asked]
        same = np.array([[_labels(labels, axes) == label for labels in row] for label, row in zip(wanted, found, strict=True)])
        counts = Counter(_labels(record.labels, axes) for record in known)
        shares = np.array([counts[label] / len(known) for label in wanted])
        (commonest, _), *_ = counts.most_common(1)
        shared[" + ".join(axes)] = {
            "recall": {str(at): float(same[:, :at].any(1).mean()) for at in AT},
            "precision": float(same.mean()),
            "random_recall": {str(at): float((1 - (1 - shares) ** at).mean()) for at in AT},
            "majority_recall": float(np.mean([label == commonest for label in wanted])),
        }
    return {"n": len(asked), "issues": len(known), "shared": shared}


def _labels(labels: Mapping[str, str], axes: Sequence[str]) -> tuple[str, ...]:
    return tuple(labels[axis] for axis in axes)


def _shared_axes(taxonomy: Taxonomy) -> list[tuple[str, ...]]:
    axes = [axis for axis in BUG_AXES if axis in taxonomy.axes] or list(taxonomy.axes)
    return [*((axis,) for axis in axes), *([("cause", "fix")] if {"cause", "fix"} <= set(axes) else [])]


def similar_table(measured: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown lines."""
    one, many = map(str, AT)
    return [
        f"Reports with such an issue among the {one} / {many} most similar of {measured['issues']:,} known ones (n = {measured['n']})",
        "",
        f"| same | random | commonest label | this model | share of the {many} |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {row['random_recall'][one]:.3f} / {row['random_recall'][many]:.3f} | {row['majority_recall']:.3f} | "
            f"**{row['recall'][one]:.3f} / {row['recall'][many]:.3f}** | {row['precision']:.3f} |"
            for name, row in measured["shared"].items()
        ),
    ]
