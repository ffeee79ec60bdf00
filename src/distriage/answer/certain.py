"""Certainties about a report that outrank the model's scores: by its tracker, and by its other labels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from distriage.answer.policy import family_scores
from distriage.base.types import AxisScores, Decision, Outcome, Prediction
from distriage.facts.projects import Project
from distriage.facts.situation import Situation
from distriage.model.taxonomy import CAUSE, DISTRIBUTED, Taxonomy

_LEAST_MASS = 0.5  # of the causes that a fix presupposes


def by_tracker(prediction: Prediction, project: Project | None) -> Prediction:
    """A prediction, corrected by the annotation guide's rules for everything filed in a project's tracker.

    Args:
        project: None for an unknown tracker.
    """
    if project is None:
        return prediction
    if project.in_domain:
        prediction = replace(prediction, in_domain=True, surely_in_domain=True)
    if project.distributed and DISTRIBUTED in prediction.scores:
        sure = AxisScores(DISTRIBUTED, {"true": 1.0, "false": 0.0})
        prediction = replace(prediction, scores={**prediction.scores, DISTRIBUTED: sure})
    return prediction


def corrected(
    decisions: Mapping[str, Decision],
    prediction: Prediction,
    taxonomy: Taxonomy,
    project: Project | None,
    situation: Situation,
) -> dict[str, Decision]:
    """Decisions, corrected by the tracker's certainties, and without fixes whose causes are unlikely.

    Args:
        prediction: After `by_tracker`.
        situation: As read; no fix of the framework is given if the traceback ends in the reporter's own code.
    """
    done = dict(decisions)
    several = done.get(DISTRIBUTED)
    if project is not None and project.distributed and several is not None and several.silence is None:
        why = f"whatever is filed with {project.name} concerns several processes"
        done[DISTRIBUTED] = replace(several, outcome=Outcome.APPLY, reason=why)
    for axis, decision in decisions.items():
        label = taxonomy.axes[axis].label(decision.label)
        if decision.outcome is Outcome.APPLY and label.shown_by and situation.seen.isdisjoint(label.shown_by):
            done[axis] = replace(decision, outcome=Outcome.SUGGEST, reason="the report does not show it")
        if decision.outcome is Outcome.APPLY and not situation.seen.isdisjoint(label.excluded_by):
            done[axis] = replace(decision, outcome=Outcome.SUGGEST, reason="what the report shows speaks against it")
        causes = label.of_causes
        if not causes or decision.outcome is not Outcome.APPLY or CAUSE not in prediction.scores:
            continue
        scores = prediction.scores[CAUSE]
        families = family_scores(taxonomy.axes[CAUSE], scores)
        mass = sum(families.get(cause, scores.probabilities.get(cause, 0.0)) for cause in causes)
        if mass < _LEAST_MASS:
            done[axis] = replace(decision, outcome=Outcome.SUGGEST, reason="the likeliest causes are mended otherwise")
        elif "own-frame" in situation.seen:
            why = "the traceback ends in the reporter's own code"
            done[axis] = replace(decision, outcome=Outcome.SUGGEST, reason=why)
    return done
