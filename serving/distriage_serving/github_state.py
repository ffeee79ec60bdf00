"""What GitHub knows of one issue -> IssueState; the configuration on the default branch. Network I/O; reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from distriage.errors import ConfigError, GitHubError, NotFoundError
from distriage.taxonomy import Taxonomy
from distriage.types import IssueReport
from distriage_serving.github_rest import Client, RefusedError
from distriage_serving.plan import MARKER
from distriage_serving.plan_types import IssueState, OwnComment
from distriage_serving.repo_config import CONFIG_PATH, RepositoryConfig, merge_configs, parse_config
from distriage_serving.yaml_lines import MAX_BYTES

_RAW = "application/vnd.github.raw+json"


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """A label that was set or taken off.

    Attributes:
        added: Set; else taken off.
        who: Login; `ghost` of a deleted account.
        at: Unix time in seconds.
    """

    label: str
    added: bool
    by: Literal["us", "bot", "person"]
    who: str
    at: float


@dataclass(frozen=True, slots=True)
class ReadIssue:
    """An issue as it is now.

    Attributes:
        created_at, updated_at: Unix time in seconds.
        label_events: Oldest first.
    """

    report: IssueReport
    state: IssueState
    url: str
    created_at: float
    updated_at: float
    label_events: tuple[LabelEvent, ...]


def own_login(client: Client) -> str | None:
    """Login of the token's own account; None where the client was not told it and may not ask, as with GITHUB_TOKEN.

    Raises:
        GitHubError: GitHub cannot be reached.
    """
    if client.login is not None:
        return client.login
    try:
        return _login(client.json("/user"))
    except (NotFoundError, RefusedError):
        return None


def read_issue(client: Client, repository: str, number: int, *, sender_is_bot: bool = False) -> ReadIssue:
    """Read an issue with its labels' history and the own comment.

    Raises:
        NotFoundError: deleted, transferred away, or out of the token's sight.
        GitHubError: GitHub cannot be reached, refuses, or its answer is not an issue.
    """
    path = f"/repos/{repository}/issues/{number}"
    issue = client.json(path)
    if not isinstance(issue.get("title"), str) or issue.get("number") != number or _repository(issue).casefold() != repository.casefold():
        if isinstance(issue.get("title"), str):
            raise NotFoundError(f"{repository}#{number}: was transferred to {_repository(issue)}#{issue.get('number')}")
        raise GitHubError(f"{repository}#{number}: GitHub's answer is not an issue")
    login = own_login(client)
    labels = frozenset(name for label in issue.get("labels") or () if isinstance(name := label.get("name"), str))
    history = _History(login)
    for event in client.items(f"{path}/timeline"):
        history.read(event)
    user = issue.get("user") or {}
    state = IssueState(
        repository=repository,
        number=number,
        title=issue["title"],
        author=_login(issue.get("user")) or "ghost",
        author_is_bot=user.get("type") == "Bot",
        sender_is_bot=sender_is_bot,
        is_open=issue.get("state") != "closed",
        is_pull_request="pull_request" in issue,
        locked=bool(issue.get("locked")),
        labels=labels,
        labels_by_us=frozenset(label for label in labels if label.casefold() in history.ours),
        removed=frozenset(history.removed),
        repository_labels=frozenset(name for label in client.items(f"/repos/{repository}/labels") if isinstance(name := label.get("name"), str)),
        own_comment=history.comment,
        comment_deleted=history.comment_deleted,
    )
    return ReadIssue(
        report=IssueReport(title=issue["title"], body=issue.get("body") or "", id=f"{repository}#{number}"),
        state=state,
        url=str(issue.get("html_url") or ""),
        created_at=_time(issue.get("created_at")),
        updated_at=_time(issue.get("updated_at")),
        label_events=tuple(history.label_events),
    )


def find_own_comment(client: Client, repository: str, number: int) -> OwnComment | None:
    """The own comment as GitHub shows it now, for a POST whose answer was lost.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    history = _History(own_login(client))
    for comment in client.items(f"/repos/{repository}/issues/{number}/comments"):
        history.read({**comment, "event": "commented"})
    return history.comment


