"""A delivery of GitHub -> its effects. Pure.

https://docs.github.com/en/webhooks/webhook-events-and-payloads. A payload is read leniently: with missing or malformed
parts, a delivery has no effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from distriage.base.references import REPOSITORY, IssueReference
from distriage.base.times import epoch_s
from distriage.github.forms import FOLDER
from distriage.github.listed import is_bot
from distriage_serving.bot.commands import find_commands
from distriage_serving.configuration.model import CONFIG_PATH, MISNAMED
from distriage_serving.github.settled import Settled, settled
from distriage_serving.planning.marker import Marker
from distriage_serving.store import CheckArgument, CommandArgument, Lifecycle

_AT_ONCE: Final = frozenset({"opened", "reopened"})
_LABELS: Final = frozenset({"labeled", "unlabeled"})
_AFTER_A_WHILE: Final = frozenset({"edited", *_LABELS})
NEW_S: Final = 86400.0  # the bot has heard of a younger issue, or is about to
_STATES: Final[Mapping[str, Lifecycle]] = {
    "closed": "closed",
    "deleted": "deleted",
    "transferred": "transferred",
    "reopened": "open",
}
_CHECKED: Final = frozenset({"opened", "synchronize", "reopened"})
_BEGINS: Final = frozenset({"created", "unsuspend", "new_permissions_accepted"})


@dataclass(frozen=True, slots=True)
class Triage:
    """Look at an issue.

    Attributes:
        debounced: Not at once: a further event postpones it.
        if_known: Only an issue that the bot knows: the event does not start an old one.
    """

    issue: IssueReference
    debounced: bool
    if_known: bool = False


@dataclass(frozen=True, slots=True)
class Commanded:
    """Carry out the commands of a comment."""

    issue: IssueReference
    argument: CommandArgument


@dataclass(frozen=True, slots=True)
class Check:
    """Check the configuration that a pull request proposes."""

    pull: IssueReference
    argument: CheckArgument


@dataclass(frozen=True, slots=True)
class Became:
    """An issue's new state, caused by anyone.

    Attributes:
        updated_at: The issue's, Unix time in seconds.
        reason: GitHub's for closing it, or empty.
    """

    issue: IssueReference
    state: Lifecycle
    updated_at: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """Repositories that the App has got and lost."""

    got: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """The App was uninstalled or suspended."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A repository has another name or owner."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A repository was deleted."""

    repository: str


@dataclass(frozen=True, slots=True)
class Configured:
    """The configuration on a repository's default branch was changed."""

    repository: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing follows, and why."""

    why: str


Moved = Renamed | Deleted | Access | Ended
Effect = Triage | Commanded | Check | Became | Settled | Moved | Configured | Ignored


def repository_of(payload: Mapping[str, Any]) -> str:
    """`owner/name` in lower case, or empty."""
    return _full_name(payload).lower()


def number_of(payload: Mapping[str, Any]) -> int | None:
    """Number of the issue or pull request."""
    return _id(_table(payload, "issue").get("number") or _table(payload, "pull_request").get("number"))


def installation_of(payload: Mapping[str, Any]) -> int | None:
    """Id of the App's installation; None of a hook that belongs to no App."""
    return _id(_table(payload, "installation").get("id"))


def _action(payload: Mapping[str, Any]) -> str:
    action = payload.get("action")
    return action if isinstance(action, str) else ""


