"""Past issues -> what heads read of them, with a process a core. Runs the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial

from distriage.classifier import Classifier
from distriage.engine.workers import FEW, cores, in_processes
from distriage.errors import DistriageError
from distriage.history import PastIssue
from distriage.own.features import Reading, reading_of
from distriage.recipe.text import prepare

CHUNK = 16  # issues that go to a worker together

Progress = Callable[[str, int, int], None]


def readings_of(
    classifier: Classifier, issues: Sequence[PastIssue], progress: Progress, workers: int | None = None
) -> list[Reading]:
    """What heads read of each issue, in order.

    Args:
        workers: Processes; None: one a core, none where the issues are few.

    Raises:
        DistriageError: a worker died.
    """
    count = workers or (1 if len(issues) < FEW else cores())
    if count == 1:
        found = (reading for issue in issues for reading in _read(classifier, [issue]))
    else:
        work = partial(_read_by, str(classifier.bundle.path))
        found = (reading for _, reading in in_processes(work, issues, count, CHUNK))
    readings = []
    try:
        for number, reading in enumerate(found):
            progress("reading", number, len(issues))
            readings.append(reading)
    except BrokenProcessPool:
        raise DistriageError("a worker process died, perhaps for want of memory") from None
    return readings


def _read(classifier: Classifier, issues: Sequence[PastIssue]) -> list[Reading]:
    reports = [prepare(issue.title, issue.body) for issue in issues]
    return list(map(reading_of, reports, classifier.predict_inputs(reports)))


@cache
def _loaded(model: str) -> Classifier:
    return Classifier(model, threads=1)


def _read_by(model: str, issues: list[PastIssue]) -> list[Reading]:
    return _read(_loaded(model), issues)
