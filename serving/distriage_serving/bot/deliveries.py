"""A delivery of GitHub -> what is to be done about it. Pure.

https://docs.github.com/en/webhooks/webhook-events-and-payloads. A payload is read leniently: what is not there, or not of its type, makes a delivery
that asks for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from distriage_serving.bot.commands import find_command
from distriage_serving.github_rest import REPOSITORY

_AT_ONCE: Final = frozenset({"opened", "reopened"})
_AFTER_A_WHILE: Final = frozenset({"edited", "labeled", "unlabeled"})
_STATES: Final[Mapping[str, Literal["closed", "deleted", "transferred"]]] = {"closed": "closed", "deleted": "deleted", "transferred": "transferred"}
_CHECKED: Final = frozenset({"opened", "synchronize", "reopened"})


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to put into the outbox.

    Attributes:
        key: Jobs that wait under one key are one job.
        debounced: A further one of its key puts the waiting one off.
    """

    kind: Literal["triage", "command", "check"]
    key: str
    repository: str
    number: int
    argument: Mapping[str, Any] = field(default_factory=dict)
    debounced: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """A repository that the App has got or lost."""

    repository: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Effects:
    """What follows from a delivery.

    Attributes:
        installation_id: None: nothing can be done on GitHub.
        accesses: Repositories got and lost.
        installation_ended: The App was uninstalled or suspended.
        state: What became of the issue, where it needs no triage any more.
        ignored: Why nothing follows; None: something does.
    """

    installation_id: int | None = None
    repository: str = ""
    number: int | None = None
    job: NewJob | None = None
    accesses: tuple[Access, ...] = ()
    installation_ended: bool = False
    state: Literal["closed", "deleted", "transferred"] | None = None
    ignored: str | None = None


def triage_key(repository: str, number: int) -> str:
    """The key under which all work on one issue waits, so that no two workers touch it at once."""
    return f"triage:{repository.lower()}#{number}"


def repository_of(payload: Mapping[str, Any]) -> str:
    """`owner/name` in lower case, or empty."""
    name = _table(payload, "repository").get("full_name")
    return name.lower() if isinstance(name, str) and REPOSITORY.fullmatch(name) else ""


def number_of(payload: Mapping[str, Any]) -> int | None:
    """Number of the issue or pull request."""
    number = _table(payload, "issue").get("number") or _table(payload, "pull_request").get("number")
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None


def installation_of(payload: Mapping[str, Any]) -> int | None:
    """Id of the App's installation; None of a hook that belongs to no App."""
    number = _table(payload, "installation").get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def effects_of(event: str, payload: Mapping[str, Any]) -> Effects:
    """Decide what a delivery asks for."""
    if event in {"installation", "installation_repositories"}:
        return _installation(event, payload)
    installation_id, repository, number = installation_of(payload), repository_of(payload), number_of(payload)
    if event not in {"issues", "issue_comment", "pull_request"}:
        return Effects(ignored=f"nothing to do for the event {event}")
    if installation_id is None:
        return Effects(ignored="no installation: the hook belongs to no App")
    if not repository or number is None:
        return Effects(ignored="no repository or number in the payload")
    action = payload.get("action")
    if event == "pull_request":
        return _pull_request(payload, action, installation_id, repository, number)
    if _is_bot(payload.get("sender")):
        return Effects(ignored="a bot caused it")
    if _is_bot(_table(payload, "issue").get("user")):
        return Effects(ignored="a bot wrote the issue")
    if "pull_request" in _table(payload, "issue"):
        return Effects(ignored="it is a pull request")
    if event == "issue_comment":
        return _comment(payload, action, installation_id, repository, number)
    if isinstance(action, str) and action in _STATES:
        return Effects(installation_id, repository, number, state=_STATES[action])
    if action in _AT_ONCE or action in _AFTER_A_WHILE:
        job = NewJob("triage", triage_key(repository, number), repository, number, debounced=action in _AFTER_A_WHILE)
        return Effects(installation_id, repository, number, job)
    return Effects(ignored=f"nothing to do for the action {action}")


def _comment(payload: Mapping[str, Any], action: object, installation_id: int, repository: str, number: int) -> Effects:
    comment = _table(payload, "comment")
    body, comment_id, who, at = comment.get("body"), comment.get("id"), _table(comment, "user").get("login"), comment.get("created_at")
    line = find_command(body) if isinstance(body, str) else None
    if action != "created" or line is None:
        return Effects(ignored="no new comment with a command")
    if not (isinstance(comment_id, int) and isinstance(who, str) and isinstance(at, str)) or _is_bot(comment.get("user")):
        return Effects(ignored="the comment has no id, no time or no person behind it")
    argument = {"line": line, "comment": comment_id, "who": who, "at": at}
    return Effects(installation_id, repository, number, NewJob("command", f"command:{repository}#{number}:{comment_id}", repository, number, argument))


def _pull_request(payload: Mapping[str, Any], action: object, installation_id: int, repository: str, number: int) -> Effects:
    pull = _table(payload, "pull_request")
    head, base = _table(pull, "head").get("sha"), _table(pull, "base").get("sha")
    if action not in _CHECKED or not isinstance(head, str) or not isinstance(base, str):
        return Effects(ignored="no new commits")
    return Effects(installation_id, repository, number, NewJob("check", f"check:{repository}@{head}", repository, number, {"head": head, "base": base}))


def _installation(event: str, payload: Mapping[str, Any]) -> Effects:
    installation_id, action = installation_of(payload), payload.get("action")
    if installation_id is None:
        return Effects(ignored="no installation in the payload")
    if event == "installation" and action in {"deleted", "suspend"}:
        return Effects(installation_id, installation_ended=True)
    got = [*_names(payload, "repositories"), *_names(payload, "repositories_added")]
    lost = _names(payload, "repositories_removed")
    if event == "installation" and action not in {"created", "unsuspend", "new_permissions_accepted"}:
        return Effects(ignored=f"nothing to do for the action {action}")
    return Effects(installation_id, accesses=(*(Access(name, True) for name in got), *(Access(name, False) for name in lost)))


def _names(payload: Mapping[str, Any], key: str) -> list[str]:
    listed = payload.get(key)
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [name for item in items if isinstance(name := item.get("full_name"), str) and REPOSITORY.fullmatch(name)]


def _is_bot(user: object) -> bool:
    return isinstance(user, dict) and user.get("type") == "Bot"


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}
