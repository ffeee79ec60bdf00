"""How well `--similar` finds known issues with the same labels, on a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.progress import track

from distriage.base.types import IssueReport, Prediction
from distriage.base.validation import Strict
from distriage.classifier import Classifier
from distriage.model.taxonomy import Taxonomy
from distriage.reading.report import read
from distriage_training.corpus.load import known_issues
from distriage_training.corpus.records import BUG_AXES, Record
from distriage_training.measure.tables import markdown

AT = (1, 5)  # neighbours


class SharedLabels(Strict):
    """How often a neighbour has the same labels; the keys are numbers of neighbours."""

    recall: Mapping[str, float]
    precision: float
    random_recall: Mapping[str, float]
    majority_recall: float


class SimilarResult(Strict):
    """How well `--similar` finds known issues.

    Attributes:
        shared: What is shared (an axis, or `cause + fix`) -> figures.
    """

    n: int
    issues: int
    shared: Mapping[str, SharedLabels]


def measure_similar(
    classifier: Classifier,
    records: Sequence[Record],
    predictions: Sequence[Prediction],
    train: Sequence[Record],
    console: Console,
) -> SimilarResult:
    """How often a neighbour has the same label.

    Args:
        records: Of the split; only those labelled on every axis are used. None is in the index.
        train: Pool for a random neighbour, or one of the commonest label.

    Returns:
        `recall` of this model and its baselines: share of reports with a neighbour of the same label among the nearest
            `AT`; `precision`: share of such neighbours among the nearest `AT[-1]`.
    """
    taxonomy = classifier.bundle.taxonomy
    similar = classifier.similar
    known = known_issues(train, taxonomy)
    asked = [
        (record, prediction)
        for record, prediction in zip(records, predictions, strict=True)
        if record.labels.keys() == taxonomy.axes.keys()
    ]
    found = [
        [
            neighbour.labels
            for neighbour in similar.nearest(
                read(IssueReport(record.title, record.body, record.id)), prediction, AT[-1]
            )
        ]
        for record, prediction in track(asked, "neighbours", console=console, transient=True)
    ]
    shared = {}
    for axes in _shared_axes(taxonomy) if asked else ():
        wanted = [_labels(record.labels, axes) for record, _ in asked]
        same = np.array(
            [[_labels(labels, axes) == label for labels in row] for label, row in zip(wanted, found, strict=True)]
        )
        counts = Counter(_labels(record.labels, axes) for record in known)
        shares = np.array([counts[label] / len(known) for label in wanted])
        (commonest, _), *_ = counts.most_common(1)
        shared[" + ".join(axes)] = SharedLabels(
            recall={str(at): float(same[:, :at].any(1).mean()) for at in AT},
            precision=float(same.mean()),
            random_recall={str(at): float((1 - (1 - shares) ** at).mean()) for at in AT},
            majority_recall=float(np.mean([label == commonest for label in wanted])),
        )
    return SimilarResult(n=len(asked), issues=len(known), shared=shared)


def _labels(labels: Mapping[str, str], axes: Sequence[str]) -> tuple[str, ...]:
    return tuple(labels[axis] for axis in axes)


def _shared_axes(taxonomy: Taxonomy) -> list[tuple[str, ...]]:
    axes = [axis for axis in BUG_AXES if axis in taxonomy.axes] or list(taxonomy.axes)
    return [*((axis,) for axis in axes), *([("cause", "fix")] if {"cause", "fix"} <= set(axes) else [])]


def similar_table(measured: SimilarResult) -> str:
    """The figures as Markdown."""
    one, many = map(str, AT)
    title = (
        f"Reports with such an issue among the {one} / {many} most similar of {measured.issues:,} known ones "
        f"(n = {measured.n})\n\n"
    )
    rows = [
        [
            name,
            f"{row.random_recall[one]:.3f} / {row.random_recall[many]:.3f}",
            f"{row.majority_recall:.3f}",
            f"**{row.recall[one]:.3f} / {row.recall[many]:.3f}**",
            f"{row.precision:.3f}",
        ]
        for name, row in measured.shared.items()
    ]
    return title + markdown(["same", "random", "commonest label", "this model", f"share of the {many}"], rows)
