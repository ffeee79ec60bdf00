"""First checks, and the differential diagnosis of a bug whose cause is not sure enough to name. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from distriage.answer.playbooks import AXES, check_for, checks_for, playbook_of
from distriage.answer.policy import given_labels, likely_labels
from distriage.answer.verdict import AxisVerdict, Candidate, Differential
from distriage.base.types import Decision, Outcome
from distriage.facts.situation import Situation
from distriage.model.label import meanings
from distriage.model.taxonomy import CAUSE, DISTRIBUTED, SYMPTOM, Taxonomy

LEAST_CAUSE = 0.03  # probability below which a cause is not worth naming
LEAST_CHECK = 0.25  # and below which it is not worth a check
LEAST_SYMPTOM = 0.7  # below it no check is given: a third of those were useful (training/LOG.md, 2026-11-29)


def with_labels(
    situation: Situation, axes: Mapping[str, Decision] | Mapping[str, AxisVerdict], taxonomy: Taxonomy
) -> Situation:
    """The situation, completed from the labels: suggestions of how the model is used, a sure `distributed: no`."""
    means = meanings(taxonomy.labels_of(likely_labels(axes)).values())
    several = given_labels(axes).get(DISTRIBUTED)
    return situation.at(means, several=None if several is None else several == "true")


def differential(
    axes: Mapping[str, Decision] | Mapping[str, AxisVerdict],
    ranked: Sequence[tuple[str, float]],
    taxonomy: Taxonomy,
    situation: Situation,
    right_among: float | None,
) -> Differential | None:
    """The likeliest causes, the first with its check.

    Args:
        ranked: Causes with their probabilities, the likeliest first.
        right_among: How often the right cause is among the three likeliest; measured on reports with enough detail.

    Returns:
        None if the cause is given or does not apply, or if the report does not allow any.
    """
    cause, symptom = axes.get(CAUSE), axes.get(SYMPTOM)
    if cause is None or cause.outcome not in {Outcome.SUGGEST, Outcome.ABSTAIN} or cause.silence is not None:
        return None
    least = LEAST_CHECK if _allows_checks(axes) else math.inf
    sure = symptom.label if symptom is not None and symptom.outcome is Outcome.APPLY else None
    return Differential(
        causes=[
            Candidate(
                label=label,
                probability=round(p, 4),
                check=check_for(taxonomy, label, sure, situation) if place == 0 and p >= least else None,
            )
            for place, (label, p) in enumerate(ranked[:3])
            if p >= LEAST_CAUSE
        ],
        right_among=right_among,
    )


def checks_of(
    axes: Mapping[str, Decision] | Mapping[str, AxisVerdict],
    taxonomy: Taxonomy,
    situation: Situation,
    rivals: Differential | None,
) -> list[str]:
    """The first check from the playbooks, if any, or the advice of a taxonomy without them.

    Args:
        rivals: The differential diagnosis; its check is enough.
    """
    likely = likely_labels(axes)
    if not any(axis in AXES and playbook_of(taxonomy, axis, label) for axis, label in likely.items()):
        return list(filter(None, (taxonomy.axes[axis].label(label).advice for axis, label in likely.items())))
    if not _allows_checks(axes) or (rivals is not None and any(cause.check for cause in rivals.causes)):
        return []
    if CAUSE in likely and axes[CAUSE].outcome is not Outcome.APPLY:
        del likely[CAUSE]  # it is for the differential diagnosis
    return checks_for(taxonomy, likely, situation)


def _allows_checks(axes: Mapping[str, Decision] | Mapping[str, AxisVerdict]) -> bool:
    """Whether the symptom is likely enough for a check."""
    return SYMPTOM not in axes or axes[SYMPTOM].probability >= LEAST_SYMPTOM
