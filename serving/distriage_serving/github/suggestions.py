"""Suggestions on an issue, which people approve or dismiss on GitHub. Network I/O.

https://docs.github.com/rest/issues/issues#list-issue-suggestions
A suggestion of a label names it by its id alone; one of an issue to close, the original by its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from distriage.base.errors import NotFoundError, RefusedError
from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage.github.client import Client
from distriage_serving.configuration.names import Names
from distriage_serving.planning.suggested import Action, Reasoned, Suggested, SuggestionState

OFF: Final = "GitHub takes no suggestions in this repository; labels are set as without them"
_ACTIONS: Final = frozenset(get_args(Action))
_STATES: Final[Mapping[str, SuggestionState]] = {
    "pending": "pending",
    "approved": "approved",
    "dismissed": "dismissed",
    "applied": "applied",
}


@dataclass(frozen=True, slots=True)
class ListedSuggestion:
    """A suggestion as GitHub lists it.

    Attributes:
        value: The type or the option; None if `target_id` names it.
        state: `ended`: replaced by another one, or invalidated.
        by, resolved_by: Ids of the accounts that made it and decided on it.
        event_id: The approval's in the timeline.
        at: Last change, Unix time in seconds.
    """

    id: int
    action: Action
    state: SuggestionState
    target_id: int | None
    value: str | None
    by: int | None
    resolved_by: int | None
    event_id: int | None
    at: float

    def is_of(self, change: Reasoned | Suggested, label_ids: Mapping[int, str]) -> bool:
        """Whether it suggests this change.

        Args:
            label_ids: GitHub's id -> name of the repository's known labels.
        """
        if self.action != change.action:
            return False
        same_target = self.target_id is not None and self.target_id == change.target_id
        same_value = (self.value or "").casefold() == change.value.casefold()
        match change.action:
            case "add_label":
                name = label_ids.get(self.target_id or 0, self.value or "")
                return same_target or name.casefold() == change.value.casefold()
            case "set_type":
                return same_value
            case "add_field":
                return same_target and same_value
        return same_target


def list_suggestions(client: Client, issue: IssueReference) -> list[ListedSuggestion] | None:
    """All suggestions of an issue, in every state, the oldest first; None if GitHub takes none in this repository.

    Raises:
        GitHubError: GitHub is out of reach, or refuses for another reason.
    """
    found: list[ListedSuggestion] = []
    try:
        for items, _ in client.pages(f"{issue.path}/suggestions", {"state": "all"}):
            found += [read for item in items if (read := _read(item)) is not None]
    except (NotFoundError, RefusedError) as error:
        if isinstance(error, NotFoundError) or error.status == 422:
            return None
        raise
    return sorted(found, key=lambda one: one.id)


def decide(client: Client, issue: IssueReference, suggestion_id: int, *, approve: bool) -> bool:
    """Approve or dismiss a suggestion; one already decided stays as it is.

    Returns:
        Whether it is decided so.

    Raises:
        RefusedError: GitHub refuses.
        GitHubError: GitHub cannot be reached.
    """
    verb = "approve" if approve else "dismiss"
    try:
        client.write("POST", f"{issue.path}/suggestions/{suggestion_id}/{verb}", None, repeatable=True)
    except RefusedError as error:
        if error.status not in {404, 422}:
            raise
        wanted = "approved" if approve else "dismissed"
        listed = list_suggestions(client, issue) or ()  # an earlier attempt of ours may have lost its answer
        return any((one.id, one.state) == (suggestion_id, wanted) for one in listed)
    return True


def login_of(client: Client, account: int) -> str:
    """Login of an account; `ghost` if deleted.

    Raises:
        GitHubError: GitHub is out of reach.
    """
    try:
        login = client.json(f"/user/{account}").get("login")
    except (NotFoundError, RefusedError):
        login = None
    return login if isinstance(login, str) else "ghost"


def as_suggested(
    listed: Iterable[ListedSuggestion], label_ids: Mapping[int, str], names: Names
) -> tuple[Suggested, ...]:
    """The listed suggestions of everyone that have a meaning in the configuration.

    Args:
        label_ids: GitHub's id -> name of the repository's labels.
    """
    found = []
    for one in listed:
        name = label_ids.get(one.target_id or 0, "") if one.action == "add_label" else ""
        meant = list(names.meanings(name))
        axis, label = meant[0] if len(meant) == 1 else ("", None)
        known = Suggested(
            one.action, one.value or name, one.state, one.id, one.target_id, ours=False, axis=axis, label=label or ""
        )
        found.append(known)
    return tuple(found)


def _read(item: Mapping[str, Any]) -> ListedSuggestion | None:
    if item.get("action") not in _ACTIONS or not isinstance(item.get("id"), int):
        return None
    value = item.get("target_value")

    def number(name: str) -> int | None:
        return given if isinstance(given := item.get(name), int) else None

    return ListedSuggestion(
        id=item["id"],
        action=item["action"],
        state=_STATES.get(str(item.get("state")), "ended"),
        target_id=number("target_id"),
        value=value if isinstance(value, str) else None,
        by=number("actor_id"),
        resolved_by=number("resolved_by"),
        event_id=number("issue_event_id"),
        at=epoch_s(item.get("updated_at")),
    )
