"""Figures of the charts: precision by label, coverage, drift. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from distriage.base.intervals import Share
from distriage.base.svg import Frame, polyline
from distriage_serving.store import WEEK_S, AxisCount, Review, week_of

BASELINE_WEEKS: Final = 8
FEW: Final = 5  # issues judged: a share of fewer is folded away
MOST_CONFUSED: Final = 10
MIN_ISSUES: Final = 10  # of a week, before its labels are compared
OUTCOMES: Final = ("apply", "suggest", "abstain")


@dataclass(frozen=True, slots=True)
class LabelPrecision:
    """How often people agreed with a label."""

    label: str
    right: Share


def precision(reviews: Iterable[Review], axis: str) -> list[LabelPrecision]:
    """By predicted label, the most judged first; the latest standing review of an issue's axis counts."""
    judged: dict[str, list[bool]] = {}
    for item in _latest(reviews, axis):
        judged.setdefault(item.predicted_label or "", []).append(item.label == item.predicted_label)
    found = [LabelPrecision(label, Share(sum(rights), len(rights))) for label, rights in judged.items()]
    return sorted(found, key=lambda item: (-item.right.n, item.label))


def confusions(reviews: Iterable[Review], axis: str) -> list[tuple[str, str, int]]:
    """The model's label, a person's other one, and on how many issues; the commonest first."""
    pairs = Counter((item.predicted_label or "", item.label or "") for item in _latest(reviews, axis))
    wrong = [(said, right, count) for (said, right), count in pairs.items() if right not in {"", said}]
    return sorted(wrong, key=lambda item: (-item[2], item[:2]))


def _latest(reviews: Iterable[Review], axis: str) -> Iterable[Review]:
    """The latest standing review of each issue's axis on which the model had an answer."""
    latest: dict[tuple[str, int], Review] = {}
    for item in reviews:
        if item.axis == axis and item.undone_at is None and item.predicted_label is not None:
            latest[(item.repository, item.number)] = item
    return latest.values()


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of outcomes, in the order of `OUTCOMES`, among the issues to which an axis applies."""

    axis: str
    count: int
    shares: Sequence[float]


def coverage(counts: Iterable[AxisCount]) -> list[Coverage]:
    """Axis by axis, in the order of the counts."""
    totals: dict[str, dict[str, int]] = {}
    for item in counts:
        if item.outcome in OUTCOMES:
            by_outcome = totals.setdefault(item.axis, dict.fromkeys(OUTCOMES, 0))
            by_outcome[item.outcome] += item.count
    return [
        Coverage(axis, sum(by.values()), [by[outcome] / sum(by.values()) for outcome in OUTCOMES])
        for axis, by in totals.items()
        if sum(by.values())
    ]


@dataclass(frozen=True, slots=True)
class Week:
    """One week of one axis.

    Attributes:
        covered: Share of issues with a sure label; None without issues.
        drift: Jensen-Shannon distance of its labels, or their families, from those of the weeks before, 0 (the same) to
            1; None for too few issues on either side.
        chance: The distance expected by chance with this few issues.
    """

    day: str
    count: int
    covered: float | None
    drift: float | None
    chance: float | None


def weeks(counts: Iterable[AxisCount], axis: str, families: Mapping[str, str], now: float, length: int) -> list[Week]:
    """The last `length` weeks, the oldest first.

    Args:
        families: Label -> what is compared instead: a week has too few issues for dozens of labels.
    """
    labels: dict[int, dict[str, int]] = {}
    sure: dict[int, int] = {}
    for item in counts:
        if item.axis == axis and item.outcome in OUTCOMES:
            of_week = labels.setdefault(item.week_at, {})
            compared = families.get(item.label, item.label)
            of_week[compared] = of_week.get(compared, 0) + item.count
            sure[item.week_at] = sure.get(item.week_at, 0) + (item.count if item.outcome == "apply" else 0)
    monday = week_of(now)
    found = []
    for start in range(monday - (length - 1) * WEEK_S, monday + 1, WEEK_S):
        this = labels.get(start, {})
        before: dict[str, int] = {}
        for earlier in range(start - BASELINE_WEEKS * WEEK_S, start, WEEK_S):
            for label, count in labels.get(earlier, {}).items():
                before[label] = before.get(label, 0) + count
        count = sum(this.values())
        day = datetime.fromtimestamp(start, UTC).strftime("%d %b")
        drift = (
            (distance(this, before), chance(this, before))
            if min(count, sum(before.values())) >= MIN_ISSUES
            else (None, None)
        )
        found.append(Week(day, count, sure[start] / count if count else None, *drift))
    return found


def distance(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Jensen-Shannon distance, base 2, of two counts that are not empty."""
    total_one, total_other = sum(one.values()), sum(other.values())
    divergence = 0.0
    for label in {*one, *other}:
        p, q = one.get(label, 0) / total_one, other.get(label, 0) / total_other
        middle = (p + q) / 2
        divergence += sum(share * math.log2(share / middle) for share in (p, q) if share) / 2
    return math.sqrt(max(0.0, divergence))


def chance(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Mean Jensen-Shannon distance of two samples of these sizes from one distribution, to second order."""
    degrees = len({*one, *other}) - 1
    return min(1.0, math.sqrt(degrees * (1 / sum(one.values()) + 1 / sum(other.values())) / (8 * math.log(2))))


FRAME: Final = Frame(700, 204, left=44, right=16, top=12, bottom=32)


def plot(
    title: str, days: Sequence[str], values: Sequence[float | None], shown: str, chance: Sequence[float | None] = ()
) -> Markup:
    """Values between 0 and 1, one per week, as a line with a dot per week; empty without values.

    Args:
        shown: Format of a value beside the chart, such as `{:.0%}`.
        chance: A second, dashed line.
    """
    step = 1 / max(1, len(values) - 1)
    dots = [
        Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="3.5"><title>week of {}: {:.0%}</title></circle>').format(
            FRAME.x(place * step), FRAME.y(value), day, value
        )
        for place, (day, value) in enumerate(zip(days, values, strict=True))
        if value is not None
    ]
    if not dots:
        return Markup("")
    lines = [polyline(kind, run) for kind, row in (("chance", chance), ("line", values)) for run in FRAME.runs(row)]
    parts = [*FRAME.grid(2, shown.format), *FRAME.names_below(days, 6), *lines, *dots]
    return FRAME.svg(f"{title}; the table below has the figures", parts, "plot")
