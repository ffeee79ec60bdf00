"""What people decided about an issue: read from its label history, and handed to the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from distriage.feedback import own_label
from distriage.verdict import AxisVerdict
from distriage_serving.github.issue import LabelEvent, ReadIssue
from distriage_serving.planning.names import Names
from distriage_serving.planning.types import IssueState
from distriage_serving.store import Review

# Labels that an issue form sets come with the issue, in its author's name, and are nobody's review.
TEMPLATE_S: Final = 5.0
_DECISIONS: Final = frozenset({"queue", "command"})


@dataclass(frozen=True, slots=True)
class Observed:
    """A person set or took off a label of an axis.

    Attributes:
        meant: What the label may say: labels of the axis; None among them: a family.
        sure: The name means one label of one axis and nothing else.
        undone: It was taken back later.
    """

    axis: str
    how: Literal["label", "unlabel"]
    meant: frozenset[str | None]
    sure: bool
    who: str
    at: float
    undone: bool = False

    def review(self, said: AxisVerdict | None) -> tuple[str | None, str | None] | None:
        """(the right label, the label that the model had given) by what was said of the axis; None: it tells nothing.

        A name that stands for several of our labels confirms the model's label, or says nothing: nobody knows which
        one the person meant.
        """
        given = said.label if said is not None else None
        if self.sure:
            (label,) = self.meant
            return (label, given) if self.how == "label" else (None, label or given)
        if given is None or given not in self.meant:
            return None
        return (given if self.how == "label" else None), given


def observe(issue: ReadIssue, names: Names) -> list[Observed]:
    """What an issue's label history says, oldest first: labels that a person set, and Distriage's that a person took
    off.
    """
    seen: list[Observed] = []
    by_us: set[str] = set()
    last: dict[str, list[int]] = {}  # name -> places in `seen` of what a person last said by it
    for event in issue.label_events:
        name = event.label.casefold()
        meanings = names.meanings(name)
        if not meanings:
            continue
        was_by_us = name in by_us
        (by_us.add if event.by == "us" and event.added else by_us.discard)(name)
        if event.by != "person" or _is_template(event, issue):
            continue
        taken_back = last.pop(name, [])
        for place in taken_back:
            seen[place] = replace(seen[place], undone=True)
        if not event.added and (not was_by_us or taken_back):
            continue
        last[name] = []
        for axis in sorted({axis for axis, _ in meanings}):
            meant = frozenset(label for other, label in meanings if other == axis)
            if event.added and meant == {None}:  # a family: no label of ours
                continue
            last[name].append(len(seen))
            seen.append(
                Observed(axis, "label" if event.added else "unlabel", meant, len(meanings) == 1, event.who, event.at)
            )
    return seen


def _is_template(event: LabelEvent, issue: ReadIssue) -> bool:
    return event.who == issue.state.author and event.at - issue.created_at <= TEMPLATE_S


def with_decisions(state: IssueState, reviews: Iterable[Review], names: Names) -> IssueState:
    """The state with what commands and the queue say.

    Args:
        reviews: All of the issue, undone ones too, by time. The last that holds on an axis counts; a label set or taken
            off by hand overrules what was decided before it.
        names: Says which axes are labelled; they and own labels are handed to the plan.
    """
    decided: dict[str, str | None] = {}
    withdrawn: dict[str, set[str]] = {}
    for review in reviews:
        if review.undone_at is None:
            if review.how in _DECISIONS or (review.how == "unlabel" and review.axis in decided):
                decided[review.axis] = review.label
            elif review.how == "label":
                decided.pop(review.axis, None)
        elif review.how in _DECISIONS and review.label is not None:
            withdrawn.setdefault(review.axis, set()).add(review.label)
    return replace(
        state,
        decided={axis: label for axis, label in decided.items() if axis in names.axes or own_label(axis) is not None},
        withdrawn={axis: frozenset(labels) for axis, labels in withdrawn.items()},
    )
