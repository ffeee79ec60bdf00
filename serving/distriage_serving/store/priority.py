"""An issue's need for a person: impact x uncertainty x age, as one number that never has to be computed again. Pure.

    priority = log2(impact x uncertainty) - created_at / 60 days (+ 1,000 where two readers differ)

Waiting doubles the need every 60 days. Since that doubles for all issues at once, the order of two issues never
changes with time, so it can be an index.

Readers who disagree need a person most: such issues come before all others.

impact       product of the weights that the taxonomy gives the likeliest labels, over the axes that apply
uncertainty  1 - mean probability of those labels; at least 0.01, 1 if no model has read the issue
"""

from __future__ import annotations

import math
from typing import Final

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute

from distriage.answer.verdict import AxisVerdict, Verdict
from distriage.base.types import Outcome
from distriage.model.taxonomy import Taxonomy

DOUBLING_S: Final = 60 * 86400
_LEAST_UNCERTAINTY: Final = 0.01
_DIFFER: Final = 1000.0  # more than age, impact and uncertainty can make up for


def priority(verdict: Verdict, created_at: float, taxonomy: Taxonomy) -> float:
    """See above; larger is more.

    Args:
        taxonomy: That of the verdict; it has the weights.
    """
    said = [axis.probability for axis in _applicable(verdict).values()]
    uncertainty = 1 - math.fsum(said) / len(said) if said else 1.0
    score = _score(_impact(verdict, taxonomy), max(_LEAST_UNCERTAINTY, uncertainty), created_at)
    return score + _DIFFER if any(axis.readers_differ for axis in verdict.axes.values()) else score


def unread_priority(created_at: float) -> float:
    """That of an issue that is not classified yet."""
    return _score(1.0, 1.0, created_at)


def readers_differ(priority: InstrumentedAttribute[float]) -> ColumnElement[bool]:
    """Whether two readers differ, for WHERE: impact and age alone give no positive number."""
    return priority > 0


def _score(impact: float, uncertainty: float, created_at: float) -> float:
    return math.log2(impact * uncertainty) - created_at / DOUBLING_S


def _impact(verdict: Verdict, taxonomy: Taxonomy) -> float:
    return math.prod(
        taxonomy.axes[axis].weight(said.label) for axis, said in _applicable(verdict).items() if axis in taxonomy.axes
    )


def _applicable(verdict: Verdict) -> dict[str, AxisVerdict]:
    return {axis: said for axis, said in verdict.axes.items() if said.outcome is not Outcome.NOT_APPLICABLE}
