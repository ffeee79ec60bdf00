"""Scores -> decisions. Pure.

A label is applied only if its probability reaches the threshold at which labels were right as often as the mode asks
for on held-out reports, and never below the mode's floor. Below, it becomes a suggestion or an abstention, and its
family is named if the probability spreads over siblings. A report from outside the model's domain gets only its kind,
one in a script that the model has not learned not even that and, without an error that can be read, nothing; one that
says next to nothing gets no cause and no fix, or not even what happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from distriage.base.types import AxisScores, Decision, Detail, Mode, Outcome, Prediction, Silence, Unlearned
from distriage.model.bundle import AxisCalibration
from distriage.model.taxonomy import Axis, Taxonomy

PRECISION: Mapping[Mode, str] = {Mode.BALANCED: "0.80", Mode.PRECISE: "0.90"}
# Thresholds hold on average over the labels above them; a label just above a low one is likelier wrong than right by
# its own probability, and deserves no trust.
FLOOR: Mapping[Mode, float] = {Mode.BALANCED: 0.5, Mode.PRECISE: 0.7}
SUGGESTION_PRECISION = "0.50"
SUGGESTED_FROM = 0.5  # if a probability is configured
WHY_SILENT: Mapping[Silence, str] = {
    Silence.FOREIGN: "this does not read like a report about distributed deep learning; no labels but its kind",
    Silence.PERHAPS_FOREIGN: "this may not be about distributed deep learning; precise gives no labels but its kind",
    Silence.THIN: "the report says too little for anybody to know; ask for what is missing",
    Silence.SCRIPT: "much of the report is in a script that the model has not learned; a person has to read it",
    Silence.NO_FAILURE: "the report tells of no failure: a chore, news, a notice about security, or a picture alone",
}


def decide(
    prediction: Prediction,
    calibration: Mapping[str, AxisCalibration],
    taxonomy: Taxonomy,
    mode: Mode = Mode.BALANCED,
    own_modes: Mapping[str, Mode | float] | None = None,
    *,
    detail: Detail = Detail.ENOUGH,
    no_failure: bool = False,
    unlearned: Unlearned = Unlearned.LITTLE,
) -> dict[str, Decision]:
    """Decide every axis.

    Args:
        prediction: Scores of all axes of the taxonomy.
        calibration: Axis id -> thresholds of the bundle that made the prediction.
        own_modes: Axis -> its own mode, or the probability that is wanted in place of one.
        detail: A report that says too little of what happens gets no cause and no fix, or nothing beyond its kind and
            scope.
        no_failure: Whether it is a chore, news, a notice or a picture: labels of how something fails are not for it.
        unlearned: How much of it is in a script that the model has not learned: with `WORDS` it gets neither a kind nor
            a label that depends on its field, with `ALL` no label at all.

    Returns:
        Axis id -> decision, in the taxonomy's order.
    """
    decisions: dict[str, Decision] = {}
    likeliest = {axis_id: scores.ranked()[0][0] for axis_id, scores in prediction.scores.items()}
    too_thin = detail < Detail.ENOUGH and all(taxonomy.unmet(axis, likeliest) is None for axis in taxonomy.axes)
    for axis in taxonomy.axes.values():
        own_mode = (own_modes or {}).get(axis.id, mode)
        silence = domain_silence(axis.id, prediction, taxonomy, own_mode)
        unknown = axis.needs_detail or (detail is Detail.NOTHING and axis.requires is not None)
        if too_thin and (silence is Silence.FOREIGN or (silence is None and unknown)):
            silence = Silence.THIN  # too little to tell its field, too
        in_words = axis.id in taxonomy.roots or silence is Silence.FOREIGN
        if unlearned is Unlearned.ALL or (unlearned is Unlearned.WORDS and in_words):
            silence = Silence.SCRIPT
        if no_failure and axis.requires is not None:
            silence = Silence.NO_FAILURE
        unmet = taxonomy.unmet(axis.id, likeliest, unsure_of(decisions)) if silence is not Silence.SCRIPT else None
        decisions[axis.id] = _decide_axis(
            axis, prediction.scores[axis.id], calibration[axis.id], own_mode, unmet, silence
        )
    return decisions


def domain_silence(axis: str, prediction: Prediction, taxonomy: Taxonomy, mode: Mode | float) -> Silence | None:
    """Why an axis gets no label, if the report is or may be of another field."""
    if axis in taxonomy.roots:
        return None
    if not prediction.in_domain:
        return Silence.FOREIGN
    return Silence.PERHAPS_FOREIGN if mode is Mode.PRECISE and not prediction.surely_in_domain else None


def reaches(probability: float, wanted: float) -> bool:
    """Whether a probability reaches a configured one, at four digits, as people see it."""
    return round(probability, 4) >= wanted


def family_scores(axis: Axis, scores: AxisScores) -> dict[str, float]:
    """Probability of each family: the sum over its labels."""
    return {family: sum(scores.probabilities[label] for label in labels) for family, labels in axis.families.items()}


def outcome_of(
    probability: float, thresholds: Mapping[str, float | None], wanted: Mode | float, never: str
) -> tuple[Outcome, str]:
    """The outcome that the probability of a label allows, and why.

    Args:
        thresholds: Precision target -> the lowest probability that meets it; None or absent: none does.
        wanted: How sure the label must be: a mode, or a probability.
        never: Message for a target that no probability meets.
    """
    if wanted is Mode.BEST:
        return Outcome.APPLY, "the likeliest label"
    if not isinstance(wanted, Mode):
        if reaches(probability, wanted):
            return Outcome.APPLY, f"at or above the configured {wanted:.2f}"
        return _suggested(probability, SUGGESTED_FROM), f"below the configured {wanted:.2f}"
    target, reason = PRECISION[wanted], never
    if (threshold := thresholds.get(target)) is not None:
        needed = max(threshold, FLOOR[wanted])
        if probability >= needed:
            right = f"at least {float(target):.0%} were right on held-out reports"
            return Outcome.APPLY, f"at least {needed:.2f}: from there on, {right}"
        reason = f"{wanted} needs {needed:.2f} for this label"
    return _suggested(probability, thresholds.get(SUGGESTION_PRECISION)), reason


def measured_precision(probability: float, thresholds: Mapping[str, float | None]) -> float | None:
    """The lower bound of the share of labels from this probability on that were right on held-out reports, if measured.

    Args:
        thresholds: As for `outcome_of`; the modes' floors hold too.
    """
    met = [0.0]
    for target, least in thresholds.items():
        floor = max((FLOOR[mode] for mode, named in PRECISION.items() if named <= target), default=0.0)
        if least is not None and probability >= max(least, floor):
            met.append(float(target))
    return max(met) or None


def _suggested(probability: float, least: float | None) -> Outcome:
    return Outcome.SUGGEST if least is not None and probability >= least else Outcome.ABSTAIN


def _decide_axis(
    axis: Axis,
    scores: AxisScores,
    calibration: AxisCalibration,
    mode: Mode | float,
    unmet: str | None,
    silence: Silence | None,
) -> Decision:
    label, probability = scores.ranked()[0]
    families = family_scores(axis, scores)
    family = axis.label(label).family

    def decision(outcome: Outcome, reason: str, sure_family: str | None = None) -> Decision:
        return Decision(axis.id, outcome, label, probability, sure_family, families.get(family or ""), reason)

    if unmet is not None:
        return decision(Outcome.NOT_APPLICABLE, unmet)
    if silence is not None:
        return replace(decision(Outcome.ABSTAIN, WHY_SILENT[silence]), silence=silence)
    thresholds = {target: least.get(label) for target, least in calibration.thresholds.items()}
    never = f"on held-out reports this label was never right often enough for {mode}"
    outcome, reason = outcome_of(probability, thresholds, mode, never)
    if outcome is Outcome.APPLY:
        return decision(outcome, reason)
    if isinstance(mode, Mode) and outcome is Outcome.SUGGEST and probability > SUGGESTED_FROM:
        reason += "; still more likely right than not"
    return decision(outcome, reason, family if _is_sure(families, family, calibration, mode) else None)


def _is_sure(
    families: Mapping[str, float], family: str | None, calibration: AxisCalibration, mode: Mode | float
) -> bool:
    """Whether a family may be named although its label may not."""
    if family is None:
        return False
    target, floor = (PRECISION[mode], FLOOR[mode]) if isinstance(mode, Mode) else (PRECISION[Mode.BALANCED], mode)
    threshold = calibration.family_thresholds[target].get(family)
    return threshold is not None and families[family] >= max(threshold, floor)


class _Decided(Protocol):
    @property
    def outcome(self) -> Outcome: ...
    @property
    def label(self) -> str: ...


def given_labels(axes: Mapping[str, _Decided]) -> dict[str, str]:
    """Axis -> its label, if given."""
    return {axis: said.label for axis, said in axes.items() if said.outcome is Outcome.APPLY}


def unsure_of(axes: Mapping[str, _Decided]) -> frozenset[str]:
    """The axes whose label is not given."""
    return frozenset(axes) - given_labels(axes).keys()


def likely_labels(axes: Mapping[str, _Decided]) -> dict[str, str]:
    """Axis -> its label, if given or suggested."""
    enough = {Outcome.APPLY, Outcome.SUGGEST}
    return {axis: said.label for axis, said in axes.items() if said.outcome in enough}
