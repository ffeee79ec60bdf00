"""When the nearest issue is the same one. Pure.

A logistic regression on the nearest earlier issue of each report of 31 repositories, of which a reader judged the
likeliest (`python training/research duplicates`; method in training/LOG.md). The signs of the same issue are its lead
over the second nearest, since all issues of a series, or from empty forms, are about equally near; and the same error
lines, where few other issues have them. Issues filed within hours of each other under titles that differ in a word are
mostly of a series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from distriage.recipe.features import words

FEW = 2  # earlier issues that have an error line which names one failure
SERIES_DAYS = 2
SPOKEN = 0.65  # from this probability on, the named issue was the same in `RIGHT` (fitted to other repositories)
RIGHT = 0.83
HOW_OFTEN = f"of pairs this alike, {RIGHT:.0%} were the same issue"  # in words, wherever people are told
MEASURED = 0.5  # less likely ones were hardly judged
_OFFSET, _WEIGHTS = -8.33, (6.08, 9.68, -0.26, -4.48, 2.88)  # of `signs`


@dataclass(frozen=True, slots=True)
class Alike:
    """How alike a report and the nearest past issue are.

    Attributes:
        cosine: Between the encoder's vectors.
        ahead: By how much the issue is nearer than any other, where the reports' words weigh less (`LEAD_WORDS`).
        days: Between the two.
        titles: From `titles_alike`.
        errors: Most of their error lines are the same, and one of those is in few issues.
    """

    cosine: float
    ahead: float
    days: float
    titles: float = 0.0
    errors: bool = False


def titles_alike(one: str, other: str) -> float:
    """Share of words that two titles share, from 0 to 1; 0 for the same title, which says nothing of a series."""
    listed, others = words(one), words(other)
    if listed == others:
        return 0.0
    return 2 * len({*listed} & {*others}) / (len({*listed}) + len({*others}))


def signs(alike: Alike) -> tuple[float, float, float, float, float]:
    """The numbers that are weighted."""
    series = alike.titles * max(0.0, 1 - alike.days / SERIES_DAYS)
    return alike.cosine, alike.ahead, math.log1p(alike.days), series, float(alike.errors)


def likelihood(alike: Alike) -> float | None:
    """Probability that the nearest past issue is the same one; None if it is too small to be measured."""
    odds = _OFFSET + sum(weight * sign for weight, sign in zip(_WEIGHTS, signs(alike), strict=True))
    same = 1 / (1 + math.exp(-odds))
    return same if same >= MEASURED else None


def is_spoken_of(same: float | None) -> bool:
    """Whether a past issue may be called a likely duplicate."""
    return same is not None and same >= SPOKEN
