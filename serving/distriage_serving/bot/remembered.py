"""What the store remembers of an issue for the next look: the plan, what its labels meant, and what they are called on
GitHub. Database I/O.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import asdict, astuple, replace

from distriage.answer.feedback import own_label
from distriage.answer.verdict import Verdict
from distriage_serving.configuration.file import config_digest
from distriage_serving.configuration.names import Names
from distriage_serving.github.issue import ReadIssue, with_label_history
from distriage_serving.planning.owners import owners_of
from distriage_serving.planning.types import Plan
from distriage_serving.store import Backfilled, LabelNames, Review, Store, StoredVerdict, report_digest
from distriage_serving.store.repositories import UNKNOWN


def under_names_of_today(store: Store, issue: ReadIssue, names: Names) -> ReadIssue:
    """The issue in the names that labels have today, which are noted for the next look."""
    reference = issue.state.issue
    labels = LabelNames({})
    if (row := store.get_repository(reference.repository)) is not None:
        known = LabelNames.read(row.labels)
        watched = {*names.known(), *map(str.casefold, issue.state.labels_by_us)}
        labels = looked_at(known, issue, watched, store.clock())
        if labels != known:
            store.save_repository(reference.repository, labels=labels.stored())
        issue = in_names_of_today(labels, issue, store.reviews(issue=reference))
    given = _in_names(labels, store.latest_verdict(reference.repository, reference.number))
    given_now = {name.casefold(): (axis, label) for name, axis, label in given}
    return replace(issue, state=replace(issue.state, given=given_now))


def with_labels_of_app(issue: ReadIssue) -> ReadIssue:
    """The issue, read with a person's token, with labels that the App set as ours."""
    events = [
        replace(event, by="us") if event.by == "bot" and event.label.casefold() in issue.state.given else event
        for event in issue.label_events
    ]
    return replace(issue, state=with_label_history(issue.state, events), label_events=tuple(events))


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


def keep_plan(store: Store, issue: ReadIssue, verdict: Verdict, plan: Plan, names: Names, account: str | None) -> int:
    """Save verdict and plan; the plan alone if the verdict equals the latest one.

    Args:
        account: The person in whose name the plan is carried out; None if it is ours.
    """
    reference = issue.state.issue
    digest = report_digest(issue.report.title, issue.report.body)
    before = store.latest_verdict(reference.repository, reference.number)
    noted = _backfill_notes(plan, account, store.clock())
    given = _given_labels(before, plan, store.clock())
    kept = {
        "changes": [astuple(change) for change in plan.changes],
        "dry_run": plan.dry_run,
        "take_off": plan.only_takes_off,
        "given": given,
        "configuration": config_digest(names.config),
        "owners": list(owners_of(verdict, {*issue.state.labels, *plan.labels}, names.config.owners, issue.created_at)),
    }
    if (
        before is not None
        and before.digest == digest
        and before.verdict.axes == verdict.axes
        and before.verdict.own == verdict.own
        and (before.verdict.signs or []) == (verdict.signs or [])
        and before.verdict.missing == verdict.missing
        and before.verdict.second_reading == verdict.second_reading
        and before.model == verdict.model
    ):
        store.set_plan(before.id, {**kept, "backfilled": [*(before.plan or {}).get("backfilled", ()), *noted]})
        return before.id
    stored = StoredVerdict(
        repository=reference.repository,
        number=reference.number,
        model=verdict.model,
        taxonomy_version=verdict.taxonomy_version,
        digest=digest,
        verdict=verdict,
        made_at=store.clock(),
        plan={**kept, "backfilled": noted},
    )
    return store.save_verdict(stored, names.taxonomy, [axis.id for axis in names.labelled()])


def _given_labels(before: StoredVerdict | None, plan: Plan, at: float) -> list[tuple[str, str, str, float]]:
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


def _backfill_notes(plan: Plan, account: str | None, at: float) -> list[dict[str, object]]:
    """Changes about to be made in a person's name, for `with_backfilled`."""
    if account is None or plan.dry_run:
        return []
    writes = [*((label, True) for label in plan.labels), *((label, False) for label in plan.take_off)]
    return [asdict(Backfilled(label, added, account, at)) for label, added in writes]


def looked_at(known: LabelNames, issue: ReadIssue, watched: Collection[str], at: float) -> LabelNames:
    """What is known after a look at an issue and the labels of its repository.

    Args:
        watched: Names, in lower case, that are to be remembered.
        at: Unix time in seconds.
    """
    there = issue.label_ids
    lost = [
        (name.casefold(), id_, at)
        for id_, name in known.now.items()
        if there.get(id_, "").casefold() != name.casefold()
    ]
    # One that we made ourselves, and that went before the next look at the repository.
    used = {event.label.casefold() for event in issue.label_events if known.id_at(event.label, event.at) is None}
    gone = used & {*watched} - {name.casefold() for name in there.values()} - {name for name, *_ in lost}
    lost += [(name, UNKNOWN, at) for name in sorted(gone)]
    kept = {id_: name for id_, name in there.items() if id_ in known.now or name.casefold() in watched}
    return LabelNames(kept, (*known.former, *lost))


def in_names_of_today(known: LabelNames, issue: ReadIssue, reviews: Iterable[Review]) -> ReadIssue:
    """The issue with its label history in the names of today.

    A label that was deleted and made anew is another one: that the old one went is forgotten, unless a person had taken
    it off before.
    """
    if not known.former:
        return issue
    taken_off = {(review.who, math.floor(review.at)) for review in reviews if review.how == "unlabel"}
    there = {name.casefold() for name in issue.labels_there}
    events = []
    for event in issue.label_events:
        id_ = known.id_at(event.label, event.at)
        if id_ is not None and id_ in known.now:
            events.append(replace(event, label=known.now[id_]))
        elif id_ is None or event.label.casefold() not in there or (event.who, event.at) in taken_off:
            events.append(event)
    return replace(issue, state=with_label_history(issue.state, events), label_events=tuple(events))
