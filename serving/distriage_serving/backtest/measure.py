"""Past issues with a model's answers -> coverage and precision. Pure.

Coverage: the share of issues that would get a label. Precision: the share of agreement among those that people
labelled on this axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from distriage.base.intervals import Share, wilson
from distriage.base.types import Mode
from distriage.github.listed import ListedIssue

THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MAX_PERIODS = 24
POINTS = 120  # of a curve


@dataclass(frozen=True, slots=True)
class Claim:
    """The model's answer on one axis of an issue.

    Attributes:
        applies: False if nothing is said at any threshold: the axis does not apply to the predicted kind, the issue is
            of another field or says too little, or the configuration never sets the label.
        modes: The modes in which the label would be given.
    """

    label: str
    probability: float
    applies: bool
    modes: frozenset[Mode]


@dataclass(frozen=True, slots=True)
class Replayed:
    """A past issue; `truth`: axis -> people's labels, if any; `signs`: the names of its signs."""

    issue: ListedIssue
    said: Mapping[str, Claim]
    truth: Mapping[str, frozenset[str]]
    signs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of some issues would get a label.

    Attributes:
        right: Agreement on those that people judged.
    """

    issues: int
    given: int
    right: Share

    @property
    def coverage(self) -> float | None:
        """The share of the issues that would get one; None without issues."""
        return Share(self.given, self.issues).value


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label at each threshold.

    Attributes:
        carried: Issues to which people gave it.
        at: One tally per threshold, over all issues.
        found: Share of `carried` to which it would be given, per threshold.
    """

    label: str
    carried: int
    at: tuple[Tally, ...]
    found: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Precision with its interval at this share of the issues that people labelled."""

    coverage: float
    precision: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AxisResult:
    """One axis.

    Attributes:
        labelled: Issues that people labelled on this axis.
        mapped: Labels of the axis that people gave.
        at: All labels together, one tally per threshold.
        modes: The same at the model's own thresholds.
        rows: One a label, the most frequent first, without labels that neither people nor model gave.
        would: Label -> how often it would be given in mode `balanced`, the most frequent first.
        periods: Name of a span of time -> its tally in mode `balanced`, by date.
        misses: Issues on which model and people differ, the surest ones first.
    """

    axis: str
    issues: int
    labelled: int
    mapped: tuple[str, ...]
    at: tuple[Tally, ...]
    modes: Mapping[Mode, Tally]
    rows: tuple[LabelRow, ...]
    would: tuple[tuple[str, int], ...]
    curve: tuple[CurvePoint, ...]
    mode_points: Mapping[Mode, CurvePoint]
    periods: tuple[tuple[str, Tally], ...]
    misses: tuple[Replayed, ...]


@dataclass(frozen=True, slots=True)
class SignResult:
    """One sign.

    Attributes:
        label: Its configured label, else empty.
        given: Issues with the sign.
        right: How many of them carry the label today; people often leave it out.
        found: How many issues that carry it have the sign.
    """

    name: str
    label: str
    given: int
    right: Share
    found: Share


def measure_sign(name: str, label: str, replayed: Sequence[Replayed]) -> SignResult:
    """The figures of one sign."""
    given = [item for item in replayed if name in item.signs]
    carried = [item for item in replayed if label.casefold() in map(str.casefold, item.issue.labels)]
    both = sum(name in item.signs for item in carried)
    return SignResult(name, label, len(given), Share(both, len(given) if carried else 0), Share(both, len(carried)))


MIN_JUDGED = 20  # issues that people judged, for a threshold to be proposed
WANTED = 0.8  # the lower end of the precision's interval must reach this


def proposed_threshold(result: AxisResult) -> tuple[float, Tally] | None:
    """The lowest threshold at which an axis was surely right often enough here, with its tally, if any; none where
    people gave a single label, since that measures no choice between labels.
    """
    if len(result.mapped) < 2:
        return None
    for threshold, tally in zip(THRESHOLDS[1:], result.at[1:], strict=True):
        if tally.right.n >= MIN_JUDGED and tally.right.interval[0] >= WANTED:
            return threshold, tally
    return None


def measure(axis: str, replayed: Sequence[Replayed], max_misses: int = 12) -> AxisResult:
    """All figures of one axis.

    Args:
        replayed: Ordered by date of filing.
    """

    def tally(given: Callable[[Claim], bool], part: Sequence[Replayed] = replayed) -> Tally:
        return _tally(axis, part, given)

    labelled = [item for item in replayed if axis in item.truth]
    carried = Counter(label for item in labelled for label in item.truth[axis])
    would = Counter(item.said[axis].label for item in replayed if Mode.BALANCED in item.said[axis].modes)
    speaks = Counter(item.said[axis].label for item in replayed if item.said[axis].applies)
    labels = sorted({*carried, *speaks}, key=lambda label: (-carried[label], -speaks[label], label))
    misses = [item for item in labelled if item.said[axis].applies and item.said[axis].label not in item.truth[axis]]
    modes = {mode: tally(_in(mode)) for mode in Mode}
    return AxisResult(
        axis=axis,
        issues=len(replayed),
        labelled=len(labelled),
        mapped=tuple(sorted(carried)),
        at=tuple(tally(_at(threshold)) for threshold in THRESHOLDS),
        modes=modes,
        rows=tuple(_label_row(axis, label, replayed, carried[label]) for label in labels),
        would=tuple(would.most_common()),
        curve=_curve(axis, labelled),
        mode_points={mode: point for mode in modes if (point := _point(_tally(axis, labelled, _in(mode)))) is not None},
        periods=tuple((name, tally(_in(Mode.BALANCED), part)) for name, part in by_period(replayed)),
        misses=tuple(sorted(misses, key=lambda item: -item.said[axis].probability)[:max_misses]),
    )


def tally_of(axis: str, items: Iterable[Replayed], mode: Mode) -> Tally:
    """The labels that a mode would give some issues on an axis."""
    return _tally(axis, items, _in(mode))


def _at(threshold: float, label: str | None = None) -> Callable[[Claim], bool]:
    return lambda said: said.applies and said.probability >= threshold and label in {None, said.label}


def _in(mode: Mode) -> Callable[[Claim], bool]:
    return lambda said: mode in said.modes


def _tally(axis: str, items: Iterable[Replayed], given: Callable[[Claim], bool]) -> Tally:
    items = list(items)
    speaks = [item for item in items if given(item.said[axis])]
    judged = [item for item in speaks if axis in item.truth]
    right = sum(item.said[axis].label in item.truth[axis] for item in judged)
    return Tally(len(items), len(speaks), Share(right, len(judged)))


def _label_row(axis: str, label: str, replayed: Sequence[Replayed], carried: int) -> LabelRow:
    tallies = tuple(_tally(axis, replayed, _at(threshold, label)) for threshold in THRESHOLDS)
    return LabelRow(label, carried, tallies, tuple(Share(tally.right.hits, carried).value for tally in tallies))


def _point(tally: Tally) -> CurvePoint | None:
    if tally.right.value is None or tally.coverage is None:
        return None
    return CurvePoint(tally.coverage, tally.right.value, *tally.right.interval)


def _curve(axis: str, labelled: Sequence[Replayed]) -> tuple[CurvePoint, ...]:
    """As the threshold falls; only issues that people labelled."""
    ranked = sorted(
        (item for item in labelled if item.said[axis].applies), key=lambda item: -item.said[axis].probability
    )
    step = max(1, len(ranked) // POINTS)
    right = 0
    result = []
    for count, item in enumerate(ranked, 1):
        right += item.said[axis].label in item.truth[axis]
        if count % step == 0 or count == len(ranked):
            result.append(CurvePoint(count / len(labelled), right / count, *wilson(right, count)))
    return tuple(result)


def by_period(replayed: Sequence[Replayed]) -> list[tuple[str, list[Replayed]]]:
    """Issues by month, quarter or year of filing, the finest that makes at most `MAX_PERIODS` (years may be more)."""
    result: dict[str, list[Replayed]] = {}
    for name in (_month, _quarter, _year):
        result = {}
        for item in replayed:
            result.setdefault(name(datetime.fromtimestamp(item.issue.created_at, UTC)), []).append(item)
        if len(result) <= MAX_PERIODS:
            break
    return list(result.items())


def _month(date: datetime) -> str:
    return f"{date:%Y-%m}"


def _quarter(date: datetime) -> str:
    return f"{date.year} Q{(date.month + 2) // 3}"


def _year(date: datetime) -> str:
    return str(date.year)
