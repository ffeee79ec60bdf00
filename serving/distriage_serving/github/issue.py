"""One issue on GitHub -> IssueState. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from distriage.base.errors import GitHubError, NotFoundError, RefusedError, TransferredError
from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage.base.types import IssueReport
from distriage.github.client import Client
from distriage.github.listed import github_id, issue_type
from distriage_serving.github.fields import field_values
from distriage_serving.github.labels import label_names, read_labels
from distriage_serving.planning.marker import Kind, Marker
from distriage_serving.planning.types import IssueState, OwnComment


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
class ReadIssue:
    """An issue as it is now.

    Attributes:
        created_at, updated_at: Unix time in seconds.
        label_events: Oldest first.
        labels_there: Name -> description of the labels of the repository.
        label_ids: Id -> name of the same.
        github_id: GitHub's own id of the issue; 0 if unknown.
    """

    report: IssueReport
    state: IssueState
    url: str
    created_at: float
    updated_at: float
    label_events: tuple[LabelEvent, ...]
    labels_there: Mapping[str, str] = field(default_factory=dict)
    label_ids: Mapping[int, str] = field(default_factory=dict)
    github_id: int = 0


def under_new_names(issue: ReadIssue, renamed: Mapping[str, str]) -> ReadIssue:
    """The issue with its label history in the names that labels have now: GitHub keeps in it those of the time.

    Args:
        renamed: Old name in lower case -> new one.
    """
    if not renamed:
        return issue

    def now(name: str) -> str:
        return renamed.get(name.casefold(), name)

    events = tuple(replace(event, label=now(event.label)) for event in issue.label_events)
    return replace(issue, state=with_label_history(issue.state, events), label_events=events)


def with_label_history(state: IssueState, events: Sequence[LabelEvent]) -> IssueState:
    """The state, completed with who set and took off which label."""
    ours = set_by_us(events)
    return replace(
        state,
        labels_by_us=frozenset(label for label in state.labels if label.casefold() in ours),
        touched=frozenset(event.label for event in events if event.by != "us"),
        removed=frozenset(event.label for event in events if event.by != "us" and not event.added),
    )


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
            client.login = _login(client.json("/user"))
        except RefusedError:  # an App's token may not ask so
            client.login = _viewer(client)
    return client.login


def _viewer(client: Client) -> str | None:
    """Login of the token's own account by GraphQL, which tells it to Apps too; None without GraphQL."""
    try:
        answer = client.write("POST", "/graphql", {"query": "{viewer{login}}"}, repeatable=True)
    except (NotFoundError, RefusedError):
        return None
    data = answer.get("data") if isinstance(answer, dict) else None
    return _login(data.get("viewer")) if isinstance(data, dict) else None


def read_issue(client: Client, reference: IssueReference, *, sender_is_bot: bool = False) -> ReadIssue:
    """Read an issue with its labels' history and our own comment.

    Raises:
        TransferredError: it is in another repository now.
        NotFoundError: deleted, or the token may not see it.
        GitHubError: GitHub cannot be reached, refuses, or its answer is not an issue.
        InputError: it has more events than are read.
    """
    issue = _read(client, reference)
    timeline = Timeline(None) if _is_untouched(issue) else read_timeline(client, reference)
    there, ids = read_labels(client, reference.repository)
    user = issue.get("user") or {}
    state = IssueState(
        issue=reference,
        title=issue["title"],
        author=_login(issue.get("user")) or "ghost",
        author_is_bot=user.get("type") == "Bot",
        sender_is_bot=sender_is_bot,
        is_open=issue.get("state") != "closed",
        is_pull_request="pull_request" in issue,
        locked=bool(issue.get("locked")),
        labels=frozenset(label_names(issue)),
        repository_labels=frozenset(there),
        own_comment=timeline.comment,
        comment_deleted=timeline.comment_deleted,
        converted=timeline.converted,
        issue_type=issue_type(issue),
        type_touched=timeline.type_touched,
        fields=field_values(issue),
    )
    return ReadIssue(
        report=IssueReport(title=issue["title"], body=issue.get("body") or "", id=str(reference)),
        state=with_label_history(state, timeline.label_events),
        url=str(issue.get("html_url") or ""),
        created_at=epoch_s(issue.get("created_at")),
        updated_at=epoch_s(issue.get("updated_at")),
        label_events=tuple(timeline.label_events),
        labels_there=there,
        label_ids=ids,
        github_id=github_id(issue),
    )


