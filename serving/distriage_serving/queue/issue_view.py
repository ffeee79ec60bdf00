"""An issue's page beside the report: axes with labels to choose from, own labels, planned changes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from distriage.answer.feedback import own_axis
from distriage.answer.verdict import AxisVerdict, Verdict
from distriage.base.types import Outcome
from distriage.model.taxonomy import Axis, Taxonomy
from distriage_serving.planning.types import Change
from distriage_serving.queue.listing import LIKELY, display_name, first_said, percent
from distriage_serving.store import Review, StoredVerdict

MAX_LABELS: Final = 7  # have a key; 8 and 9 are the two choices below
NONE: Final = "none-of-these"
OPEN: Final = "left-open"
OTHER: Final = "another"


@dataclass(frozen=True, slots=True)
class Choice:
    """One label, or `none of these`, or `leave it open`."""

    number: int
    value: str
    name: str
    definition: str
    percent: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class AxisView:
    """One axis with its choices.

    Attributes:
        outcome: The model's, or `decided`: a person chose the shown label.
        reviewed: Who decided it, and whether the model was right; or empty.
        shown: The present choice.
        probability, percent: The model's for its label; 0 and empty if a person decided.
        model: The model's label, if a person chose; else empty.
        first: The model's first answer, if a second reader disagrees; else empty.
        perhaps: Undecided, and the model is not sure: left open when another axis is corrected.
        others: Family -> (label, name) of the labels without a key.
        stored: Accept stores that choice.
    """

    id: str
    name: str
    question: str
    said: AxisVerdict
    outcome: str
    shown: str
    probability: float
    percent: str
    model: str
    family_percent: str
    choices: Sequence[Choice]
    others: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    stored: bool
    perhaps: bool
    reviewed: str
    first: str


def settled(
    axes: Mapping[str, AxisVerdict], taxonomy: Taxonomy, standing: Mapping[str, Review]
) -> dict[str, AxisVerdict]:
    """A verdict's axes; one that a person's decision on another axis rules out does not apply."""
    found = dict(axes)
    decided = {axis: review.label for axis, review in standing.items()}
    for axis in found.keys() & taxonomy.axes.keys() - standing.keys():
        if (unmet := taxonomy.unmet(axis, decided)) is not None:
            found[axis] = found[axis].model_copy(update={"outcome": Outcome.NOT_APPLICABLE, "reason": unmet})
    return found


def view_axes(verdict: Verdict, taxonomy: Taxonomy, standing: Mapping[str, Review]) -> list[AxisView]:
    """All axes of a verdict that the taxonomy still knows."""
    return [
        _view(taxonomy.axes[axis_id], said, taxonomy, standing.get(axis_id))
        for axis_id, said in settled(verdict.axes, taxonomy, standing).items()
        if axis_id in taxonomy.axes
    ]


def default_choice(said: AxisVerdict) -> str:
    """The choice made by accepting the verdict on an axis: its label if that is at least likely."""
    return said.label if said.outcome in {"apply", "suggest"} else OPEN


def shown_choice(said: AxisVerdict, person: Review | None) -> str:
    """A page's first choice on an axis: a person's decision, else the verdict's."""
    return default_choice(said) if person is None else person.label or NONE


def is_perhaps(said: AxisVerdict) -> bool:
    """Whether its label is only perhaps right: a suggestion, or the best guess of the mode `best`."""
    return said.outcome == "suggest" or (said.outcome == "apply" and said.probability < LIKELY)


