"""The first verdict and the second reader's answer -> the completed verdict. Pure.

Only the axes that were asked about can change. A label of the second reader is given only where a calibration says
that labels of that probability were right often enough; without one it is at most a suggestion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from distriage.playbooks import check_for, checks_for
from distriage.policy import FLOOR, PRECISION
from distriage.second_reader.answer import Shares
from distriage.second_reader.calibration import AxisFusion, ReaderCalibration, fuse
from distriage.taxonomy import Axis, Taxonomy
from distriage.types import Mode, Outcome, Prediction
from distriage.verdict import (
    CAUSE,
    AxisVerdict,
    Candidate,
    Differential,
    FirstReading,
    LabelProbability,
    SecondReading,
    Verdict,
)

SUGGESTED_FROM = 0.5  # probability
Required = Callable[[str, str], Mode | float]  # axis and its likeliest label -> how sure: a mode, or a probability


def complete(
    verdict: Verdict,
    prediction: Prediction,
    shares: Mapping[str, Shares],
    taxonomy: Taxonomy,
    reader: str,
    calibration: ReaderCalibration | None = None,
    required: Required | None = None,
) -> Verdict:
    """Put the second reader's answers into a verdict.

    Args:
        prediction: The scores behind `verdict`.
        shares: Axis -> what the second reader answered.
        reader: The endpoint's model name.
        calibration: None: its labels are suggestions only.
        required: How sure a label must be; default: as the verdict's mode says.
    """
    wanted = required or (lambda _axis, _label: verdict.mode)
    axes, answered = dict(verdict.axes), []
    for axis, given in shares.items():
        fusion = calibration.axes.get(axis) if calibration is not None else None
        # A label that the first reader gives falls only to one who was measured.
        if axis not in axes or (axes[axis].outcome is Outcome.APPLY and (fusion is None or not fusion.thresholds)):
            continue
        joined = fuse(prediction.scores[axis].probabilities, given, fusion or AxisFusion())
        label = max(joined, key=joined.__getitem__)
        outcome, reason = _outcome(joined[label], fusion, wanted(axis, label))
        axes[axis] = _axis(axes[axis], joined, outcome, f"{reason}; read by {reader}", taxonomy.axes[axis])
        answered.append(axis)
    sure = {axis: said.label for axis, said in axes.items() if said.outcome in {Outcome.APPLY, Outcome.SUGGEST}}
    return verdict.model_copy(
        update={
            "axes": axes,
            "checks": checks_for(taxonomy, sure) or verdict.checks,
            "differential": _differential(axes, taxonomy) if CAUSE in answered else verdict.differential,
            "second_reading": SecondReading(reader=reader, axes=answered, note=None),
        }
    )


def keep_first(verdict: Verdict, reader: str, why: str) -> Verdict:
    """The first verdict as it was, with a note why the second reader did not answer."""
    return verdict.model_copy(update={"second_reading": SecondReading(reader=reader, axes=[], note=why)})


def may_be_given(prediction: Prediction, axis: str, shares: Shares, calibration: ReaderCalibration | None) -> bool:
    """Whether an answer is sure enough for a label in any mode."""
    fusion = calibration.axes.get(axis) if calibration is not None else None
    if fusion is None or not fusion.thresholds:
        return False
    least = max(min(fusion.thresholds.values()), min(FLOOR.values()))
    return max(fuse(prediction.scores[axis].probabilities, shares, fusion).values()) >= least


def _outcome(probability: float, fusion: AxisFusion | None, wanted: Mode | float) -> tuple[Outcome, str]:
    below = Outcome.SUGGEST if probability >= SUGGESTED_FROM else Outcome.ABSTAIN
    if fusion is None or not fusion.thresholds:
        return below, "not calibrated to promise more"
    if wanted is Mode.BEST:
        return Outcome.APPLY, "the likeliest label"
    if isinstance(wanted, float):
        if probability >= wanted:
            return Outcome.APPLY, f"at or above the configured {wanted:.2f}"
        return below, f"below the configured {wanted:.2f}"
    target = PRECISION[wanted]
    threshold = fusion.thresholds.get(target)
    if threshold is None:
        return below, "not calibrated to promise more"
    needed = max(threshold, FLOOR[wanted])
    if probability >= needed:
        right = f"{float(target):.0%} of such answers were right"
        return Outcome.APPLY, f"at least {needed:.2f}: on held-out reports, {right}"
    return below, f"not sure enough: {wanted} needs {needed:.2f}"


def _axis(first: AxisVerdict, joined: Mapping[str, float], outcome: Outcome, reason: str, axis: Axis) -> AxisVerdict:
    ranked = sorted(joined.items(), key=lambda item: -item[1])
    label, probability = ranked[0]
    return first.model_copy(
        update={
            "outcome": outcome,
            "label": label,
            "probability": round(probability, 4),
            "family": None if outcome is Outcome.APPLY else first.family,
            "reason": reason,
            "top": [LabelProbability(label=name, probability=round(p, 4)) for name, p in ranked[:3]],
            "advice": axis.label(label).advice or None,
            "evidence": first.evidence if label == first.label else None,  # those lines spoke for another label
            "read_by": "second-reader",
            "first_reading": FirstReading(outcome=first.outcome, label=first.label, probability=first.probability),
        }
    )


def _differential(axes: Mapping[str, AxisVerdict], taxonomy: Taxonomy) -> Differential | None:
    """The causes as both readers rank them; how often the right one is among these was not measured."""
    cause, symptom = axes[CAUSE], axes.get("symptom")
    if cause.outcome is Outcome.APPLY:
        return None
    sure = symptom.label if symptom is not None and symptom.outcome is Outcome.APPLY else None
    return Differential(
        causes=[
            Candidate(label=item.label, probability=item.probability, check=check_for(taxonomy, item.label, sure))
            for item in cause.top
        ],
        right_among=None,
    )
