"""Reports -> entries of the index, one process per core. Runs the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from distriage.answer.findings import Findings
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.engine.spread import spread
from distriage.past.index import PastIndex, PastQuery, make_index
from distriage.past.issue import PastIssue
from distriage.past.signature import signature_of
from distriage.past.words import Features, Floats, features_of
from distriage.reading.report import read_unchecked


class Fingerprint(NamedTuple):
    """What the index keeps of a report.

    Attributes:
        features: From `features_of`.
        vector: The encoder's.
        version: `ReadReport.product_version`.
        signature: From `signature_of`.
    """

    features: Features
    vector: Floats
    version: str = ""
    signature: str = ""


def _fingerprints_of(classifier: Classifier, reports: Sequence[IssueReport]) -> list[Fingerprint]:
    read = [read_unchecked(report) for report in reports]
    predictions = classifier.predict_inputs([one.input for one in read])
    return [
        Fingerprint(features_of(one.input), prediction.vector, one.product_version, signature_of(one.segments))
        for one, prediction in zip(read, predictions, strict=True)
    ]


def query_of(findings: Findings, filed_at: float = 0.0) -> PastQuery:
    """A report as a query among past issues.

    Args:
        filed_at: Unix time in seconds; 0: now.
    """
    read, vector = findings.read, findings.prediction.vector
    report, releases = read.report, findings.releases
    said = (read.product_version, signature_of(read.segments))
    return PastQuery(features_of(read.input), vector, report.id, filed_at, report.title, *said, releases)


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
    known = list(fingerprints([report for _, report in items], classifier, workers))
    return make_index(
        [
            replace(issue, version=issue.version or one.version, signature=one.signature)
            for (issue, _), one in zip(items, known, strict=True)
        ],
        [one.features for one in known],
        [one.vector for one in known],
        classifier.bundle.manifest.name,
    )


def fingerprints(
    reports: Sequence[IssueReport], classifier: Classifier, workers: int | None = None
) -> Iterator[Fingerprint]:
    """The fingerprint of each report, in order; see `build_index`."""
    return spread(_fingerprints_of, classifier, reports, workers)
