"""One issue on GitHub -> IssueState. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from distriage.base.errors import GitHubError, TransferredError
from distriage.base.references import IssueReference
from distriage.base.times import NEVER_S, epoch_s
from distriage.base.types import IssueReport
from distriage.github.client import Client
from distriage.github.listed import first_assignee, github_id, issue_type
from distriage_serving.github.fields import field_values
from distriage_serving.github.labels import label_names, read_labels
from distriage_serving.github.timeline import (
    MAINTAINERS,
    Comment,
    LabelEvent,
    Timeline,
    login_of,
    read_timeline,
    set_by_us,
)
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.types import IssueState


@dataclass(frozen=True, slots=True)
class ReadIssue:
    """An issue as it is now.

    Attributes:
        created_at, updated_at: Unix time in seconds.
        label_events: Oldest first.
        labels_there: Name -> description of the labels of the repository.
        label_ids: Id -> name of the same.
        assignee: Login of the first person assigned, or empty.
        github_id: GitHub's own id of the issue; 0 if unknown.
        comments: Oldest first.
        waits_since: When the author began to wait for a maintainer; `NEVER_S` if nobody does.
    """

    report: IssueReport
    state: IssueState
    url: str
    created_at: float
    updated_at: float
    label_events: tuple[LabelEvent, ...]
    labels_there: Mapping[str, str] = field(default_factory=dict)
    label_ids: Mapping[int, str] = field(default_factory=dict)
    assignee: str = ""
    github_id: int = 0
    comments: tuple[Comment, ...] = ()
    waits_since: float = 0.0


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
        author=login_of(issue.get("user")) or "ghost",
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
        assignee=first_assignee(issue),
        github_id=github_id(issue),
        comments=tuple(timeline.comments),
        waits_since=_waits_since(issue, state, timeline.comments),
    )


def _waits_since(issue: Mapping[str, Any], state: IssueState, comments: Iterable[Comment]) -> float:
    if state.author_is_bot or issue.get("author_association") in MAINTAINERS:
        return NEVER_S
    since = epoch_s(issue.get("created_at"))
    for comment in comments:
        marker = Marker.read(comment.body) if comment.by == "us" else None
        is_maintainer = comment.by == "person" and comment.association in MAINTAINERS
        if comment.by == "person" and comment.who == state.author:
            since = comment.at if since == NEVER_S else since
        elif is_maintainer or (marker is not None and marker.kind == "ask"):
            since = NEVER_S
    return since


def read_stage(client: Client, reference: IssueReference) -> tuple[bool, float]:
    """Whether an issue is open, and when it last changed, Unix time in seconds.

    Raises:
        TransferredError, NotFoundError, GitHubError: as `read_issue`.
    """
    issue = _read(client, reference)
    return issue.get("state") != "closed", epoch_s(issue.get("updated_at"))


def _read(client: Client, reference: IssueReference) -> dict[str, Any]:
    issue = client.json(reference.path)
    if not isinstance(issue.get("title"), str):
        raise GitHubError(f"{reference}: GitHub's answer is not an issue")
    is_it = issue.get("number") == reference.number and _repository(issue).casefold() == reference.repository.casefold()
    if not is_it:
        raise TransferredError(f"{reference}: was transferred to {_repository(issue)}#{issue.get('number')}")
    return issue


def _is_untouched(issue: Mapping[str, Any]) -> bool:
    """Whether nothing happened since an issue was filed, so that its timeline is empty: any event changes
    `updated_at`."""
    stands_as_filed = issue.get("created_at") is not None and issue.get("created_at") == issue.get("updated_at")
    return stands_as_filed and not (issue.get("labels") or issue.get("type") or issue.get("comments"))


def _repository(issue: Mapping[str, Any]) -> str:
    return "/".join(str(issue.get("repository_url") or "").split("/")[-2:])
