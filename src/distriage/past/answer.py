"""The answer on a past issue that is likely the same. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from distriage.answer.verdict import LikelyDuplicate
from distriage.past.same import is_spoken_of

if TYPE_CHECKING:
    from distriage.past.index import PastIndex, PastQuery
    from distriage.past.issue import PastIssue


def likely_duplicates(index: PastIndex, query: PastQuery) -> list[LikelyDuplicate]:
    """The likely duplicate of a report among past issues, if any; see `same.py`.

    Args:
        index: Made with the model that read the report.
    """
    found = []
    for match in index.find(query, 1):
        issue, same = match.issue, match.same
        if same is None or not is_spoken_of(same) or _is_itself(issue, query):
            continue
        title, url, closed_by = (
            text.encode("utf-8", "replace").decode() for text in (issue.title, issue.url, issue.closed_by)
        )
        found.append(
            LikelyDuplicate(
                id=issue.id, title=title, url=url, state=issue.state, closed_by=closed_by, probability=round(same, 4)
            )
        )
    return found


def github_ids(index: PastIndex, found: Collection[LikelyDuplicate]) -> dict[str, int]:
    """Id of each past issue found -> GitHub's own id; without those whose own id the index lacks."""
    wanted = {one.id for one in found}
    return {issue.id: issue.github_id for issue in index.issues if issue.id in wanted and issue.github_id}


def _is_itself(issue: PastIssue, query: PastQuery) -> bool:
    """Whether the report may be that issue: it has its number, and no other repository is named.

    An index older than the repository's name holds the report under the old one; issues of two repositories with one
    number were filed at different times.
    """
    place, hash_, number = query.id.lower().rpartition("#")
    if not hash_ or issue.id.rpartition("#")[2] != number:
        return False
    may_be_one_place = "" in {place, issue.place} or place == issue.place
    may_be_one_time = 0 in {query.filed_at, issue.filed_at} or abs(query.filed_at - issue.filed_at) < 1  # seconds
    return may_be_one_place or may_be_one_time
