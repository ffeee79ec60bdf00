"""The probability from which a label is right often enough, with a stated guarantee. Pure.

Learn then Test (Angelopoulos et al., 2021, "Learn then Test: Calibrating Predictive Algorithms to Achieve Risk
Control"), fixed-sequence testing with several starts: from each start on the thresholds are tried, the strictest first,
each with an exact binomial test of "the precision is below the wanted one" (its dual is the Clopper-Pearson bound), and
the first that fails ends the search. The starts share the risk of being wrong. So the chosen threshold has at least the
wanted precision with the stated confidence, however many were tried, provided that later issues are labelled as those
were that it was tested on. This holds for one kind of features; `learn` chooses the kind by the same held-out issues,
which the confidence does not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

LEAST_PROBABILITY = 0.5  # a label that is likelier wrong than right is never given, however right the surest ones are
# Times the first count. With a single start, a chance error among the surest decisions costs the label.
STARTS = (1, 2)
STEP = 1.1  # each candidate decides on a tenth more issues than the one before


@dataclass(frozen=True, slots=True)
class Promise:
    """A threshold's promise: a precision and how surely it holds; both between 0 and 1."""

    precision: float
    confidence: float

    @property
    def least_decisions(self) -> int:
        """The fewest decisions, all right, that show it."""
        return math.ceil(math.log(1 - self.confidence) / math.log(self.precision) - 1e-9)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A minimum probability, and its test.

    Attributes:
        probability: The least at which the label is given.
        given, right: Decisions on issues held out.
        bound: Lower Clopper-Pearson bound of the precision, at the promised confidence.
    """

    probability: float
    given: int
    right: int
    bound: float


def lower_bound(right: int, given: int, confidence: float) -> float:
    """One-sided lower bound of a share (Clopper and Pearson, 1934); 0 if nothing is right."""
    return float(beta.ppf(1 - confidence, right, given - right + 1)) if right else 0.0


def first_count(probabilities: NDArray[np.floating], promise: Promise) -> int:
    """How many decisions the strictest threshold makes.

    It follows from how often the label is expected, not from which decisions are right, so that the test stays valid.
    Fewer would end the search at the first chance error.
    """
    return max(2 * promise.least_decisions, int(float(probabilities.sum()) / 4))


def find_threshold(probabilities: NDArray[np.floating], truth: NDArray[np.bool_], promise: Promise) -> Threshold | None:
    """The lowest threshold that passes, if any.

    Args:
        probabilities: Of the label, on issues unseen by the model, [issues].
        truth: Whether people gave it, [issues].
    """
    order = np.argsort(-probabilities, kind="stable")
    ranked, right = probabilities[order], np.cumsum(truth[order], dtype=np.int64)
    first, share = first_count(probabilities, promise), (1 - promise.confidence) / len(STARTS)
    found = [_search(ranked, right, times * first, replace(promise, confidence=1 - share)) for times in STARTS]
    return max(filter(None, found), key=lambda one: one.given, default=None)


def _search(ranked: NDArray[np.floating], right: NDArray[np.int64], count: int, promise: Promise) -> Threshold | None:
    """The last threshold that passes with `count` or more decisions.

    Args:
        ranked: Probabilities, the highest first, [issues].
        right: How many of the first decisions are right, [issues].
    """
    found = None
    while count <= len(ranked):
        while count < len(ranked) and ranked[count] == ranked[count - 1]:
            count += 1  # equal probabilities are decided alike
        if ranked[count - 1] < LEAST_PROBABILITY:
            break
        hits = int(right[count - 1])
        if binom.sf(hits - 1, count, promise.precision) > 1 - promise.confidence:
            break
        found = Threshold(float(ranked[count - 1]), count, hits, lower_bound(hits, count, promise.confidence))
        count = max(count + 1, int(count * STEP))
    return found
