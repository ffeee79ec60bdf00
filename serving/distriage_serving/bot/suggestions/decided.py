"""People's decisions on suggestions: brings stored suggestions in step with GitHub. Network and database I/O.

GitHub announces no decision: a label's own event shows an approval, and only the list of an issue's suggestions shows a
dismissal. It is fetched for issues with pending suggestions, and once per repository to learn whether it takes any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from distriage.base.errors import RefusedError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.bot.suggestions.kept import as_known, is_off, switch_off
from distriage_serving.configuration.names import Names
from distriage_serving.github.issue import ReadIssue, with_label_history
from distriage_serving.github.suggestions import ListedSuggestion, as_suggested, decide, list_suggestions, login_of
from distriage_serving.planning.suggested import Suggested
from distriage_serving.store import CLOSES, Review, Store, SuggestionRow

CLOCKS_S: Final = 60.0  # GitHub's and ours may be so far apart
_OPEN: Final = frozenset({"making", "pending"})
_FIRST: Final = {"add_label": 0, "set_type": 1, "add_field": 2}


@dataclass(frozen=True, slots=True)
class Polled:
    """An issue's current suggestions.

    Attributes:
        decided: Those decided by a person since the last check.
    """

    rows: Sequence[SuggestionRow]
    decided: Sequence[SuggestionRow] = ()


def ask(client: Client, store: Store, issue: ReadIssue, names: Names) -> tuple[Suggested, ...] | None:
    """Whether a repository takes suggestions, asked with an issue that is to get some, unless known.

    Returns:
        Other people's suggestions on this issue; None if the repository takes none.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    reference = issue.state.issue
    row = store.get_repository(reference.repository)
    if row is not None and row.no_suggestions_until == 0:
        return ()
    listed = list_suggestions(client, reference)
    if listed is None:
        switch_off(store, reference.repository)
        return None
    store.save_repository(reference.repository, no_suggestions_until=0.0)
    return as_suggested(listed, issue.label_ids, names)


