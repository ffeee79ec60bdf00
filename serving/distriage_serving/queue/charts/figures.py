"""Figures of the charts: backlog and decisions, precision by label, coverage, drift. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median
from typing import Final

from markupsafe import Markup

from distriage.answer.feedback import OWN_AXIS
from distriage.base.intervals import Share
from distriage.base.svg import Frame, polyline
from distriage_serving.store import WEEK_S, AxisCount, Review, Wait, week_of

DAY_S: Final = 86400
BASELINE_WEEKS: Final = 8
FEW: Final = 5  # issues judged: a share of fewer is folded away
MOST_CONFUSED: Final = 10
MIN_ISSUES: Final = 10  # of a week, before its labels are compared
OUTCOMES: Final = ("apply", "suggest", "abstain")


@dataclass(frozen=True, slots=True)
class TeamWeek:
    """One week of triage.

    Attributes:
        waiting: Issues that waited for a person at its end, or wait now.
        age_days, oldest_days: The median of their ages, and the age that a tenth of them exceeds; None without issues.
        decided: Issues on which a person decided for the first time.
        took_days: The median time from filing these to deciding; None without one.
    """

    day: str
    waiting: int
    age_days: float | None
    oldest_days: float | None
    decided: int
    took_days: float | None


def team_weeks(waits: Sequence[Wait], now: float, length: int) -> list[TeamWeek]:
    """The last `length` weeks, the oldest first."""
    found = []
    for start in _mondays(now, length):
        end = min(start + WEEK_S, now)
        ages = sorted(
            (end - wait.filed_at) / DAY_S
            for wait in waits
            if wait.filed_at <= end and (wait.left_at is None or wait.left_at > end)
        )
        took = [
            (wait.decided_at - wait.filed_at) / DAY_S
            for wait in waits
            if wait.decided_at is not None and start <= wait.decided_at < start + WEEK_S
        ]
        age, oldest = (median(ages), ages[len(ages) * 9 // 10]) if ages else (None, None)
        found.append(TeamWeek(_day(start), len(ages), age, oldest, len(took), median(took) if took else None))
    return found


def _mondays(now: float, length: int) -> range:
    """When each of the last weeks begins, the oldest first."""
    monday = week_of(now)
    return range(monday - (length - 1) * WEEK_S, monday + 1, WEEK_S)


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%d %b")


def precision(reviews: Iterable[Review], axis: str) -> list[tuple[str, Share]]:
    """How often people agreed with each predicted label, the most judged first; the latest standing review of an
    issue's axis counts.

    Args:
        axis: An axis, or `OWN_AXIS`: all labels of the repositories' own.
    """
    judged: defaultdict[str, list[bool]] = defaultdict(list)
    for item in _latest(reviews, axis):
        judged[item.predicted_label or ""].append(item.label == item.predicted_label)
    found = [(label, Share(sum(rights), len(rights))) for label, rights in judged.items()]
    return sorted(found, key=lambda item: (-item[1].n, item[0]))


def confusions(reviews: Iterable[Review], axis: str) -> list[tuple[str, str, int]]:
    """The model's label, a person's other one, and on how many issues; the commonest first."""
    pairs = Counter((item.predicted_label or "", item.label or "") for item in _latest(reviews, axis))
    wrong = [(said, right, count) for (said, right), count in pairs.items() if right not in {"", said}]
    return sorted(wrong, key=lambda item: (-item[2], item[:2]))


def _latest(reviews: Iterable[Review], axis: str) -> Iterable[Review]:
    """The latest standing review of each issue's axis on which the model had an answer."""
    latest: dict[tuple[str, int, str], Review] = {}
    for item in reviews:
        of_axis = item.axis.startswith(OWN_AXIS) if axis == OWN_AXIS else item.axis == axis
        if of_axis and item.undone_at is None and item.predicted_label is not None:
            latest[(item.repository, item.number, item.axis)] = item
    return latest.values()


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of outcomes, in the order of `OUTCOMES`, among the issues to which an axis applies."""

    axis: str
    count: int
    shares: Sequence[float]


def coverage(counts: Iterable[AxisCount]) -> list[Coverage]:
    """Axis by axis, in the order of the counts."""
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in counts:
        if item.outcome in OUTCOMES:
            totals[item.axis][item.outcome] += item.count
    return [
        Coverage(axis, by.total(), [by[outcome] / by.total() for outcome in OUTCOMES])
        for axis, by in totals.items()
        if by.total()
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
        families: Label -> the family to compare instead: a week has too few issues for dozens of labels.
    """
    labels: defaultdict[int, Counter[str]] = defaultdict(Counter)
    sure: Counter[int] = Counter()
    for item in counts:
        if item.axis == axis and item.outcome in OUTCOMES:
            labels[item.week_at][families.get(item.label, item.label)] += item.count
            sure[item.week_at] += item.count if item.outcome == "apply" else 0
    found = []
    for start in _mondays(now, length):
        this, count = labels[start], labels[start].total()
        earlier = range(start - BASELINE_WEEKS * WEEK_S, start, WEEK_S)
        before = sum((labels[week] for week in earlier), Counter[str]())
        enough = min(count, before.total()) >= MIN_ISSUES
        drift = (distance(this, before), chance(this, before)) if enough else (None, None)
        found.append(Week(_day(start), count, sure[start] / count if count else None, *drift))
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
    title: str,
    days: Sequence[str],
    values: Sequence[float | None],
    shown: str,
    beside: Sequence[float | None] = (),
    peak: float | None = None,
) -> Markup:
    """Values from 0 on, one per week, as a line with a dot per week; empty without values.

    Args:
        shown: Format of a value, such as `{:.0%}`.
        beside: A second, dashed line.
        peak: The upper end; a round number above all values if None.
    """
    frame = replace(FRAME, peak=peak or _peak([*values, *beside]))
    step = 1 / max(1, len(values) - 1)
    dots = [
        Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="3.5"><title>week of {}: {}</title></circle>').format(
            frame.x(place * step), frame.y(value), day, shown.format(value)
        )
        for place, (day, value) in enumerate(zip(days, values, strict=True))
        if value is not None
    ]
    if not dots:
        return Markup("")
    lines = [polyline(kind, run) for kind, row in (("beside", beside), ("line", values)) for run in frame.runs(row)]
    parts = [*frame.grid(2, shown.format), *frame.names_below(days, 6), *lines, *dots]
    return frame.svg(f"{title}; the table below has the figures", parts, "plot")


def _peak(values: Iterable[float | None]) -> float:
    """A round number, with a round half, that no value exceeds; at least 2."""
    top = max((value for value in values if value is not None), default=0.0)
    step: float = 2 * 10 ** math.floor(math.log10(max(top, 1)))
    return step * max(1, math.ceil(top / step))
