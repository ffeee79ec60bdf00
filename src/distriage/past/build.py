"""Reports -> what the index keeps of them, with a process a core. Runs the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.engine.spread import spread
from distriage.past.index import Known, PastIndex, make_index
from distriage.past.issue import PastIssue
from distriage.past.words import Floats
from distriage.recipe.features import all_features
from distriage.recipe.text import prepare

Fingerprint = tuple[NDArray[np.int32], Floats, Floats]


def fingerprint(classifier: Classifier, report: IssueReport) -> Fingerprint:
    """Buckets, counts and vector of a report."""
    return _fingerprints_of(classifier, [report])[0]


def _fingerprints_of(classifier: Classifier, reports: Sequence[IssueReport]) -> list[Fingerprint]:
    inputs = [prepare(report.title, report.body) for report in reports]
    found = []
    for read, prediction in zip(inputs, classifier.predict_inputs(inputs), strict=True):
        buckets, counts = all_features(read)  # as arrays: a hundred thousand lists of numbers would take gigabytes
        found.append((np.asarray(buckets, np.int32), np.asarray(counts, np.float32), prediction.vector))
    return found


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
    return spread(_fingerprints_of, classifier, reports, workers)
