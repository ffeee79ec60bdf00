"""How much an issue needs a person: impact x uncertainty x age, as one number that never has to be computed again. Pure.

    needs = log2(impact x uncertainty) - created_at / 60 days

Waiting doubles the need every 60 days. Since that doubles for all issues at once, the order of two issues never changes with time, so it can be an index.

impact       weight of the kind x weight of the symptom's family x 1.5 if it concerns several processes
uncertainty  1 - mean probability of the likeliest labels, over the axes that apply; at least 0.01, 1 where nothing was predicted
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from distriage.taxonomy import default_taxonomy
from distriage.verdict import Verdict

DOUBLING_S: Final = 60 * 86400
_KIND: Final[Mapping[str, float]] = {"question": 0.5, "feature": 0.25, "other": 0.25}
_SYMPTOM_FAMILY: Final[Mapping[str, float]] = {
    "correctness": 2.0,
    "execution": 2.0,
    "memory": 1.5,
    "setup": 1.5,
}  # hours of many devices lost, or wrong results
_DISTRIBUTED: Final = 1.5
_LEAST_UNCERTAINTY: Final = 0.01


def needs(verdict: Verdict | None, created_at: float) -> float:
    """See above; larger is more.

    Args:
        verdict: None: not classified yet.
    """
    if verdict is None:
        return _score(1.0, 1.0, created_at)
    said = [axis.probability for axis in verdict.axes.values() if axis.outcome != "not-applicable"]
    uncertainty = 1 - math.fsum(said) / len(said) if said else 1.0
    return _score(_impact(verdict), max(_LEAST_UNCERTAINTY, uncertainty), created_at)


def _score(impact: float, uncertainty: float, created_at: float) -> float:
    return math.log2(impact * uncertainty) - created_at / DOUBLING_S


def _impact(verdict: Verdict) -> float:
    labels = {axis: said.label for axis, said in verdict.axes.items() if said.outcome != "not-applicable"}
    symptom = default_taxonomy().axes["symptom"]
    families = {label: family for family, members in symptom.families.items() for label in members}
    family = families.get(labels.get("symptom", ""), "")
    return _KIND.get(labels.get("kind", ""), 1.0) * _SYMPTOM_FAMILY.get(family, 1.0) * (_DISTRIBUTED if labels.get("distributed") == "true" else 1.0)
