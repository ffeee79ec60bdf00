"""An issue's thread as a person looks at it: the last comments, assignees, linked changes. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from distriage.base.references import IssueReference
from distriage.github.client import PAGE_ITEMS, Client
from distriage.github.listed import comments
from distriage_serving.github.timeline import Comment, Timeline, login_of

LAST: Final = 10  # comments


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request that names an issue.

    Attributes:
        reference: Such as `owner/repo#12`.
        state: `open`, `draft`, `merged` or `closed`.
    """

    reference: str
    title: str
    url: str
    state: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as it is now.

    Attributes:
        comments: The last ones, the oldest first.
        count: All comments.
        assignees: Logins.
        changes: Named by the first hundred events.
    """

    comments: tuple[Comment, ...]
    count: int
    assignees: tuple[str, ...]
    changes: tuple[Change, ...]


def read_thread(client: Client, reference: IssueReference) -> Thread:
    """Read an issue's thread in three or four requests, however long it is.

    Raises:
        GitHubError: GitHub is out of reach or refuses, or its answer is not an issue.
    """
    issue = client.json(reference.path)
    count = comments(issue)
    last = ceil(count / LAST)
    read = Timeline(None)
    for page in range(max(1, last - 1), last + 1):
        for comment in _list(client, f"{reference.path}/comments", {"per_page": str(LAST), "page": str(page)}):
            read.read({**comment, "event": "commented"})
    changes: dict[str, Change] = {}
    for event in _list(client, f"{reference.path}/timeline", {"per_page": str(PAGE_ITEMS)}):
        change = _change(event)
        if change is not None:
            changes[change.url] = change
    assignees = (login_of(person) for person in issue.get("assignees") or ())
    return Thread(tuple(read.comments[-LAST:]), count, tuple(filter(None, assignees)), tuple(changes.values()))


def _list(client: Client, path: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
    items, _ = next(client.pages(path, query))
    return items


def _change(event: Mapping[str, Any]) -> Change | None:
    source = event.get("source") if event.get("event") == "cross-referenced" else None
    issue = source.get("issue") if isinstance(source, Mapping) else None
    change = issue.get("pull_request") if isinstance(issue, Mapping) else None
    if not isinstance(issue, Mapping) or not isinstance(change, Mapping):
        return None
    repository = "/".join(str(issue.get("repository_url") or "").split("/")[-2:])
    state = "merged" if change.get("merged_at") else str(issue.get("state") or "")
    state = "draft" if state == "open" and issue.get("draft") else state
    title, url = str(issue.get("title") or ""), str(issue.get("html_url") or "")
    return Change(f"{repository}#{issue.get('number')}", title, url, state)
