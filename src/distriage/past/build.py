"""Reports -> entries of the index, one process per core. Runs the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from distriage.answer.findings import Findings
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.engine.spread import spread
from distriage.past.index import PastIndex, PastQuery, make_index
from distriage.past.issue import PastIssue
from distriage.past.words import Floats, features_of
from distriage.recipe.text import prepare

Fingerprint = tuple[NDArray[np.int32], Floats, Floats]


def _fingerprints_of(classifier: Classifier, reports: Sequence[IssueReport]) -> list[Fingerprint]:
    inputs = [prepare(report.title, report.body, report.forms) for report in reports]
    predictions = classifier.predict_inputs(inputs)
    return [(*features_of(one), prediction.vector) for one, prediction in zip(inputs, predictions, strict=True)]


def query_of(findings: Findings, filed_at: float = 0.0) -> PastQuery:
    """A report as a query among past issues.

    Args:
        filed_at: Unix time in seconds; 0: now.
    """
    report, features = findings.read.report, features_of(findings.read.input)
    return PastQuery(features, findings.prediction.vector, report.id, filed_at, report.title)


def build_index(
    issues: Iterable[tuple[PastIssue, IssueReport]], classifier: Classifier, workers: int | None = None
) -> PastIndex:
    """Index issues; of issues with the same id, the first.

    Args:
        workers: Processes; by default one per core, or none for few issues.

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
