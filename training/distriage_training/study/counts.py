"""Frequencies, shares, associations, flows and trends of labelled reports. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distriage.base import intervals
from distriage.model.taxonomy import Axis
from distriage_training.study.faults import TRUE, Fault

MIN_PAIR = 10  # reports that share two labels, for their lift to be shown
MIN_RESIDUAL = 3.29  # adjusted residual, two-sided p < 0.001
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Share(intervals.Share):
    """Of the reports, those of one label."""

    name: str = ""

    @property
    def value(self) -> float:
        """0 without counts."""
        return self.hits / self.n if self.n else 0.0


def frequencies(faults: Iterable[Fault], axis: Axis) -> list[Share]:
    """How often each label of an axis was given among the reports judged on it; labels never given are left out."""
    counts = Counter(fault.labels[axis.id] for fault in faults if axis.id in fault.labels)
    total = counts.total()
    return [Share(counts[label], total, label) for label in _by_count(counts, [label.id for label in axis.labels])]


def distributed_share(faults: Iterable[Fault], by: str) -> list[Share]:
    """Share of reports that concern distributed use, by label of another axis, in order of the label's frequency."""
    groups: dict[str, list[bool]] = {}
    for fault in faults:
        if by in fault.labels and "distributed" in fault.labels:
            groups.setdefault(fault.labels[by], []).append(fault.labels["distributed"] == TRUE)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Share(sum(found), len(found), name) for name, found in ordered]


def by_framework(faults: Iterable[Fault], axis: str, least: int) -> dict[str, Counter[str]]:
    """Framework -> label -> reports, the largest first, without frameworks of fewer than `least` judged reports."""
    found: dict[str, Counter[str]] = {}
    for fault in faults:
        if axis in fault.labels:
            found.setdefault(fault.framework, Counter())[fault.labels[axis]] += 1
    return {
        name: counts
        for name, counts in sorted(found.items(), key=lambda item: -item[1].total())
        if counts.total() >= least
    }


@dataclass(frozen=True, slots=True)
class Pair:
    """Two labels on one report.

    Attributes:
        share: Reports with both, of those with the first.
        expected: Reports with both, if the axes had nothing to do with each other.
        residual: Adjusted residual: beyond 3.29, p < 0.001 (Haberman, 1973).
    """

    one: str
    other: str
    share: Share
    expected: float
    residual: float

    @property
    def lift(self) -> float:
        """How many times as frequent as expected."""
        return self.share.hits / self.expected


