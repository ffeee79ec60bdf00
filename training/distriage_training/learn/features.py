"""Past issues -> features for the heads, one process per core. Runs the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from distriage.classifier import Classifier
from distriage.engine.spread import spread
from distriage.github.listed import ListedIssue
from distriage.own.features import OwnFeatures, own_features
from distriage.recipe.text import prepare

Progress = Callable[[str, int, int], None]


def features_of(
    classifier: Classifier, issues: Sequence[ListedIssue], progress: Progress, workers: int | None = None
) -> list[OwnFeatures]:
    """The heads' features of each issue, in order.

    Args:
        progress: Called with "reading", how many have been read, and of how many.
        workers: Processes; by default one per core, or none for few issues.

    Raises:
        DistriageError: a worker died.
    """
    rows = []
    for number, features in enumerate(spread(_read, classifier, issues, workers), 1):
        progress("reading", number, len(issues))
        rows.append(features)
    return rows


def _read(classifier: Classifier, issues: Sequence[ListedIssue]) -> list[OwnFeatures]:
    reports = [prepare(issue.title, issue.body) for issue in issues]
    return list(map(own_features, reports, classifier.predict_inputs(reports)))
