"""Past issues -> what heads read of them, with a process a core. Runs the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from distriage.classifier import Classifier
from distriage.engine.spread import spread
from distriage.history import PastIssue
from distriage.own.features import Reading, reading_of
from distriage.recipe.text import prepare

Progress = Callable[[str, int, int], None]


def readings_of(
    classifier: Classifier, issues: Sequence[PastIssue], progress: Progress, workers: int | None = None
) -> list[Reading]:
    """What heads read of each issue, in order.

    Args:
        progress: Told "reading", how many have been read, and of how many.
        workers: Processes; None: one a core, none where the issues are few.

    Raises:
        DistriageError: a worker died.
    """
    readings = []
    for number, reading in enumerate(spread(_read, classifier, issues, workers), 1):
        progress("reading", number, len(issues))
        readings.append(reading)
    return readings


def _read(classifier: Classifier, issues: Sequence[PastIssue]) -> list[Reading]:
    reports = [prepare(issue.title, issue.body) for issue in issues]
    return list(map(reading_of, reports, classifier.predict_inputs(reports)))
