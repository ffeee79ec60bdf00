"""An issue as GitHub lists it, and the lists. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from distriage.base.times import epoch_s
from distriage.github.client import Client


@dataclass(frozen=True, slots=True)
class ListedIssue:
    """An issue as GitHub shows it today.

    Attributes:
        url: Its page, or empty.
        created_at, updated_at: Unix time in seconds; 0 if unknown.
        is_open: False if unknown.
        issue_type: Its name; None if absent, or if an earlier Distriage fetched the issue.
        reason: Why it was closed (`completed`, `not_planned`, `duplicate`), or empty.
        github_id: GitHub's own; 0 if unknown.
        closed_at: Unix time in seconds; 0 if open or unknown.
        milestone: Its title, or empty.
        reactions: How many; 0 if unknown.
    """

    number: int
    title: str
    body: str
    url: str
    created_at: float
    labels: tuple[str, ...]
    by_bot: bool
    is_open: bool = False
    issue_type: str | None = None
    updated_at: float = 0.0
    reason: str = ""
    github_id: int = 0
    comments: int = 0
    closed_at: float = 0.0
    milestone: str = ""
    reactions: int = 0

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> ListedIssue | None:
        """An item of GitHub's list; None for a pull request or a malformed item."""
        number, title = item.get("number"), item.get("title")
        if not isinstance(number, int) or not isinstance(title, str) or "pull_request" in item:
            return None
        names = (label.get("name") if isinstance(label, dict) else label for label in item.get("labels") or ())
        return cls(
            number=number,
            title=title,
            body=str(item.get("body") or ""),
            url=str(item.get("html_url") or ""),
            created_at=epoch_s(item.get("created_at")),
            labels=tuple(name for name in names if isinstance(name, str)),
            by_bot=is_bot(item.get("user")),
            is_open=item.get("state") == "open",
            issue_type=issue_type(item),
            updated_at=epoch_s(item.get("updated_at")),
            reason=str(item.get("state_reason") or ""),
            github_id=github_id(item),
            comments=comments(item),
            closed_at=epoch_s(item.get("closed_at")),
            milestone=milestone(item),
            reactions=reactions(item),
        )


def issue_type(issue: object) -> str | None:
    """Name of the type of an issue as GitHub gives it; only organizations have types."""
    given = issue.get("type") if isinstance(issue, Mapping) else None
    name = given.get("name") if isinstance(given, Mapping) else None
    return name if isinstance(name, str) else None


def first_assignee(issue: Mapping[str, Any]) -> str:
    """Login of the first person assigned to an issue as GitHub gives it, or empty."""
    given = issue.get("assignees")
    first = given[0] if isinstance(given, list) and given else None
    login = first.get("login") if isinstance(first, dict) else None
    return login if isinstance(login, str) else ""


def github_id(issue: Mapping[str, Any]) -> int:
    """GitHub's own id of an issue, which is not its number; 0 if unknown."""
    return _count(issue.get("id"))


def comments(issue: Mapping[str, Any]) -> int:
    """How many comments an issue has; 0 if unknown."""
    return _count(issue.get("comments"))


def milestone(issue: Mapping[str, Any]) -> str:
    """Title of the milestone of an issue, or empty."""
    given = issue.get("milestone")
    title = given.get("title") if isinstance(given, Mapping) else given
    return title if isinstance(title, str) else ""


def reactions(issue: Mapping[str, Any]) -> int:
    """How many reactions an issue has; 0 if unknown."""
    given = issue.get("reactions")
    return _count(given.get("total_count") if isinstance(given, Mapping) else given)


def _count(given: object) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) else 0


def is_bot(user: object) -> bool:
    """Whether GitHub marks an account as a bot."""
    return isinstance(user, dict) and user.get("type") == "Bot"


def list_issues(client: Client, repository: str, **query: str) -> Iterator[ListedIssue]:
    """A repository's issues, without its pull requests, in the query's order.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    for items, _ in client.pages(f"/repos/{repository}/issues", query):
        yield from filter(None, map(ListedIssue.of, items))
