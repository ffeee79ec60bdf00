"""Past issues -> features for the heads, one process per core. Runs the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from distriage.base.types import FormLines, IssueReport
from distriage.classifier import Classifier
from distriage.engine.spread import spread
from distriage.github.listed import ListedIssue
from distriage.own.features import OwnFeatures, own_features
from distriage.recipe.text import prepare

Progress = Callable[[str, int, int], None]


def features_of(
    classifier: Classifier,
    issues: Sequence[ListedIssue],
    progress: Progress,
    workers: int | None = None,
    forms: FormLines | None = None,
) -> list[OwnFeatures]:
    """The heads' features of each issue, in order.

    Args:
        progress: Called with "reading", how many have been read, and of how many.
        workers: Processes; by default one per core, or none for few issues.
        forms: Of the repository, with which the bot reads a report, too.

    Raises:
        DistriageError: a worker died.
    """
    reports = [IssueReport(issue.title, issue.body, forms=forms) for issue in issues]
    rows = []
    for number, features in enumerate(spread(_read, classifier, reports, workers), 1):
        progress("reading", number, len(issues))
        rows.append(features)
    return rows


def _read(classifier: Classifier, reports: Sequence[IssueReport]) -> list[OwnFeatures]:
    inputs = [prepare(report.title, report.body, report.forms) for report in reports]
    return list(map(own_features, inputs, classifier.predict_inputs(inputs)))