class _History:
    """Reads an issue's timeline, oldest event first."""

    def __init__(self, login: str | None) -> None:
        self._login = login
        self.ours: set[str] = set()
        self.removed: set[str] = set()
        self.label_events: list[LabelEvent] = []
        self.comment: OwnComment | None = None
        self.comment_deleted = False

    def read(self, event: Mapping[str, Any]) -> None:
        kind = event.get("event")
        actor = event.get("actor") or event.get("user")
        label = (event.get("label") or {}).get("name")
        if kind in {"labeled", "unlabeled"} and isinstance(label, str):
            by: Literal["us", "bot", "person"] = "us" if self._is_us(actor) else "bot" if (actor or {}).get("type") == "Bot" else "person"
            self.label_events.append(LabelEvent(label, kind == "labeled", by, _login(actor) or "ghost", _time(event.get("created_at"))))
        if kind == "labeled" and isinstance(label, str):
            (self.ours.add if self._is_us(actor) else self.ours.discard)(label.casefold())
        elif kind == "unlabeled" and isinstance(label, str):
            self.ours.discard(label.casefold())
            if (actor or {}).get("type") != "Bot":  # a deleted account has no type, and was a person
                self.removed.add(label)
        elif kind == "comment_deleted":
            self.comment_deleted = True
        elif kind == "commented" and self.comment is None and self._is_us(actor):
            marker = MARKER.match(event.get("body") or "")
            if marker is not None and isinstance(event.get("id"), int):
                self.comment = OwnComment(event["id"], marker.group("digest"))

    def _is_us(self, actor: Mapping[str, Any] | None) -> bool:
        # A marker in a person's comment is a quotation or a trap: editing that comment would put words into their mouth.
        if self._login is not None:
            return _login(actor) == self._login
        return (actor or {}).get("type") == "Bot"


def _time(text: object) -> float:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else 0.0
    except ValueError:
        return 0.0


def _login(user: object) -> str | None:
    login = user.get("login") if isinstance(user, Mapping) else None
    return login if isinstance(login, str) else None


def _repository(issue: Mapping[str, Any]) -> str:
    return "/".join(str(issue.get("repository_url") or "").split("/")[-2:])


# ---------------------------------------------------------------- configuration


def read_config(client: Client, repository: str, path: str, taxonomy: Taxonomy) -> RepositoryConfig:
    """The repository's configuration from its default branch, merged over the organization's (repository `.github` of the same owner).

    Args:
        path: In the repository; a path other than the usual one must exist.

    Raises:
        ConfigError: one of both is not valid, or `path` is not a path.
        GitHubError: GitHub cannot be reached or refuses.
    """
    if path.startswith("/") or ".." in path.split("/") or not path.isprintable() or not path.strip():
        raise ConfigError(f"configuration path {path!r}: expected a path inside the repository, such as {CONFIG_PATH}")
    owner = repository.split("/")[0]
    own = _read_config(client, repository, path, taxonomy)
    if own is None and path != CONFIG_PATH:
        raise ConfigError(f"{repository}: {path} is not on the default branch, or the token may not read it (permission `contents: read`)")
    general = _read_config(client, f"{owner}/.github", CONFIG_PATH, taxonomy) if repository.casefold() != f"{owner}/.github".casefold() else None
    if own is None or general is None:
        return own or general or RepositoryConfig()
    return merge_configs(general, own, taxonomy)


def _read_config(client: Client, repository: str, path: str, taxonomy: Taxonomy) -> RepositoryConfig | None:
    text = read_file(client, repository, path)
    return parse_config(text, f"{repository}/{path}", taxonomy) if text is not None else None


def read_file(client: Client, repository: str, path: str, commit: str | None = None) -> str | None:
    """A configuration file's text; None: there is no such file.

    Args:
        commit: Default: the last one of the default branch.

    Raises:
        ConfigError: it is too large, or not UTF-8.
        GitHubError: GitHub cannot be reached or refuses.
    """
    try:
        content = client.get(f"/repos/{repository}/contents/{quote(path)}", accept=_RAW, query={"ref": commit} if commit else None).content
    except NotFoundError:
        return None
    place = f"{repository}/{path}"
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{place}: {len(content):,} bytes; expected at most {MAX_BYTES:,}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{place}: not valid UTF-8 at byte {error.start}") from None
