"""What people decided about an issue: read from its label history, and handed to the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from distriage.taxonomy import Taxonomy
from distriage_serving.github_state import LabelEvent, ReadIssue
from distriage_serving.plan_types import IssueState
from distriage_serving.repo_config import RepositoryConfig, family_name, label_name
from distriage_serving.store import PersonVerdict

TEMPLATE_S: Final = 5.0  # labels that an issue form sets come with the issue, in its author's name, and are nobody's verdict
_DECISIONS: Final = frozenset({"queue", "command"})


@dataclass(frozen=True, slots=True)
class Observed:
    """A person set or took off a label of an axis.

    Attributes:
        label: The label set; None: one of ours was taken off.
        taken_off: That label, or None where it was a family's.
        undone: It was taken back later.
    """

    axis: str
    how: Literal["label", "unlabel"]
    label: str | None
    taken_off: str | None
    who: str
    at: float
    undone: bool = False


def observe(issue: ReadIssue, config: RepositoryConfig, taxonomy: Taxonomy) -> list[Observed]:
    """The verdicts that lie in an issue's label history, oldest first: a label that a person set, and one of Distriage's that a person took off."""
    meanings = _meanings(config, taxonomy)
    seen: list[Observed] = []
    by_us: set[str] = set()
    last: dict[str, int] = {}  # name -> place in `seen` of what a person last said of it

    def take_back(name: str) -> bool:
        place = last.pop(name, None)
        if place is not None:
            seen[place] = replace(seen[place], undone=True)
        return place is not None

    for event in issue.label_events:
        name = event.label.casefold()
        if name not in meanings:
            continue
        axis, label = meanings[name]
        was_by_us = name in by_us
        (by_us.add if event.by == "us" and event.added else by_us.discard)(name)
        if event.by != "person" or _is_template(event, issue):
            continue
        taken_back = take_back(name)
        said = Observed(axis, "label" if event.added else "unlabel", label if event.added else None, None if event.added else label, event.who, event.at)
        if (event.added and label is not None) or (not event.added and was_by_us and not taken_back):
            last[name] = len(seen)
            seen.append(said)
    return seen


def _is_template(event: LabelEvent, issue: ReadIssue) -> bool:
    return event.who == issue.state.author and event.at - issue.created_at <= TEMPLATE_S


def _meanings(config: RepositoryConfig, taxonomy: Taxonomy) -> Mapping[str, tuple[str, str | None]]:
    """Name in the repository -> axis and label; None: a family."""
    names: dict[str, tuple[str, str | None]] = {}
    for axis in taxonomy.axes.values():
        settings = config.axis(axis.id)
        if settings is not None:
            names.update({family_name(axis, settings, family).casefold(): (axis.id, None) for family in axis.families})
            names.update({label_name(axis, settings, label).casefold(): (axis.id, label) for label in axis.label_ids})
    return names


def with_decisions(state: IssueState, verdicts: Iterable[PersonVerdict]) -> IssueState:
    """The state with what commands and the queue say.

    Args:
        verdicts: All of the issue, undone ones too, by time. The last that stands on an axis holds; a label set or taken off by hand overrules what was
            decided before it.
    """
    decided: dict[str, str | None] = {}
    withdrawn: dict[str, set[str]] = {}
    for verdict in verdicts:
        if verdict.undone_at is None:
            if verdict.how in _DECISIONS or (verdict.how == "unlabel" and verdict.axis in decided):
                decided[verdict.axis] = verdict.label
            elif verdict.how == "label":
                decided.pop(verdict.axis, None)
        elif verdict.how in _DECISIONS and verdict.label is not None:
            withdrawn.setdefault(verdict.axis, set()).add(verdict.label)
    return replace(state, decided=decided, withdrawn={axis: frozenset(labels) for axis, labels in withdrawn.items()})
