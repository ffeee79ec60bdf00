"""The first verdict and the second reader's answer -> the completed verdict. Pure.

Only the axes asked about can change, and with the kind those that apply to one kind alone. A label of the second reader
is given only if a calibration says that labels of that probability were right often enough; otherwise it is at most a
suggestion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from distriage.answer.differential import checks_of, differential, with_labels
from distriage.answer.policy import (
    FLOOR,
    SUGGESTED_FROM,
    SUGGESTION_PRECISION,
    WHY_SILENT,
    domain_silence,
    family_scores,
    measured_precision,
    outcome_of,
    unsure_of,
)
from distriage.answer.verdict import (
    AxisVerdict,
    FirstReading,
    LabelProbability,
    SecondReading,
    Verdict,
)
from distriage.base.types import AxisScores, Mode, Outcome, Prediction, Silence
from distriage.facts.situation import ORDINARY, Situation
from distriage.model.taxonomy import CAUSE, Axis, Taxonomy
from distriage.second_reader.answer import Shares
from distriage.second_reader.calibration import AxisFusion, ReaderCalibration, fuse, says_none

Required = Callable[[str, str], Mode | float]  # axis and its likeliest label -> how sure: a mode, or a probability


def complete(
    verdict: Verdict,
    prediction: Prediction,
    shares: Mapping[str, Shares],
    taxonomy: Taxonomy,
    reader: str,
    calibration: ReaderCalibration | None = None,
    required: Required | None = None,
    situation: Situation = ORDINARY,
) -> Verdict:
    """Put the second reader's answers into a verdict.

    Args:
        prediction: The scores behind `verdict`.
        calibration: Without one, its labels are only suggestions.
        required: How sure a label must be; default: according to the verdict's mode.
    """
    wanted = required or (lambda _axis, _label: verdict.mode)

    def silenced(axis: str, label: str) -> Silence | None:
        return domain_silence(axis, prediction, taxonomy, wanted(axis, label))

    axes: dict[str, AxisVerdict] = {}
    answered = []
    for axis, said in verdict.axes.items():  # required axes come first
        fusion = calibration.axes.get(axis) if calibration is not None else None
        given = shares.get(axis)
        measured = fusion is not None and bool(fusion.thresholds)
        silence = silenced(axis, said.label)
        if silence is not None and said.outcome is Outcome.NOT_APPLICABLE:  # the second reader may see another kind
            said = _silent(said, silence)
        # Only a calibrated reader can overrule a label that the first reader gives.
        # A script that the first reader has not learned may be one that the second has.
        may_change = said.silence in {None, Silence.SCRIPT} and (said.outcome is not Outcome.APPLY or measured)
        if given is not None and not says_none(given) and may_change:
            joined = fuse(prediction.scores[axis].probabilities, given, fusion or AxisFusion())
            label = max(joined, key=joined.__getitem__)
            outcome, reason = _outcome(joined[label], fusion, wanted(axis, label))
            said = _axis(said, joined, outcome, f"{reason}; read by {reader}", taxonomy.axes[axis])
            least = fusion.thresholds if fusion is not None else {}
            said = said.model_copy(update={"precision": measured_precision(joined[label], least)})
            if (silence := silenced(axis, label)) is not None:  # of this label more may be asked
                said = _silent(said, silence)
            answered.append(axis)
        axes[axis] = _where_it_applies(said, axes, axis, taxonomy)
    situation = with_labels(situation, axes, taxonomy)
    ranked = [(item.label, item.probability) for item in axes[CAUSE].top] if CAUSE in axes else []
    another_kind = _applicable(axes) != _applicable(verdict.axes)
    # How often the right cause is among those that both readers rank was not measured.
    rivals = verdict.differential
    if CAUSE in answered or another_kind:
        rivals = differential(axes, ranked, taxonomy, situation, None)
    return verdict.model_copy(
        update={
            "axes": axes,
            "missing": [] if another_kind else verdict.missing,
            "similar": [] if another_kind and verdict.similar else verdict.similar,
            "checks": checks_of(axes, taxonomy, situation, rivals) if answered or another_kind else verdict.checks,
            "differential": rivals,
            "second_reading": SecondReading(reader=reader, axes=answered, note=None),
        }
    )


def _applicable(axes: Mapping[str, AxisVerdict]) -> set[str]:
    return {axis for axis, said in axes.items() if said.outcome is not Outcome.NOT_APPLICABLE}


def _silent(said: AxisVerdict, silence: Silence) -> AxisVerdict:
    return said.model_copy(
        update={"outcome": Outcome.ABSTAIN, "reason": WHY_SILENT[silence], "silence": silence, "family": None}
    )


def _where_it_applies(said: AxisVerdict, axes: Mapping[str, AxisVerdict], axis: str, taxonomy: Taxonomy) -> AxisVerdict:
    """An axis, given both readers' decision on its required axis; as it is if neither could read that."""
    required = taxonomy.axes[axis].requires
    if required is not None and axes[required.axis].silence is Silence.SCRIPT:
        return said
    reason = taxonomy.unmet(axis, {name: one.label for name, one in axes.items()}, unsure_of(axes))
    if reason is not None:
        return said.model_copy(
            update={
                "outcome": Outcome.NOT_APPLICABLE,
                "reason": reason,
                "silence": None,
                "family": None,
                "evidence": None,
            }
        )
    if said.outcome is Outcome.NOT_APPLICABLE:
        return said.model_copy(update={"outcome": Outcome.ABSTAIN, "reason": "the second reader named no label"})
    return said


