"""Scores -> decisions. Pure.

A label is applied only where its probability reaches the threshold at which labels were right as often as the mode asks for
on held-out reports. Below, the label becomes a suggestion or an abstention, and its family is named where the probability mass
spreads over siblings.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from distriage.bundle import AxisCalibration
from distriage.taxonomy import Axis, Taxonomy
from distriage.types import AxisScores, Decision, Outcome, Prediction


class Mode(StrEnum):
    """How sure a label must be: always the likeliest, right in about 80 %, right in about 90 % of the cases."""

    BEST = "best"
    BALANCED = "balanced"
    PRECISE = "precise"


PRECISION: Mapping[Mode, str] = {Mode.BALANCED: "0.80", Mode.PRECISE: "0.90"}
SUGGESTION_PRECISION = "0.50"


def decide(prediction: Prediction, calibration: Mapping[str, AxisCalibration], taxonomy: Taxonomy, mode: Mode = Mode.BALANCED) -> dict[str, Decision]:
    """Decide every axis.

    Args:
        prediction: Scores of all axes of the taxonomy.
        calibration: Axis id -> thresholds of the bundle that made the prediction.
        taxonomy: The bundle's taxonomy.
        mode: The precision wanted.

    Returns:
        Axis id -> decision, in the taxonomy's order.
    """
    return {axis.id: _decide_axis(axis, prediction, calibration[axis.id], mode) for axis in taxonomy.axes.values()}


def family_scores(axis: Axis, scores: AxisScores) -> dict[str, float]:
    """Probability of each family: the sum over its labels."""
    return {family: sum(scores.probabilities[label] for label in labels) for family, labels in axis.families.items()}


def _decide_axis(axis: Axis, prediction: Prediction, calibration: AxisCalibration, mode: Mode) -> Decision:
    scores = prediction.scores[axis.id]
    (label, probability), runner_up = scores.ranked()[:2]
    families = family_scores(axis, scores)
    family = axis.label(label).family

    def decision(outcome: Outcome, reason: str, sure_family: str | None = None) -> Decision:
        return Decision(axis.id, outcome, label, probability, runner_up, sure_family, families.get(family or ""), reason)

    if axis.requires is not None:
        other, wanted = axis.requires
        given = prediction.scores[other].ranked()[0][0]
        if given != wanted:
            return decision(Outcome.NOT_APPLICABLE, f"{other} is {given}")
    if mode is Mode.BEST:
        return decision(Outcome.APPLY, "likeliest label")
    target = PRECISION[mode]
    threshold = calibration.thresholds[target].get(label)
    if threshold is not None and probability >= threshold:
        return decision(Outcome.APPLY, f"at or above {threshold:.2f}, where this label was right in {float(target):.0%} of held-out reports")
    sure_family = None
    if family is not None:
        family_threshold = calibration.family_thresholds[target].get(family)
        if family_threshold is not None and families[family] >= family_threshold:
            sure_family = family
    needed = f"below {threshold:.2f}" if threshold is not None else f"no threshold reaches {float(target):.0%} for this label"
    suggestion = calibration.thresholds[SUGGESTION_PRECISION].get(label)
    if suggestion is not None and probability >= suggestion:
        return decision(Outcome.SUGGEST, f"{needed}; more likely right than not", sure_family)
    return decision(Outcome.ABSTAIN, needed, sure_family)