def poll(
    client: Client, store: Store, reference: IssueReference, label_ids: Mapping[int, str] | None, *, is_app: bool
) -> Polled:
    """Bring an issue's pending suggestions in step with GitHub, and keep people's decisions as reviews.

    Args:
        label_ids: GitHub's id -> name of the repository's labels, if read.
        is_app: Only Distriage acts by the account that suggests.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    rows = store.suggestions(reference)
    if all(row.state not in _OPEN for row in rows) or is_off(store, reference.repository):
        return Polled(rows)
    listed = list_suggestions(client, reference)
    if listed is None:
        switch_off(store, reference.repository)
        return Polled(rows)
    found = [(row, _latest(row, listed, label_ids or {})) for row in rows if row.state in _OPEN]
    if label_ids is None:  # needed to list a label
        found = [(row, one) for row, one in found if one is not None or row.target_id is not None]
    people = {one.resolved_by: _who(client, store, one, is_app=is_app) for _, one in found if one is not None}
    with store.transaction():
        for row, one in found:
            values = _values(one, people.get(one.resolved_by) if one is not None else None)
            store.note_suggestion(row, polled_at=store.clock(), **values)
        rows = store.suggestions(reference)
        decided = [row for row in rows if row.who is not None and row.id in {old.id for old, _ in found}]
        store.add_reviews(*_reviews(store, reference, decided, rows))
        for row in decided:
            if row.action == "close_issue" and row.state == "approved":
                store.settle_past(reference.repository, {reference.number}, f"duplicate of #{row.value}")
    return Polled(rows, decided)


def decide_closed(client: Client, store: Store, issue: IssueReference) -> str | None:
    """Approve or dismiss the suggestion to close an issue as a duplicate, once it was closed in the queue.

    Returns:
        GitHub's refusal, if any: the issue is closed, and the next look finds the suggestion's fate.

    Raises:
        GitHubError: GitHub is out of reach.
    """
    closing = next((act for act in store.acts(issue) if act.what in CLOSES and act.undone_at is None), None)
    if closing is None or not closing.carried_out or not (rows := _to_close(store.suggestions(issue))):
        return None
    try:
        if any(row.github_id is None for row in rows):
            rows = _to_close(poll(client, store, issue, None, is_app=True).rows)
        for row in rows:
            is_same = row.value == str(closing.duplicate_of)
            if row.github_id is not None and decide(client, issue, row.github_id, approve=is_same):
                state = "approved" if is_same else "dismissed"
                store.note_suggestion(row, state=state, who=closing.who, decided_at=store.clock())
    except RefusedError as error:
        return f"the suggestion to close it stays: {error}"
    return None


def _to_close(rows: Iterable[SuggestionRow]) -> list[SuggestionRow]:
    return [row for row in rows if row.action == "close_issue" and row.state in _OPEN]


def _latest(
    row: SuggestionRow, listed: Iterable[ListedSuggestion], names: Mapping[int, str]
) -> ListedSuggestion | None:
    same = [one for one in listed if one.is_of(as_known(row), names)]
    return same[-1] if same else None


def _who(client: Client, store: Store, one: ListedSuggestion, *, is_app: bool) -> str | None:
    """Login of the person who decided; None if undecided, or if we did so for a decision made elsewhere."""
    if one.state not in {"approved", "dismissed"} or one.resolved_by is None:
        return None
    if is_app and one.resolved_by == one.by:
        return None
    return store.login_of(one.resolved_by) or login_of(client, one.resolved_by)


def _values(one: ListedSuggestion | None, who: str | None) -> dict[str, object]:
    if one is None:  # it never arrived, or is gone
        return {"state": "ended"}
    decided = {"decided_at": one.at, "resolved_by": one.resolved_by} if one.state != "pending" else {}
    return {"state": one.state, "github_id": one.id, "event_id": one.event_id, "who": who, **decided}


def _reviews(
    store: Store, reference: IssueReference, decided: Iterable[SuggestionRow], rows: Sequence[SuggestionRow]
) -> list[Review]:
    """Reviews of axes; if an axis has a label, a type and a field, the label's counts."""
    stored = store.latest_verdict(reference.repository, reference.number)
    found = []
    for row in decided:
        first = min((other for other in rows if other.axis == row.axis), key=lambda other: _FIRST.get(other.action, 3))
        if not row.axis or not row.label or first.id != row.id or row.who is None:
            continue
        said = stored.verdict.axes.get(row.axis) if stored is not None else None
        found.append(
            Review(
                repository=reference.repository,
                number=reference.number,
                axis=row.axis,
                label=row.label if row.state == "approved" else None,
                who=row.who,
                how="approve" if row.state == "approved" else "dismiss",
                at=row.decided_at or 0.0,
                predicted_label=row.label,
                probability=said.probability if said is not None and said.label == row.label else None,
                model=stored.model if stored is not None else None,
                verdict_id=stored.id if stored is not None else None,
            )
        )
    return found


def with_approvals(issue: ReadIssue, rows: Iterable[SuggestionRow]) -> ReadIssue:
    """The issue with labels that a person approved as set by that person, in whose name GitHub may not show them."""
    approved = [row for row in rows if row.action == "add_label" and row.state == "approved" and row.who is not None]
    if not approved:
        return issue
    events = []
    for event in issue.label_events:
        row = next((row for row in approved if event.added and _made(row, event.id, event.label, event.at)), None)
        if row is not None:
            approved.remove(row)
            event = replace(event, by="person", who=row.who or event.who, approved=True)
        events.append(event)
    return replace(issue, state=with_label_history(issue.state, events), label_events=tuple(events))


def _made(row: SuggestionRow, event_id: int, label: str, at: float) -> bool:
    if row.event_id is not None:
        return row.event_id == event_id
    return label.casefold() == row.value.casefold() and at >= row.at - CLOCKS_S