def keep_first(verdict: Verdict, reader: str, why: str) -> Verdict:
    """The first verdict, with a note why the second reader did not answer."""
    return verdict.model_copy(update={"second_reading": SecondReading(reader=reader, axes=[], note=why)})


def may_be_given(prediction: Prediction, axis: str, shares: Shares, calibration: ReaderCalibration | None) -> bool:
    """Whether an answer is sure enough for a label in any mode."""
    fusion = calibration.axes.get(axis) if calibration is not None else None
    if fusion is None or not fusion.thresholds or says_none(shares):
        return False
    least = max(min(fusion.thresholds.values()), min(FLOOR.values()))
    return max(fuse(prediction.scores[axis].probabilities, shares, fusion).values()) >= least


def _outcome(probability: float, fusion: AxisFusion | None, wanted: Mode | float) -> tuple[Outcome, str]:
    never = "not calibrated to promise more"
    if fusion is None or not fusion.thresholds:
        return Outcome.SUGGEST if probability >= SUGGESTED_FROM else Outcome.ABSTAIN, never
    return outcome_of(probability, {**fusion.thresholds, SUGGESTION_PRECISION: SUGGESTED_FROM}, wanted, never)


def _axis(first: AxisVerdict, joined: Mapping[str, float], outcome: Outcome, reason: str, axis: Axis) -> AxisVerdict:
    ranked = sorted(joined.items(), key=lambda item: -item[1])
    label, probability = ranked[0]
    family = axis.label(label).family
    sure_family = axis.label(first.label).family if first.outcome is Outcome.APPLY else first.family
    is_named = outcome is not Outcome.APPLY and sure_family == family
    family_probability = family_scores(axis, AxisScores(axis.id, joined)).get(family or "")
    return first.model_copy(
        update={
            "outcome": outcome,
            "label": label,
            "probability": round(probability, 4),
            "family": family if is_named else None,
            "family_probability": None if family_probability is None else round(min(1.0, family_probability), 4),
            "reason": reason,
            "silence": None,
            "top": [LabelProbability(label=name, probability=round(p, 4)) for name, p in ranked[:3]],
            "advice": axis.label(label).advice or None,
            "evidence": first.evidence if label == first.label else None,  # those lines spoke for another label
            "read_by": "second-reader",
            "first_reading": FirstReading(outcome=first.outcome, label=first.label, probability=first.probability),
        }
    )
