"""An issue's timeline: who set and took off which label, who said what; our own comments. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from distriage.base.errors import NotFoundError, RefusedError
from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage.github.client import Client
from distriage_serving.planning.marker import Kind, Marker
from distriage_serving.planning.types import OwnComment

MAINTAINERS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})  # GitHub's words for who may triage


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """A label that was set or taken off.

    Attributes:
        added: Set; else taken off.
        who: Login; `ghost` of a deleted account.
        at: Unix time in seconds.
        approved: A person set it by approving our suggestion.
    """

    label: str
    added: bool
    by: Literal["us", "bot", "person"]
    who: str
    at: float
    id: int = 0
    approved: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on an issue.

    Attributes:
        by: We, another bot, or a person.
        who: Login; `ghost` of a deleted account.
        association: GitHub's word for the account's role in the repository, such as `OWNER`.
        at: Unix time in seconds.
        body: Markdown, hostile.
        url: Its page, or empty.
    """

    by: Literal["us", "bot", "person"]
    who: str
    association: str
    at: float
    body: str
    url: str = ""


def set_by_us(events: Iterable[LabelEvent]) -> set[str]:
    """Labels whose last event is that we set them, in lower case."""
    ours: set[str] = set()
    for event in events:
        (ours.add if event.by == "us" and event.added else ours.discard)(event.label.casefold())
    return ours


def own_login(client: Client) -> str | None:
    """Login of the token's own account, kept by the client; None if GitHub does not tell.

    Raises:
        GitHubError: GitHub is out of reach.
    """
    if client.login is None:
        try:
            client.login = login_of(client.json("/user"))
        except RefusedError:  # an App's token may not ask so
            client.login = _viewer(client)
    return client.login


def is_ours(login: str | None, account: Mapping[str, Any] | None) -> bool:
    """Whether an account, as GitHub describes it, is the token's own, by its `own_login`; without one any bot's may be.

    What a person says is theirs, with our marker too: it quotes us or is a trap, and to edit it would put words into
    their mouth.
    """
    return login_of(account) == login if login is not None else (account or {}).get("type") == "Bot"


def _viewer(client: Client) -> str | None:
    """Login of the token's own account by GraphQL, which tells it to Apps too; None without GraphQL."""
    try:
        answer = client.write("POST", "/graphql", {"query": "{viewer{login}}"}, repeatable=True)
    except (NotFoundError, RefusedError):
        return None
    data = answer.get("data") if isinstance(answer, dict) else None
    return login_of(data.get("viewer")) if isinstance(data, dict) else None


def find_own_comment(client: Client, issue: IssueReference, kind: Kind) -> OwnComment | None:
    """Our current comment of a kind on GitHub; see `read_comments`."""
    return read_comments(client, issue, kind).comment


def read_comments(client: Client, issue: IssueReference, kind: Kind) -> Timeline:
    """Read an issue's comments alone, as they are now.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    timeline = Timeline(own_login(client), kind)
    for comment in client.items(f"{issue.path}/comments"):
        timeline.read({**comment, "event": "commented"})
    return timeline


def read_timeline(client: Client, issue: IssueReference, kind: Kind = "v1") -> Timeline:
    """Read an issue's timeline.

    Args:
        kind: That of our comment to look for.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
        InputError: it has more events than are read.
    """
    timeline = Timeline(own_login(client), kind)
    for event in client.items(f"{issue.path}/timeline"):
        timeline.read(event)
    return timeline


class Timeline:
    """Reads an issue's timeline, oldest event first.

    Attributes:
        label_events: Oldest first.
        comment: Our own comment of the wanted kind.
        converted: It is a discussion now.
        type_touched: Somebody else set or took off the issue type.
        closed_by_us: We closed it last, and nobody has reopened it.
        comments: All comments.
        bodies: Markdown of each comment by its id, hostile.
    """

    def __init__(self, login: str | None, kind: Kind = "v1") -> None:
        self._login = login
        self._kind = kind
        self.label_events: list[LabelEvent] = []
        self.comment: OwnComment | None = None
        self.comment_deleted = False
        self.converted = False
        self.type_touched = False
        self.closed_by_us = False
        self.comments: list[Comment] = []
        self.bodies: dict[int, str] = {}

    def read(self, event: Mapping[str, Any]) -> None:
        """Read the next event."""
        kind = event.get("event")
        actor = event.get("actor") or event.get("user")
        label = (event.get("label") or {}).get("name")
        if kind in {"labeled", "unlabeled"} and isinstance(label, str):
            is_bot = (actor or {}).get("type") == "Bot"
            # Labels that the person whose token we have took off were taken off by hand. A deleted account has no type,
            # and was a person.
            is_us = is_ours(self._login, actor) and (is_bot or kind == "labeled")
            by: Literal["us", "bot", "person"] = "us" if is_us else "bot" if is_bot else "person"
            self.label_events.append(
                LabelEvent(
                    label,
                    kind == "labeled",
                    by,
                    login_of(actor) or "ghost",
                    epoch_s(event.get("created_at")),
                    event["id"] if isinstance(event.get("id"), int) else 0,
                )
            )
        elif kind in {"issue_type_added", "issue_type_changed", "issue_type_removed"}:
            self.type_touched = self.type_touched or not is_ours(self._login, actor)
        elif kind in {"closed", "reopened"}:
            self.closed_by_us = kind == "closed" and is_ours(self._login, actor)
        elif kind == "comment_deleted":
            self.comment_deleted = True
        elif kind == "converted_to_discussion":
            self.converted = True
        elif kind == "commented":
            self._read_comment(event, actor)

    def _read_comment(self, event: Mapping[str, Any], actor: Mapping[str, Any] | None) -> None:
        is_us, is_bot = is_ours(self._login, actor), (actor or {}).get("type") == "Bot"
        by: Literal["us", "bot", "person"] = "us" if is_us else "bot" if is_bot else "person"
        body, association = str(event.get("body") or ""), str(event.get("author_association") or "")
        at = epoch_s(event.get("created_at"))
        self.comments.append(
            Comment(by, login_of(actor) or "ghost", association, at, body, str(event.get("html_url") or ""))
        )
        if isinstance(event.get("id"), int):
            self.bodies[event["id"]] = body
        marker = Marker.read(body) if is_us and self.comment is None else None
        if marker is not None and marker.kind == self._kind and isinstance(event.get("id"), int):
            self.comment = OwnComment(event["id"], marker.digest, edited=not marker.is_of(body), body=body)


def login_of(user: object) -> str | None:
    """Login of an account as GitHub gives it; None of a deleted one."""
    login = user.get("login") if isinstance(user, Mapping) else None
    return login if isinstance(login, str) else None
