"""People's decisions about an issue: read from its label history, and handed to the plan. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from distriage.answer.feedback import own_label
from distriage.answer.verdict import AxisVerdict
from distriage_serving.configuration.names import Names
from distriage_serving.github.issue import ReadIssue, with_label_history
from distriage_serving.github.timeline import LabelEvent
from distriage_serving.planning.types import IssueState
from distriage_serving.store import Backfilled, LabelNames, Review

# Labels set by an issue form come with the issue, in its author's name, and are not a review.
TEMPLATE_S: Final = 5.0
STEP_S: Final = 0.001
CLOCKS_S: Final = 60.0  # GitHub's and ours may be so far apart
# Our pace and GitHub's own limit may each hold a write of `distriage backfill` back for an hour.
WRITTEN_WITHIN_S: Final = 2 * 3600.0
_NO_NAMES: Final = LabelNames({})
_DECISIONS: Final = frozenset({"queue", "command"})


@dataclass(frozen=True, slots=True)
class Observed:
    """A person set or took off a label of an axis.

    Attributes:
        meant: Possible meanings of the label: labels of the axis; None among them: a family.
        sure: The name means one label of one axis and nothing else.
        at: Unix time in seconds. GitHub's are whole; fractions separate one person's changes of one axis within a
            second, as one person has one review of an axis at one time.
    """

    axis: str
    how: Literal["label", "unlabel"]
    meant: frozenset[str | None]
    sure: bool
    who: str
    at: float
    undone: bool = False

    def review(self, said: AxisVerdict | None) -> tuple[str | None, str | None] | None:
        """(the right label, the model's label), judged by the verdict on the axis; None if it tells nothing.

        A name for several of our labels confirms the model's label or says nothing, as the person's choice is unknown.
        """
        given = said.label if said is not None else None
        if self.sure:
            (label,) = self.meant
            return (label, given) if self.how == "label" else (None, label or given)
        if given is None or given not in self.meant:
            return None
        return (given if self.how == "label" else None), given


def with_backfilled(issue: ReadIssue, noted: Iterable[Backfilled], account: str | None) -> ReadIssue:
    """The issue with changes by `distriage backfill` in a person's name as ours, and everything else as the person's
    own.

    GitHub's history does not tell the two apart. But backfill notes each change before making it, if the issue needs
    it: so the first such event in the person's name soon after is backfill's, and every other one is the person's.

    Args:
        account: The person whose token read the issue, so that all their changes look like ours; None for the App.
    """
    left = list(noted)
    events: list[LabelEvent] = []
    for event in issue.label_events:
        note = next((note for note in left if _is_noted(event, note)), None)
        if note is not None:
            left.remove(note)
            events.append(replace(event, by="us"))
        else:
            events.append(replace(event, by="person") if event.by == "us" and account is not None else event)
    return replace(issue, state=with_label_history(issue.state, events), label_events=tuple(events))


def _is_noted(event: LabelEvent, note: Backfilled) -> bool:
    is_same = (event.added, event.who) == (note.added, note.who) and event.label.casefold() == note.label.casefold()
    return is_same and -CLOCKS_S <= event.at - note.at <= WRITTEN_WITHIN_S


def observe(issue: ReadIssue, names: Names) -> list[Observed]:
    """An issue's label history, oldest first: labels that a person set, and Distriage's that a person took off. A label
    deleted from the repository left all issues at once, which says nothing about any.
    """
    there = {label.casefold() for label in issue.labels_there}
    seen: list[Observed] = []
    by_us: set[str] = set()
    at_once: Counter[tuple[str, str, str, float]] = Counter()
    last: dict[str, list[int]] = {}  # name -> places in `seen` of a person's latest meanings of it
    for event in issue.label_events:
        name = event.label.casefold()
        meanings = names.meanings(name)
        was_by_us = name in by_us
        (by_us.add if event.added and (event.by == "us" or event.approved) else by_us.discard)(name)
        if event.approved:  # a review of its own
            last.pop(name, None)
            continue
        if event.by != "person" or _is_template(event, issue):
            continue
        taken_back = last.pop(name, [])
        for place in taken_back:
            seen[place] = replace(seen[place], undone=True)
        if not event.added and (not was_by_us or taken_back or name not in there):
            continue
        last[name] = []
        for axis in sorted({axis for axis, _ in meanings}):
            meant = frozenset(label for other, label in meanings if other == axis)
            if event.added and meant == {None}:  # a family: no label of ours
                continue
            last[name].append(len(seen))
            how: Literal["label", "unlabel"] = "label" if event.added else "unlabel"
            same = (axis, how, event.who, event.at)
            at = event.at + STEP_S * at_once[same]
            at_once[same] += 1
            seen.append(Observed(axis, how, meant, len(meanings) == 1, event.who, at))
    return seen


def _is_template(event: LabelEvent, issue: ReadIssue) -> bool:
    return event.who == issue.state.author and event.at - issue.created_at <= TEMPLATE_S


def is_decided(seen: Observed, was: str | None, reviews: Iterable[Review], names: Names) -> bool:
    """Whether a removed label was already decided against, so that the standing decision says more than the removal.

    Args:
        reviews: Those of the issue that stand, by time.
    """
    before = [review for review in reviews if review.axis == seen.axis and review.at <= seen.at]
    if seen.how != "unlabel" or not before or before[-1].how not in _DECISIONS:
        return False
    return not _is_one(seen.axis, was, before[-1].label, names)


def with_decisions(
    issue: ReadIssue, reviews: Iterable[Review], names: Names, known: LabelNames = _NO_NAMES
) -> IssueState:
    """The issue's state, with decisions by command and in the queue.

    Args:
        reviews: All of the issue, including undone ones, by time. The last standing one on an axis counts; a later
            label by hand overrules it, and so does taking off the decided label.
        names: Say which axes are labelled; they and own labels are handed to the plan.
        known: Say what own labels are called today.
    """
    # Own labels have no reviews of changes by hand: the history says whether one was taken off later.
    taken_off = {
        event.label.casefold(): event.at for event in issue.label_events if event.by == "person" and not event.added
    }
    decided: dict[str, str | None] = {}
    withdrawn: dict[str, set[str]] = {}
    for review in reviews:
        axis = known.axis_now(review.axis, review.at)
        label = (own_label(axis) or review.label) if review.label is not None else None
        if review.undone_at is not None:
            if review.how in _DECISIONS and label is not None:
                withdrawn.setdefault(axis, set()).add(label)
        elif review.how in _DECISIONS:
            if review.at >= taken_off.get((own_label(axis) or "").casefold(), 0.0):
                decided[axis] = label
        elif review.how in {"label", "approve"}:
            decided.pop(axis, None)
        elif axis in decided and _is_one(axis, review.predicted_label, decided[axis], names):
            decided[axis] = None
    return replace(
        issue.state,
        decided={axis: label for axis, label in decided.items() if axis in names.axes or own_label(axis) is not None},
        withdrawn={axis: frozenset(labels) for axis, labels in withdrawn.items()},
    )


def _is_one(axis: str, label: str | None, other: str | None, names: Names) -> bool:
    """Whether two labels of an axis are the same, or have one name in the repository."""
    known = names.axes[axis].labels if axis in names.axes else {}
    one, two = known.get(label or ""), known.get(other or "")
    return label == other or (one is not None and two is not None and one.name.casefold() == two.name.casefold())