def _id(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 63 else None


def effect_of(event: str, payload: Mapping[str, Any]) -> Effect:
    """The effect of a delivery."""
    if installation_of(payload) is None:
        return Ignored("no installation: the hook belongs to no App")
    action, repository = _action(payload), repository_of(payload)
    match event:
        case "installation" | "installation_repositories":
            return _installation(event, payload)
        case "repository":
            return _repository(payload)
        case "push":
            return _push(payload)
        case "issues" | "issue_comment" | "pull_request":
            number = number_of(payload)
            if not repository or number is None:
                return Ignored("no repository or number in the payload")
            issue = IssueReference(repository, number)
            read = {"issues": _issue, "issue_comment": _comment, "pull_request": _pull_request}[event]
            effect = read(payload, action, issue)
            return settled(payload, issue) or effect if isinstance(effect, Ignored) else effect
    return Ignored(f"nothing to do for the event {event}")


def _issue(payload: Mapping[str, Any], action: str, issue: IssueReference) -> Effect:
    details = _table(payload, "issue")
    if "pull_request" in details:
        return Ignored("it is a pull request")
    by_bot = is_bot(payload.get("sender"))
    if action in _STATES and (by_bot or action not in _AT_ONCE):
        told = str(details.get("state_reason") or "") if action == "closed" else ""
        return Became(issue, _STATES[action], epoch_s(details.get("updated_at")), told)
    if by_bot or is_bot(details.get("user")):
        return Ignored("a bot caused it" if by_bot else "a bot wrote the issue")
    if action in _AT_ONCE or action in _AFTER_A_WHILE:
        age_s = epoch_s(details.get("updated_at")) - epoch_s(details.get("created_at"))
        return Triage(issue, debounced=action in _AFTER_A_WHILE, if_known=action in _LABELS and age_s > NEW_S)
    return Ignored(f"nothing to do for the action {action}")


def _comment(payload: Mapping[str, Any], action: str, issue: IssueReference) -> Effect:
    details, comment, sender = _table(payload, "issue"), _table(payload, "comment"), payload.get("sender")
    if is_bot(sender) or is_bot(comment.get("user")):
        return Ignored("a bot caused it")
    if is_bot(details.get("user")):
        return Ignored("a bot wrote the issue")
    if "pull_request" in details:
        return Ignored("it is a pull request")
    if action not in {"created", "edited"}:
        return Ignored(f"nothing to do for the action {action}")
    if Marker.read(str(comment.get("body") or "")) is not None:  # `distriage backfill` writes in a person's name
        return Ignored("the comment is ours")
    now, before = find_commands(str(comment.get("body") or "")), list[str]()
    if action == "edited":  # commands there before were carried out before
        before = find_commands(str(_table(_table(payload, "changes"), "body").get("from") or ""))
    lines = list((Counter(now) - Counter(before)).elements())
    if not lines and not Counter(before) - Counter(now):
        return Ignored("no new command in the comment")
    number, who = _id(comment.get("id")), _table(payload, "sender").get("login")
    at = epoch_s(comment.get("updated_at" if action == "edited" else "created_at"))
    if number is None or not (isinstance(who, str) and who and who.isprintable() and at):
        return Ignored("the comment has no id, no time or no person behind it")
    edited, keeps_others = action == "edited", len(lines) < len(now)
    argument = CommandArgument(comment=number, who=who, at=at, lines=lines, edited=edited, keeps_others=keeps_others)
    return Commanded(issue, argument)


def _pull_request(payload: Mapping[str, Any], action: str, pull: IssueReference) -> Effect:
    details = _table(payload, "pull_request")
    head, base = _table(details, "head").get("sha"), _table(details, "base").get("sha")
    if action not in _CHECKED or not isinstance(head, str) or not isinstance(base, str):
        return Ignored("no new commits")
    return Check(pull, CheckArgument(head=head, base=base))


def _push(payload: Mapping[str, Any]) -> Effect:
    repository, branch = repository_of(payload), _table(payload, "repository").get("default_branch")
    commits = payload.get("commits")
    if not repository or payload.get("ref") != f"refs/heads/{branch}":
        return Ignored("not to the default branch")
    changed = {
        path
        for commit in (commits if isinstance(commits, list) else [])
        for kind in ("added", "modified", "removed")
        if isinstance(commit, dict) and isinstance(paths := commit.get(kind), list)
        for path in paths
        if isinstance(path, str)
    }
    if CONFIG_PATH in changed or any(path.startswith(f"{FOLDER}/") for path in changed):
        return Configured(repository)
    misnamed = f"{MISNAMED} is not read; expected the name {CONFIG_PATH}"
    return Ignored(misnamed if MISNAMED in changed else f"it does not touch {CONFIG_PATH}")


def _repository(payload: Mapping[str, Any]) -> Effect:
    action, new = _action(payload), _full_name(payload)
    owner, _, name = new.partition("/")
    changes = _table(payload, "changes")
    if action == "renamed":
        before = _table(_table(changes, "repository"), "name").get("from")
        old = f"{owner}/{before}" if isinstance(before, str) else ""
    elif action == "transferred":
        source = _table(_table(changes, "owner"), "from")
        before = (_table(source, "user") or _table(source, "organization")).get("login")
        old = f"{before}/{name}" if isinstance(before, str) else ""
    elif action == "created":
        return Access()  # one of this name may have been deleted, and the App be off it since
    elif action == "deleted" and new:
        return Deleted(new.lower())
    else:
        return Ignored(f"nothing to do for the action {action}")
    if not new or not REPOSITORY.fullmatch(old):
        return Ignored("no old or new name in the payload")
    return Renamed(old.lower(), new)


def _installation(event: str, payload: Mapping[str, Any]) -> Effect:
    action = _action(payload)
    if event == "installation" and action in {"deleted", "suspend"}:
        return Ended()
    if event == "installation" and action not in _BEGINS:
        return Ignored(f"nothing to do for the action {action}")
    got = (*_names(payload, "repositories"), *_names(payload, "repositories_added"))
    return Access(got, tuple(name.lower() for name in _names(payload, "repositories_removed")))


def _names(payload: Mapping[str, Any], key: str) -> tuple[str, ...]:
    listed = payload.get(key)
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    names = (item.get("full_name") for item in items)
    return tuple(name for name in names if isinstance(name, str) and REPOSITORY.fullmatch(name))


def _full_name(payload: Mapping[str, Any]) -> str:
    name = _table(payload, "repository").get("full_name")
    return name if isinstance(name, str) and REPOSITORY.fullmatch(name) else ""


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}
