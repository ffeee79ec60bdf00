"""The store's records of suggestions, before and after they are sent. Database I/O."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from distriage_serving.github.execution import Execution
from distriage_serving.logs import log
from distriage_serving.planning.suggested import Reasoned, Suggested
from distriage_serving.planning.types import Plan
from distriage_serving.store import Store, SuggestionRow

ASK_AGAIN_S: Final = 86400.0  # until asking again whether a repository takes suggestions


def is_off(store: Store, repository: str) -> bool:
    """Whether the repository, asked lately, took no suggestions."""
    row = store.get_repository(repository)
    return row is not None and (row.no_suggestions_until or 0.0) > store.clock()


def switch_off(store: Store, repository: str) -> None:
    """Note that a repository takes no suggestions, and say so, once."""
    store.save_repository(repository, no_suggestions_until=store.clock() + ASK_AGAIN_S)
    log(logging.WARNING, "suggestions_off", repository=repository)


def as_known(row: SuggestionRow) -> Suggested:
    """A stored suggestion, for the plan."""
    state = "pending" if row.state == "making" else row.state
    return Suggested(
        row.action,  # type: ignore[arg-type]  # both as we wrote them
        row.value,
        state,  # type: ignore[arg-type]
        row.github_id,
        row.target_id,
        held=row.held,
        axis=row.axis,
        label=row.label,
    )


def begin(store: Store, plan: Plan, label_ids: Mapping[int, str]) -> None:
    """Record a plan's suggestions and fields before sending, so that a dying worker sends nothing twice."""
    if not plan.dry_run:
        store.begin_suggestions([_row(store, plan, one, label_ids) for one in (*plan.suggestions, *plan.fields)])


def _row(store: Store, plan: Plan, one: Reasoned | Suggested, label_ids: Mapping[int, str]) -> SuggestionRow:
    ids = {name.casefold(): number for number, name in label_ids.items()} if one.action == "add_label" else {}
    return SuggestionRow(
        repository=plan.issue.repository,
        number=plan.issue.number,
        action=one.action,
        value=one.value,
        axis=one.axis,
        label=one.label,
        target_id=ids.get(one.value.casefold(), one.target_id),
        at=store.clock(),
    )


def note(store: Store, plan: Plan, done: Execution, label_ids: Mapping[int, str]) -> str | None:
    """Record the outcome of a plan's suggestions. Returns a message for people, if any."""
    if plan.dry_run:
        return None
    ids = {**label_ids, **{number: name for name, number in done.label_ids.items()}}
    with store.transaction():
        unplanned = [one for one in done.suggested if all(one.shown != made.shown for made in plan.suggestions)]
        store.begin_suggestions([_row(store, plan, one, ids) for one in unplanned])
        done_now = {(one.action, one.value): "pending" for one in done.suggested}
        done_now |= {(one.action, one.value): "applied" for one in done.fields}
        targets = {one.value: one.target_id for one in done.suggested}
        for one in (*plan.suggestions, *plan.fields, *unplanned):
            row = _row(store, plan, one, ids)
            target_id = row.target_id or targets.get(one.value)
            values = {"target_id": target_id, "polled_at": store.clock(), "held": one in unplanned}
            store.note_suggestion(row, state=done_now.get((one.action, one.value), "ended"), **values)
        for known, approved in done.decided:
            # Not `dismissed`, which is final: a person may take back the decision that ended it.
            state = "approved" if approved else "ended"
            store.note_suggestion(_row(store, plan, known, ids), state=state, decided_at=store.clock())
    if done.no_suggestions is not None:
        switch_off(store, plan.issue.repository)
    return done.no_suggestions
