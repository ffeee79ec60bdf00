"""What the store remembers of labels on an issue: their names on GitHub, and what we meant by them. Database I/O."""

from __future__ import annotations

from dataclasses import asdict, replace

from distriage.answer.feedback import own_label
from distriage_serving.bot.label_names import in_names_of_today, looked_at
from distriage_serving.configuration.names import Names
from distriage_serving.github.issue import ReadIssue
from distriage_serving.planning.types import Plan
from distriage_serving.store import Backfilled, Store, StoredVerdict
from distriage_serving.store.label_names import LabelNames


def under_names_of_today(store: Store, issue: ReadIssue, names: Names) -> ReadIssue:
    """The issue in the names that labels have today, which are noted for the next look."""
    reference = issue.state.issue
    row = store.get_repository(reference.repository)
    if row is None:
        return issue
    known = LabelNames.read(row.labels)
    watched = {*names.known(), *map(str.casefold, issue.state.labels_by_us)}
    labels = looked_at(known, issue, watched, store.clock())
    if labels != known:
        store.save_repository(reference.repository, labels=labels.stored())
    issue = in_names_of_today(labels, issue, store.reviews(issue=reference))
    given = _in_names(labels, store.latest_verdict(reference.repository, reference.number))
    given_now = {name.casefold(): (axis, label) for name, axis, label in given}
    return replace(issue, state=replace(issue.state, given=given_now))


def own_labels_given(store: Store, said: StoredVerdict | None) -> list[str]:
    """The labels of the repository's own, of signs too, that an issue got or that its verdict gives it."""
    if said is None:
        return []
    labels = label_names(store, said.repository)
    given = [name for name, axis, _ in _in_names(labels, said) if own_label(axis) is not None]
    applied = [own.label for own in said.verdict.own or () if own.applied]
    return [*{name.casefold(): name for name in (*applied, *given)}.values()]


def label_names(store: Store, repository: str) -> LabelNames:
    """A repository's labels by GitHub's id, as last looked at."""
    row = store.get_repository(repository)
    return LabelNames.read(row.labels if row is not None else None)


def given_labels(before: StoredVerdict | None, plan: Plan, at: float) -> list[tuple[str, str, str, float]]:
    """Name, axis, label and time of each label of an axis that was set or is about to be: a later configuration may
    give it another name, or none.
    """
    new = {name: why for name, why in plan.intents.items() if name in plan.labels and not plan.dry_run}
    kept = [one for one in _given(before) if one[0] not in new]
    return [*kept, *((name, why.axis, why.label, at) for name, why in new.items())]


def _in_names(labels: LabelNames, before: StoredVerdict | None) -> list[tuple[str, str, str]]:
    return [(labels.name_now(name, at), axis, label) for name, axis, label, at in _given(before)]


def _given(before: StoredVerdict | None) -> list[tuple[str, str, str, float]]:
    plan = before.plan if before is not None else None
    return [(name, axis, label, at) for name, axis, label, at in (plan or {}).get("given", ())]


def backfill_notes(plan: Plan, account: str | None, at: float) -> list[dict[str, object]]:
    """Changes about to be made in a person's name, for `with_backfilled`."""
    if account is None or plan.dry_run:
        return []
    writes = [*((label, True) for label in plan.labels), *((label, False) for label in plan.take_off)]
    return [asdict(Backfilled(label, added, account, at)) for label, added in writes]