@dataclass(frozen=True, slots=True)
class Association:
    """A cross table of two axes.

    Attributes:
        one, other: Axes.
        rows, columns: Labels, the commonest first.
        counts: Reports, [rows, columns].
    """

    one: str
    other: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Reports judged on both axes."""
        return int(self.counts.sum())

    @property
    def expected(self) -> NDArray[np.float64]:
        """Counts under independence, [rows, columns]."""
        return np.outer(self.counts.sum(1), self.counts.sum(0)) / max(1, self.n)

    @property
    def cramers_v(self) -> float:
        """Cramér's V with Bergsma's (2013) correction for small counts, 0 to 1; nan if an axis has only one label."""
        rows, columns = self.counts.shape
        if min(rows, columns) < 2 or self.n < 2:
            return math.nan
        squared = float(((self.counts - self.expected) ** 2 / self.expected).sum()) / self.n
        corrected = max(0.0, squared - (rows - 1) * (columns - 1) / (self.n - 1))
        least = min(rows - (rows - 1) ** 2 / (self.n - 1), columns - (columns - 1) ** 2 / (self.n - 1)) - 1
        return math.sqrt(corrected / least) if least > 0 else math.nan

    @property
    def residuals(self) -> NDArray[np.float64]:
        """Adjusted residuals (Haberman, 1973), [rows, columns]; 0 where an axis has a single label."""
        rows, columns = self.counts.sum(1) / self.n, self.counts.sum(0) / self.n
        spread = np.sqrt(self.expected * np.outer(1 - rows, 1 - columns))
        return np.divide(self.counts - self.expected, spread, out=np.zeros_like(spread), where=spread > 0)

    @property
    def pairs(self) -> list[Pair]:
        """Pairs of at least `MIN_PAIR` reports that are more frequent than chance explains, highest lift first."""
        expected, residuals, totals = self.expected, self.residuals, self.counts.sum(1)
        found = [
            Pair(
                self.rows[i],
                self.columns[j],
                Share(int(self.counts[i, j]), int(totals[i])),
                float(expected[i, j]),
                float(residuals[i, j]),
            )
            for i, j in zip(*np.nonzero((self.counts >= MIN_PAIR) & (residuals >= MIN_RESIDUAL)), strict=True)
        ]
        return sorted(found, key=lambda pair: -pair.lift)


def association(faults: Iterable[Fault], one: str, other: str) -> Association | None:
    """Cross table of two axes; None if no report has both."""
    counts = Counter((f.labels[one], f.labels[other]) for f in faults if one in f.labels and other in f.labels)
    if not counts:
        return None
    rows, columns = Counter[str](), Counter[str]()
    for (row, column), times in counts.items():
        rows[row] += times
        columns[column] += times
    row_names, column_names = (tuple(_by_count(axis, sorted(axis))) for axis in (rows, columns))
    table = np.array([[counts[row, column] for column in column_names] for row in row_names])
    return Association(one, other, row_names, column_names, table)


@dataclass(frozen=True, slots=True)
class Flow:
    """How reports run from axis to axis.

    Attributes:
        columns: Axis -> label -> reports, the commonest first and `OTHER` last.
        links: (position of the axis, label, label on the next axis) -> reports.
    """

    columns: Mapping[str, Mapping[str, int]]
    links: Mapping[tuple[int, str, str], int]


OTHER = "all others"


def flow(faults: Iterable[Fault], axes: Sequence[str], most: int) -> Flow:
    """Reports judged on all of the axes, with the `most` commonest labels of each by name."""
    judged = [fault for fault in faults if all(axis in fault.labels for axis in axes)]
    kept = [{label for label, _ in Counter(f.labels[axis] for f in judged).most_common(most)} for axis in axes]
    columns: list[Counter[str]] = [Counter() for _ in axes]
    links: Counter[tuple[int, str, str]] = Counter()
    for fault in judged:
        path = [
            fault.labels[axis] if fault.labels[axis] in names else OTHER for axis, names in zip(axes, kept, strict=True)
        ]
        for i, label in enumerate(path):
            columns[i][label] += 1
            if i + 1 < len(path):
                links[i, label, path[i + 1]] += 1
    ordered = [sorted(column.items(), key=lambda item: (item[0] == OTHER, -item[1], item[0])) for column in columns]
    return Flow({axis: dict(column) for axis, column in zip(axes, ordered, strict=True)}, links)


def trend(faults: Iterable[Fault], axis: str, width: int) -> dict[str, Counter[str]]:
    """Period -> label -> reports, without gaps; a report whose date does not begin with year and month is left out.

    Args:
        width: Characters of the date that make a period: 7 a month, 4 a year.
    """
    found: dict[str, Counter[str]] = {}
    for fault in faults:
        if axis in fault.labels and (period := period_of(fault, width)):
            found.setdefault(period, Counter())[fault.labels[axis]] += 1
    return {period: found.get(period, Counter()) for period in _periods(sorted(found))}


def by_series(
    faults: Iterable[Fault], axis: str, least: int, series_of: Callable[[Fault], str]
) -> dict[tuple[str, str], Counter[str]]:
    """(Source, release or period) -> label -> reports: sources by name, their series in order. A series with fewer than
    `least` judged reports is left out, and a source with a single one left.

    Args:
        series_of: The series of a report, numbers with dots or dashes; empty if it belongs to none.
    """
    found: dict[tuple[str, str], Counter[str]] = {}
    for fault in faults:
        if axis in fault.labels and (series := series_of(fault)):
            found.setdefault((fault.source, series), Counter())[fault.labels[axis]] += 1
    kept = {key: counts for key, counts in found.items() if counts.total() >= least}
    each = Counter(source for source, _ in kept)
    ordered = sorted(kept, key=lambda key: (key[0], [int(number) for number in re.findall(r"\d+", key[1])]))
    return {key: kept[key] for key in ordered if each[key[0]] > 1}


def period_of(fault: Fault, width: int) -> str:
    """The month (`width` 7) or year (4) of filing; empty if its date does not begin with year and month."""
    return fault.created[:width] if _MONTH.match(fault.created) else ""


def _periods(found: Sequence[str]) -> list[str]:
    if not found or len(found[0]) == 4:
        return [str(year) for year in range(int(found[0]), int(found[-1]) + 1)] if found else []
    first, last = (int(period[:4]) * 12 + int(period[5:7]) - 1 for period in (found[0], found[-1]))
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in range(first, last + 1)]


def _by_count(counts: Mapping[str, int], order: Sequence[str]) -> list[str]:
    return sorted((label for label in order if counts.get(label)), key=lambda label: -counts[label])
