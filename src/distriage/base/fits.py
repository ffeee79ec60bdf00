"""A fitted logistic regression: whether a line, a version or the like is right. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from distriage.base.validation import Strict


class Fit(Strict):
    """A fitted logistic regression.

    Attributes:
        least: Probability below which nothing is shown.
        bias: Log odds where all measures are 0.
        weights: Measure -> its addition to the log odds, for each unit.
    """

    least: float
    bias: float
    weights: Mapping[str, float]

    def probability(self, measured: Mapping[str, float]) -> float:
        """The probability that something is right; an absent measure counts as 0."""
        odds = self.bias + sum(value * self.weights.get(name, 0.0) for name, value in measured.items())
        return 1 / (1 + math.exp(-odds))
