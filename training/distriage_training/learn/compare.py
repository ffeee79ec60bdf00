"""New heads against earlier ones, on the same issues, unseen by both. Pure.

The rule is that of `distriage promote`: worse only where the whole 95 % interval of the difference says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distriage.github.listed import ListedIssue
from distriage.own.features import OwnFeatures
from distriage.own.labels import OwnLabels
from distriage_training.learn.examples import newest
from distriage_training.learn.fit import Bools, Floats, Learned
from distriage_training.learn.measure import LIKELIER_THAN_NOT
from distriage_training.measure.scoring import direction_of

MIN_ISSUES = 20  # with fewer that have the label, a row is shown and decides nothing
ALL = "all labels"
DRAWS = 2000
SEED = 7


@dataclass(frozen=True, slots=True)
class Row:
    """Both heads on one label, or on all labels known to both.

    Attributes:
        issues: Held-out issues that have it.
        before, now: F1, giving each label that is likelier than not.
        given_before, given_now: (right, given) from the thresholds on.
        interval: 95 % interval of `now` minus `before` (paired bootstrap over issues).
    """

    label: str
    issues: int
    before: float
    now: float
    given_before: tuple[int, int]
    given_now: tuple[int, int]
    interval: tuple[float, float]

    @property
    def outcome(self) -> str:
        """`better`, `worse` or neither, by `direction_of`."""
        return direction_of(self.interval, self.issues >= MIN_ISSUES)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows, all labels together first.

    Attributes:
        issues: Held out: filed after those that the earlier heads were learned from.
    """

    issues: int
    rows: tuple[Row, ...]

    @property
    def worse(self) -> list[str]:
        """Where the new heads are worse; they may be used if empty."""
        return [row.label for row in self.rows if row.outcome == "worse"]


def held_out(issues: Sequence[ListedIssue], previous: OwnLabels) -> int:
    """Where the deciding issues begin: the newest fifth, without issues that the earlier heads learned from."""
    seen = sum(issue.created_at <= previous.manifest.until for issue in issues)
    return max(seen, newest(len(issues)))


def compare(
    previous: OwnLabels, learned: Learned, names: Sequence[str], rows: Sequence[OwnFeatures], truth: Bools
) -> Comparison:
    """Ask both about the held-out issues.

    Args:
        learned: From the issues before them, as the new heads were.
        names: Of its labels.
        rows: Of the held-out issues.
        truth: Which of the labels each has, [held out, labels].
    """
    known = {head.name: place for place, head in enumerate(previous.manifest.labels)}
    common = [place for place, name in enumerate(names) if name in known]
    if not common or not rows:
        return Comparison(len(rows), ())
    theirs = [known[names[place]] for place in common]
    heads = [previous.manifest.labels[place] for place in theirs]
    before = _Decisions.of(
        np.array([previous.probabilities(features) for features in rows])[:, theirs],
        [head.threshold for head in heads],
    )
    now = _Decisions.of(
        learned.probabilities(rows)[:, common],
        [None if one is None else one.probability for one in (learned.thresholds[place] for place in common)],
    )
    has = truth[:, common]
    times = np.random.default_rng(SEED).multinomial(len(has), np.full(len(has), 1 / len(has)), size=DRAWS)
    columns = [(ALL, slice(None)), *((names[place], slice(column, column + 1)) for column, place in enumerate(common))]
    return Comparison(
        len(rows),
        tuple(_row(name, before.part(some), now.part(some), has[:, some], times) for name, some in columns),
    )


@dataclass(frozen=True, slots=True)
class _Decisions:
    """Labels of each issue: likelier than not, and given; [issues, labels] each."""

    likely: Bools
    given: Bools

    @classmethod
    def of(cls, probabilities: Floats, thresholds: Sequence[float | None]) -> _Decisions:
        least = np.array([np.inf if one is None else one for one in thresholds])
        return cls(probabilities >= LIKELIER_THAN_NOT, probabilities >= least)

    def part(self, some: slice) -> _Decisions:
        return _Decisions(self.likely[:, some], self.given[:, some])

    def right(self, has: Bools) -> tuple[int, int]:
        """(right, given)."""
        return int((self.given & has).sum()), int(self.given.sum())


def _row(label: str, before: _Decisions, now: _Decisions, has: Bools, times: NDArray[np.int64]) -> Row:
    once = np.ones((1, len(has)), np.int64)
    difference = _f1(now.likely, has, times) - _f1(before.likely, has, times)
    low, high = np.percentile(difference, [2.5, 97.5])
    return Row(
        label,
        int(has.any(1).sum()),
        float(_f1(before.likely, has, once)[0]),
        float(_f1(now.likely, has, once)[0]),
        before.right(has),
        now.right(has),
        (float(low), float(high)),
    )


def _f1(said: Bools, has: Bools, times: NDArray[np.int64]) -> Floats:
    """Micro-F1 of each draw; `times` says how often a draw takes each issue: [draws]."""
    hits, both = times @ (said & has).sum(1), times @ (said.sum(1) + has.sum(1))
    return np.asarray(2 * hits / np.maximum(1, both))
