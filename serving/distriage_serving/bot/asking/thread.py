"""A delivery -> news of an issue's thread: how many comments, who spoke last, who takes the issue. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage.github.listed import comments, first_assignee, is_bot
from distriage_serving.bot.deliveries import number_of, repository_of
from distriage_serving.github.timeline import MAINTAINERS, login_of
from distriage_serving.store import Lifecycle

_MORE: Final[Mapping[object, int]] = {"created": 1, "deleted": -1}  # the payload's count is that of before


@dataclass(frozen=True, slots=True)
class News:
    """An issue's thread, as a delivery tells.

    Attributes:
        comments: How many there are.
        updated_at: The issue's, Unix time in seconds.
        by_author, by_maintainer: When a comment was written or edited, or a report edited.
        at: When, Unix time in seconds.
        is_new: It is a new comment.
        state: The issue's.
        assignee: Login of the person who takes the issue; empty: nobody; None: not told.
    """

    issue: IssueReference
    comments: int
    updated_at: float
    by_author: bool
    by_maintainer: bool
    at: float
    is_new: bool
    state: Lifecycle
    assignee: str | None


def news_of(event: str, payload: Mapping[str, Any]) -> News | None:
    """The news in a delivery about an issue; None for other events and pull requests."""
    issue, repository, number = payload.get("issue"), repository_of(payload), number_of(payload)
    is_issue = event in {"issues", "issue_comment"} and isinstance(issue, Mapping) and "pull_request" not in issue
    if not is_issue or not repository or number is None:
        return None
    assert isinstance(issue, Mapping)
    action, comment = payload.get("action"), payload.get("comment")
    told = comment if event == "issue_comment" and isinstance(comment, Mapping) else issue
    more = _MORE.get(action, 0) if told is not issue else 0
    by = payload.get("sender")
    counts = action in {"created", "edited"} and not is_bot(by) and (told is not issue or action == "edited")
    author = login_of(issue.get("user"))
    return News(
        issue=IssueReference(repository, number),
        comments=max(0, comments(issue) + more),
        updated_at=epoch_s(issue.get("updated_at")),
        by_author=counts and author is not None and login_of(by) == author,
        by_maintainer=counts and told.get("author_association") in MAINTAINERS,
        at=epoch_s(told.get("created_at" if more == 1 else "updated_at")),
        is_new=more == 1,
        state="closed" if issue.get("state") == "closed" else "open",
        assignee=first_assignee(issue) if isinstance(issue.get("assignees"), list) else None,
    )
