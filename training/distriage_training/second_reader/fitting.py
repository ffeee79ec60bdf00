"""Annotated reports and a second reader's answers to them -> a calibration. Pure.

The exponents of `calibration.py` are those of maximum likelihood. Accuracy and thresholds are measured on probabilities
that were fitted without the report in question (two folds), so that the fit does not flatter itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distriage.answer.policy import FLOOR, PRECISION
from distriage.second_reader.answer import Shares
from distriage.second_reader.calibration import AxisFusion, fuse, reader_scores

MIN_REPORTS: Final = 50  # of one axis; with fewer nothing is promised
RISK: Final = 0.3  # chance that a threshold is set although its precision falls short, as for the first reader
EXPONENTS: Final = tuple(round(0.05 * step, 2) for step in range(31))  # 0 to 1.5
_LEAST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Example:
    """One axis of one annotated report that both readers answered.

    Attributes:
        first: Label -> the first reader's probability.
        shares: The second reader's answer.
        group: Such as the report's origin; promises hold in each group.
    """

    first: Mapping[str, float]
    shares: Shares
    truth: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Calibration of one axis, and its benefit.

    Attributes:
        first_right, both_right: Share of the reports whose likeliest label is the annotated one.
        given: Wanted precision -> share of all reports, those of "none of these" too, that get a label in that mode by
            both readers; absent without a threshold.
    """

    fusion: AxisFusion
    first_right: float
    both_right: float
    given: Mapping[str, float]


def fit_axis(examples: Sequence[Example], none: int = 0) -> Fitted | None:
    """Fit one axis; None with fewer than `MIN_REPORTS` examples.

    A promise is made only if it holds over all reports and in each group of `MIN_REPORTS` or more.

    Args:
        none: Number of further reports, whose answer was "none of these".
    """
    if len(examples) < MIN_REPORTS:
        return None
    halves = [examples[place::2] for place in (0, 1)]
    joined: list[_Joined] = []
    for half, other in (halves, halves[::-1]):
        first, second = _exponents(other)
        fusion = AxisFusion(first=first, second=second)
        for example in half:
            probabilities = fuse(example.first, example.shares, fusion)
            label = max(probabilities, key=probabilities.__getitem__)
            # Cut, not rounded: at or above a threshold of four places means the same.
            cut = math.floor(probabilities[label] * 1e4) / 1e4
            joined.append(_Joined(cut, label == example.truth, example.group))
    found = {target: _threshold_of_groups(joined, float(target)) for target in PRECISION.values()}
    thresholds = {target: least for target, least in found.items() if least is not None}
    first, second = _exponents(examples)
    alone = [max(example.first, key=example.first.__getitem__) == example.truth for example in examples]
    return Fitted(
        AxisFusion(first=first, second=second, thresholds=thresholds, reports=len(examples)),
        sum(alone) / len(examples),
        sum(answer.right for answer in joined) / len(examples),
        {
            target: sum(answer.probability >= max(thresholds[target], FLOOR[mode]) for answer in joined)
            / (len(examples) + none)
            for mode, target in PRECISION.items()
            if target in thresholds
        },
    )


class _Joined(NamedTuple):
    """The likeliest label out of both readers: its probability, whether it is right, and the report's group."""

    probability: float
    right: bool
    group: str


def _threshold_of_groups(answers: Sequence[_Joined], target: float) -> float | None:
    """The highest of the thresholds for all reports and for each large group; None if any of these lacks one."""
    sizes = Counter(answer.group for answer in answers)
    highest = 0.0
    for group in (None, *(group for group, size in sizes.items() if size >= MIN_REPORTS)):
        part = [(answer.probability, answer.right) for answer in answers if group in {None, answer.group}]
        least = threshold_for(part, target)
        if least is None:
            return None
        highest = max(highest, least)
    return highest


def threshold_for(answers: Sequence[tuple[float, bool]], target: float) -> float | None:
    """Least probability at and above which answers are right in at least `target` of the cases; None where none is.

    By an exact binomial test at `RISK`.

    Args:
        answers: Probability, and whether the answer is right.
    """
    ordered = sorted(answers, key=lambda answer: -answer[0])
    least, wrong = None, 0
    for number, (probability, right) in enumerate(ordered, 1):
        wrong += not right
        is_last_of_equals = number == len(ordered) or ordered[number][0] < probability
        if is_last_of_equals and binomial_cdf(wrong, number, 1 - target) <= RISK:
            least = probability
    return least


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """Probability of at most `successes` successes."""
    of_all = math.lgamma(trials + 1)
    terms = (
        of_all
        - math.lgamma(count + 1)
        - math.lgamma(trials - count + 1)
        + count * math.log(chance)
        + (trials - count) * math.log1p(-chance)
        for count in range(successes + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def _exponents(examples: Sequence[Example]) -> tuple[float, float]:
    """The exponents under which the annotated labels are likeliest; a convex problem of two numbers, so a grid will
    do."""
    own = _logs([np.array(list(example.first.values())) for example in examples])
    other = _logs([reader_scores(example.first, example.shares) for example in examples])
    truth = np.array([list(example.first).index(example.truth) for example in examples])
    rows = np.arange(len(examples))

    def loss(exponents: tuple[float, float]) -> float:
        joined = exponents[0] * own + exponents[1] * other
        top = joined.max(1, keepdims=True)
        return float((np.log(np.exp(joined - top).sum(1)) + top[:, 0] - joined[rows, truth]).mean())

    return min(product(EXPONENTS, EXPONENTS), key=loss)


def _logs(probabilities: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.log(np.maximum(np.stack(probabilities), _LEAST))
