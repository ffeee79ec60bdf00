"""Reports -> what the index keeps of them, with a process a core. Runs the model."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from distriage.classifier import Classifier
from distriage.engine.local import FEW, cores, submit
from distriage.errors import DistriageError
from distriage.past.index import Floats, Known, PastIndex, make_index
from distriage.past.issue import PastIssue
from distriage.recipe.features import all_features
from distriage.recipe.text import prepare
from distriage.types import IssueReport

CHUNK = 16  # reports that go to a worker together
AHEAD = 3  # chunks a worker

Fingerprint = tuple[NDArray[np.int32], Floats, Floats]


def fingerprint(classifier: Classifier, report: IssueReport) -> Fingerprint:
    """Buckets, counts and vector of a report."""
    read = prepare(report.title, report.body)
    (prediction,) = classifier.predict_inputs([read])
    buckets, counts = all_features(read)  # as arrays: a hundred thousand lists of numbers would take gigabytes
    return np.asarray(buckets, np.int32), np.asarray(counts, np.float32), prediction.vector


def known(classifier: Classifier, report: IssueReport, filed_at: float = 0.0) -> Known:
    """What a look-up needs of a report."""
    buckets, counts, vector = fingerprint(classifier, report)
    return Known((buckets, counts), vector, report.id, filed_at)


def build_index(
    issues: Iterable[tuple[PastIssue, IssueReport]], classifier: Classifier, workers: int | None = None
) -> PastIndex:
    """Index issues; of those of the same id, the first.

    Args:
        workers: Processes; None: one a core, none where the issues are few.

    Raises:
        DistriageError: a worker died.
    """
    found: dict[str, tuple[PastIssue, IssueReport]] = {}
    for issue, report in issues:  # one that moves to the next page while pages are read comes twice
        found.setdefault(issue.id, (issue, report))
    items = list(found.values())
    features, vectors = [], []
    for buckets, counts, vector in fingerprints([report for _, report in items], classifier, workers):
        features.append((buckets, counts))
        vectors.append(vector)
    return make_index([issue for issue, _ in items], features, vectors, classifier.bundle.manifest.name)


def fingerprints(
    reports: Sequence[IssueReport], classifier: Classifier, workers: int | None = None
) -> Iterator[Fingerprint]:
    """The fingerprint of each report, in order; see `build_index`."""
    count = workers or (1 if len(reports) < FEW else cores())
    if count == 1:
        return (fingerprint(classifier, report) for report in reports)
    return _in_processes(reports, str(classifier.bundle.path), count)


def _in_processes(reports: Iterable[IssueReport], model: str, count: int) -> Iterator[Fingerprint]:
    stream = iter(reports)
    pending: deque[Future[list[Fingerprint]]] = deque()
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start, (model,))
    try:
        while True:
            while len(pending) < count * AHEAD and (chunk := list(islice(stream, CHUNK))):
                pending.append(submit(pool, _fingerprints, chunk))
            if not pending:
                return
            yield from pending.popleft().result()
    except BrokenProcessPool:
        raise DistriageError("a worker process died, perhaps for want of memory; `--workers` asks for fewer") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_classifier: Classifier


def _start(model: str) -> None:
    global _classifier
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends the workers
    _classifier = Classifier(model, threads=1)


def _fingerprints(chunk: list[IssueReport]) -> list[Fingerprint]:
    return [fingerprint(_classifier, report) for report in chunk]
