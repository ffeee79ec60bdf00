"""Keeps the past issues of a repository in the store: all once, then each change. Runs the model; database I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.github.listed import ListedIssue
from distriage.past.build import fingerprints
from distriage.past.index import PastQuery
from distriage.past.issue import PastIssue, past_of
from distriage.past.packed import pack
from distriage_serving.store import Issue, Lifecycle, PastRow, PastState, Store, report_digest

CHUNK: Final = 1000  # issues that are read, and then stored, together


def keep_issue(store: Store, issue: Issue, query: PastQuery, model: str, github_id: int = 0) -> None:
    """Keep an issue's current state, if its repository's past issues are kept by the same model.

    Args:
        query: The model's reading of the issue.
        github_id: GitHub's own; 0 if unknown.
    """
    known = store.past_repository(issue.repository)
    if known is None or known.model != model:
        return
    report = IssueReport(issue.title, issue.body, str(issue.reference))
    title = " ".join(issue.title.split())
    past = PastIssue(report.id, title, issue.url, issue.state, "", issue.created_at, github_id)
    row = _row(issue.reference, past, issue.updated_at, report)
    row.version, row.signature = query.version, query.signature
    told = {"version": query.version, "signature": query.signature}
    with store.transaction():
        if store.past_digests(issue.repository, issue.number).get(issue.number) == row.digest:
            store.set_past_states(PastState(issue.reference, issue.state, issue.updated_at, more=told))
        else:
            row.fingerprint = pack(query)
            store.put_past(model, row)


def keep_all(
    store: Store, classifier: Classifier, repository: str, issues: Iterable[ListedIssue]
) -> Iterator[tuple[int, int]]:
    """Keep all issues of a repository: read new and changed ones, and drop missing ones at the end.

    Args:
        issues: All of them, open and closed.

    Yields:
        After each chunk, the number of its issues, and how many of them were read.
    """
    model = classifier.bundle.manifest.name
    store.begin_past(repository, model)
    before = store.past_digests(repository)
    seen: set[int] = set()
    stream = iter(issues)
    while chunk := list(islice(stream, CHUNK)):
        new: list[tuple[PastRow, IssueReport]] = []
        states: list[PastState] = []
        for issue in chunk:
            found = past_of(issue, repository)
            if found is None:
                continue
            row = _row(IssueReference(repository, issue.number), found[0], issue.updated_at, found[1])
            seen.add(row.number)
            if before.get(row.number) == row.digest:
                state: Lifecycle = "closed" if row.state == "closed" else "open"
                place = IssueReference(repository, row.number)
                told = {"closed_at": row.closed_at, "milestone": row.milestone, "reactions": row.reactions}
                states.append(PastState(place, state, row.updated_at, row.closed_by, told))
            else:
                new.append((row, found[1]))
        store.set_past_states(*states)
        read = fingerprints([report for _, report in new], classifier)
        for (row, _), one in zip(new, read, strict=True):
            row.fingerprint = pack(PastQuery(one.features, one.vector))
            row.version, row.signature = one.version, one.signature
        store.put_past(model, *(row for row, _ in new))
        yield len(states) + len(new), len(new)
    gone = sorted(before.keys() - seen)
    store.set_past_states(*(PastState(IssueReference(repository, number), "deleted", None) for number in gone))


def _row(issue: IssueReference, past: PastIssue, updated_at: float, report: IssueReport) -> PastRow:
    """Without its fingerprint."""
    return PastRow(
        repository=issue.repository,
        number=issue.number,
        title=past.title,
        url=past.url,
        state=past.state,
        closed_by=past.closed_by,
        filed_at=past.filed_at,
        updated_at=updated_at,
        digest=report_digest(report.title, report.body),
        fingerprint=None,
        github_id=past.github_id,
        closed_at=past.closed_at,
        milestone=past.milestone,
        reactions=past.reactions,
    )
