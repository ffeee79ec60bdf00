"""A delivery -> news of an issue's thread: how many comments, and who spoke last. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage.github.listed import comments, is_bot
from distriage_serving.bot.deliveries import number_of, repository_of
from distriage_serving.github.timeline import MAINTAINERS, login_of

_MORE: Final[Mapping[object, int]] = {"created": 1, "deleted": -1}  # the payload's count is that of before


@dataclass(frozen=True, slots=True)
class News:
    """An issue's thread, as a delivery tells.

    Attributes:
        comments: How many there are.
        updated_at: The issue's, Unix time in seconds.
        said_by: Who wrote or edited a comment, or edited the report; None: nobody who counts.
        at: When, Unix time in seconds.
        is_new: It is a new comment.
    """

    issue: IssueReference
    comments: int
    updated_at: float
    said_by: Literal["author", "maintainer"] | None
    at: float
    is_new: bool


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
    return News(
        issue=IssueReference(repository, number),
        comments=max(0, comments(issue) + more),
        updated_at=epoch_s(issue.get("updated_at")),
        said_by=_said_by(payload, issue, told, action),
        at=epoch_s(told.get("created_at" if more == 1 else "updated_at")),
        is_new=more == 1,
    )


def _said_by(
    payload: Mapping[str, Any], issue: Mapping[str, Any], told: Mapping[str, Any], action: object
) -> Literal["author", "maintainer"] | None:
    by, author = payload.get("sender"), login_of(issue.get("user"))
    if action not in {"created", "edited"} or is_bot(by) or (told is issue and action != "edited"):
        return None
    if author is not None and login_of(by) == author:
        return "author"
    return "maintainer" if told is not issue and told.get("author_association") in MAINTAINERS else None
