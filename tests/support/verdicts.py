"""Verdicts without a model, for tests of what is done with them."""

from __future__ import annotations

from distriage.answer.verdict import AxisVerdict, LabelProbability, MissingFact, Verdict
from distriage.base.types import Mode
from distriage.model.taxonomy import default_taxonomy

LIKELIEST = {
    "kind": "bug",
    "distributed": "true",
    "stage": "training-evaluation",
    "symptom": "runtime-hang",
    "cause": "rank-desynchronization",
    "fix": "framework-patch",
}


def axis_verdict(axis: str, label: str | None = None, outcome: str = "apply", family: str | None = None) -> AxisVerdict:
    """A verdict on one axis."""
    label = label or LIKELIEST[axis]
    other = next(item for item in default_taxonomy().axes[axis].label_ids if item != label)
    top = [LabelProbability(label=label, probability=0.9), LabelProbability(label=other, probability=0.1)]
    return AxisVerdict.model_validate(
        {
            "outcome": outcome,
            "label": label,
            "probability": 0.9,
            "family": family,
            "family_probability": 0.95 if family else None,
            "reason": "a reason",
            "top": top,
            "advice": None,
        }
    )


def make_verdict(
    *axes: AxisVerdict, missing: tuple[str, ...] = (), environment: dict[str, str | int] | None = None, **outcomes: str
) -> Verdict:
    """A verdict on all axes: `apply` on each unless `outcomes` says otherwise, or `axes` holds one for its label."""
    said = {axis: axis_verdict(axis, outcome=outcomes.get(axis, "apply")) for axis in default_taxonomy().axes}
    for axis in axes:
        said[next(name for name, known in default_taxonomy().axes.items() if axis.label in known.label_ids)] = axis
    return Verdict(
        id="owner/repo#1",
        title="A hang",
        model="toy",
        taxonomy_version=default_taxonomy().version,
        mode=Mode.BALANCED,
        axes=said,
        environment=environment or {},
        missing=[MissingFact(fact=fact, question=f"Which {fact}?") for fact in missing],
        known_problems=[],
        checks=["Run `py-spy dump` on every rank."],
    )
