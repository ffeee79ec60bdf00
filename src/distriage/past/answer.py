"""The answer on a past issue that is likely the same. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from distriage.answer.verdict import LikelyDuplicate
from distriage.past.same import is_spoken_of

if TYPE_CHECKING:
    from distriage.past.index import Match, PastIndex, PastQuery
    from distriage.past.issue import PastIssue


def likely_duplicates(index: PastIndex, query: PastQuery) -> list[LikelyDuplicate]:
    """The likely duplicate of a report among past issues, if any, or its original if that was closed as a duplicate
    too; see `same.py`.

    Args:
        index: Made with the model that read the report.
    """
    return [found for match in index.find(query, 1) if (found := named(index, query, match)) is not None]


def named(index: PastIndex, query: PastQuery, match: Match) -> LikelyDuplicate | None:
    """The likely duplicate behind the nearest issue, if it is one."""
    same, issue = match.same, _original_of(index, match.issue)
    if same is None or not is_spoken_of(same) or any(_is_itself(one, query) for one in (issue, match.issue)):
        return None
    fix, back = "", False
    if issue.state == "closed":
        from distriage.past.again import fixed_in, is_back  # slow to import

        fix = fixed_in(issue, query.releases)
        back = is_back(issue, query.version, fix)
    title, url, closed_by, fix = (
        text.encode("utf-8", "replace").decode() for text in (issue.title, issue.url, issue.closed_by, fix)
    )
    return LikelyDuplicate(
        id=issue.id,
        title=title,
        url=url,
        state=issue.state,
        closed_by=closed_by,
        probability=round(same, 4),
        closed_duplicate=match.issue.id if issue is not match.issue else None,
        fixed_in=fix or None,
        possible_regression=back,
    )


def _original_of(index: PastIndex, issue: PastIssue) -> PastIssue:
    """The end of a chain of duplicates, as far as the index knows it."""
    seen = {issue.id.lower()}
    while (further := index.known(issue.original)) is not None and further.id.lower() not in seen:
        issue = further
        seen.add(issue.id.lower())
    return issue


def issue_to_join(index: PastIndex, issue: PastIssue) -> PastIssue | None:
    """The issue that a duplicate of an issue is to be closed for; None if none is known to be open."""
    original = _original_of(index, issue)
    return None if original.state == "closed" else original


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