def read_stage(client: Client, reference: IssueReference) -> tuple[bool, float]:
    """Whether an issue is open, and when it last changed, Unix time in seconds.

    Raises:
        TransferredError, NotFoundError, GitHubError: as `read_issue`.
    """
    issue = _read(client, reference)
    return issue.get("state") != "closed", epoch_s(issue.get("updated_at"))


def _read(client: Client, reference: IssueReference) -> dict[str, Any]:
    issue = client.json(_path(reference))
    if not isinstance(issue.get("title"), str):
        raise GitHubError(f"{reference}: GitHub's answer is not an issue")
    is_it = issue.get("number") == reference.number and _repository(issue).casefold() == reference.repository.casefold()
    if not is_it:
        raise TransferredError(f"{reference}: was transferred to {_repository(issue)}#{issue.get('number')}")
    return issue


def _is_untouched(issue: Mapping[str, Any]) -> bool:
    """Whether nothing happened since an issue was filed, so that its timeline is empty: whatever does, changes
    `updated_at`."""
    stands_as_filed = issue.get("created_at") is not None and issue.get("created_at") == issue.get("updated_at")
    return stands_as_filed and not (issue.get("labels") or issue.get("type") or issue.get("comments"))


def _path(reference: IssueReference) -> str:
    return f"/repos/{reference.repository}/issues/{reference.number}"


def find_own_comment(client: Client, issue: IssueReference, kind: Kind) -> OwnComment | None:
    """Our current comment of a kind on GitHub.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    timeline = Timeline(own_login(client), kind)
    for comment in client.items(f"{_path(issue)}/comments"):
        timeline.read({**comment, "event": "commented"})
    return timeline.comment


def read_timeline(client: Client, issue: IssueReference, kind: Kind = "v1") -> Timeline:
    """Read an issue's timeline.

    Args:
        kind: Of our comment to look for.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
        InputError: it has more events than are read.
    """
    timeline = Timeline(own_login(client), kind)
    for event in client.items(f"{_path(issue)}/timeline"):
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

    def read(self, event: Mapping[str, Any]) -> None:
        """Read the next event."""
        kind = event.get("event")
        actor = event.get("actor") or event.get("user")
        label = (event.get("label") or {}).get("name")
        if kind in {"labeled", "unlabeled"} and isinstance(label, str):
            is_bot = (actor or {}).get("type") == "Bot"
            # Labels that the person whose token we have took off were taken off by hand. A deleted account has no type,
            # and was a
            # person.
            is_us = self._is_us(actor) and (is_bot or kind == "labeled")
            by: Literal["us", "bot", "person"] = "us" if is_us else "bot" if is_bot else "person"
            self.label_events.append(
                LabelEvent(
                    label,
                    kind == "labeled",
                    by,
                    _login(actor) or "ghost",
                    epoch_s(event.get("created_at")),
                    event["id"] if isinstance(event.get("id"), int) else 0,
                )
            )
        elif kind in {"issue_type_added", "issue_type_changed", "issue_type_removed"}:
            self.type_touched = self.type_touched or not self._is_us(actor)
        elif kind in {"closed", "reopened"}:
            self.closed_by_us = kind == "closed" and self._is_us(actor)
        elif kind == "comment_deleted":
            self.comment_deleted = True
        elif kind == "converted_to_discussion":
            self.converted = True
        elif kind == "commented" and self.comment is None and self._is_us(actor):
            body = str(event.get("body") or "")
            marker = Marker.read(body)
            if marker is not None and marker.kind == self._kind and isinstance(event.get("id"), int):
                self.comment = OwnComment(event["id"], marker.digest, edited=not marker.is_of(body))

    def _is_us(self, actor: Mapping[str, Any] | None) -> bool:
        # A person's comment with our marker quotes us or is a trap: editing it would put words into their mouth.
        if self._login is not None:
            return _login(actor) == self._login
        return (actor or {}).get("type") == "Bot"


def _login(user: object) -> str | None:
    login = user.get("login") if isinstance(user, Mapping) else None
    return login if isinstance(login, str) else None


def _repository(issue: Mapping[str, Any]) -> str:
    return "/".join(str(issue.get("repository_url") or "").split("/")[-2:])