def _view(axis: Axis, said: AxisVerdict, taxonomy: Taxonomy, person: Review | None) -> AxisView:
    chosen = shown_choice(said, person)
    likeliest = [item.label for item in said.top if item.label in axis.label_ids]
    family = next((label.family for label in axis.labels if label.id == said.label), None)
    siblings = axis.families.get(family, ()) if family is not None else axis.label_ids
    numbered = list(dict.fromkeys([*likeliest, *siblings]))[:MAX_LABELS]
    if chosen in axis.label_ids and chosen not in numbered:
        numbered = [*numbered[: MAX_LABELS - 1], chosen]
    applies = said.outcome != "not-applicable"
    is_models = applies and person is None
    probabilities = {item.label: item.probability for item in said.top}
    choices = [
        Choice(
            place,
            label,
            display_name(taxonomy, axis.id, label),
            axis.label(label).definition,
            percent(probabilities[label]) if label in probabilities else "",
            label == chosen,
        )
        for place, label in enumerate(numbered, 1)
    ]
    choices.append(Choice(MAX_LABELS + 1, NONE, "None of these", "No label of this axis fits.", "", chosen == NONE))
    choices.append(Choice(MAX_LABELS + 2, OPEN, "Leave open", "Decide nothing on this axis.", "", chosen == OPEN))
    rest = [label for label in axis.labels if label.id in axis.label_ids and label.id not in numbered]
    others: dict[str, list[tuple[str, str]]] = {}
    for label in rest:
        others.setdefault(label.family or axis.name, []).append((label.id, label.name))
    shown = {
        NONE: "None of these",
        OPEN: f"Not sure; {display_name(taxonomy, axis.id, said.label)}?" if applies else "Does not apply",
    }
    return AxisView(
        id=axis.id,
        name=axis.name,
        question=axis.question or axis.name,
        said=said,
        outcome=said.outcome if person is None else "decided",
        shown=shown.get(chosen) or display_name(taxonomy, axis.id, chosen),
        probability=said.probability if is_models else 0.0,
        percent=percent(said.probability) if is_models else "",
        model="" if person is None else display_name(taxonomy, axis.id, said.label),
        family_percent=percent(said.family_probability or 0.0),
        choices=choices,
        others=list(others.items()),
        stored=chosen != OPEN,
        perhaps=person is None and is_perhaps(said),
        reviewed=_reviewed(person),
        first=first_said(taxonomy, axis.id, said),
    )


def _reviewed(person: Review | None) -> str:
    """Who decided, and whether the model was right when this person looked."""
    if person is None:
        return ""
    return f"{'right' if person.label == person.predicted_label else 'corrected'}: {person.who}"


@dataclass(frozen=True, slots=True)
class OwnChoice:
    """One of the repository's own labels, as a box to tick.

    Attributes:
        reviewed: Who decided it, and whether the heads were right; or empty.
    """

    label: str
    percent: str
    ticked: bool
    reviewed: str


def view_own(verdict: Verdict | None, standing: Mapping[str, Review]) -> list[OwnChoice]:
    """The own labels in a verdict; given or confirmed ones are ticked."""
    found = []
    for own in (verdict.own or ()) if verdict is not None else ():
        person = standing.get(own_axis(own.label))
        ticked = own.applied if person is None else person.label is not None
        found.append(OwnChoice(own.label, percent(own.probability), ticked, _reviewed(person)))
    return found


@dataclass(frozen=True, slots=True)
class PlanView:
    """Planned changes of an issue that are not made.

    Attributes:
        waiting: Changes held back by a dry run or a broken configuration.
        refused: A sentence on each change that GitHub refused.
        owners: Whom to assign it to, and the configuration's key for that.
    """

    waiting: Sequence[str]
    refused: Sequence[str]
    owners: Sequence[tuple[str, str]] = ()


def view_plan(stored: StoredVerdict | None) -> PlanView:
    """The rest of the latest plan."""
    plan = (stored.plan if stored is not None else None) or {}
    waiting = [str(Change(*change)) for change in plan.get("changes", ())] if plan.get("dry_run") else []
    return PlanView(waiting, plan.get("refused", ()), [(who, key) for who, key in plan.get("owners", ())])


def question_of(stored: StoredVerdict | None) -> str:
    """A question to the author for all that the report lacks, Markdown; empty if it lacks nothing."""
    missing = [f"- {one.question}" for one in stored.verdict.missing] if stored is not None else []
    return "\n".join(["Could you add this? It would help us to find the cause.", "", *missing]) if missing else ""
