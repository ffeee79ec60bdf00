"""The index of a repository that was asked the same question before, by the model that is shipped."""

from __future__ import annotations

import functools
from pathlib import Path

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.past.build import build_index, query_of
from distriage.past.index import PastIndex, PastQuery
from distriage.past.issue import PastIssue

TITLE = "NCCL timeout in all_reduce @octocat `after` 1200 steps <b>"
BODY = "Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE). All 16 ranks wait on two nodes."
OTHERS = ("Docs: the page about LoRA has a dead link", "Feature: support for Intel Gaudi", "pip install fails on macOS")
DAY_S = 86400.0
FILED_AT = 1_600_000_000.0


@functools.cache
def asked_before(classifier: Classifier, place: str = "Owner/Repo", *, ids: bool = True) -> PastIndex:
    """Issue 1 is `TITLE` with `BODY`, open; others follow, a day apart, closed.

    Args:
        ids: It has GitHub's own, as the double gives them.
    """
    issues = []
    for number, title in enumerate((TITLE, *OTHERS), 1):
        url = f"https://github.com/{place}/issues/{number}"
        at = FILED_AT + number * DAY_S
        state = ("open", "") if number == 1 else ("closed", "completed")
        past = PastIssue(f"{place}#{number}", title, url, *state, at, 2_000_000_000 + number if ids else 0)
        issues.append((past, IssueReport(title, BODY if number == 1 else title, past.id)))
    return build_index(issues, classifier)


def write_asked_before(folder: Path, classifier: Classifier, *, ids: bool = True) -> Path:
    """The same as `owner--repo.npz` in a folder."""
    folder.mkdir(exist_ok=True)
    file = folder / "owner--repo.npz"
    asked_before(classifier, ids=ids).save(file)
    return file


def query(classifier: Classifier, report: IssueReport, filed_at: float = 0.0) -> PastQuery:
    """A report as it is looked up."""
    return query_of(classifier.examine(report), filed_at)
