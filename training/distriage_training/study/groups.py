"""Shares of labels by group: months, releases, frameworks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from distriage.model.taxonomy import Axis, Taxonomy
from distriage_training.corpus.records import BUG_AXES
from distriage_training.study.correction import Confusions, corrected_shares
from distriage_training.study.counts import Share, by_framework, by_release, frequencies, trend
from distriage_training.study.faults import Fault
from distriage_training.study.figures import lines
from distriage_training.study.sections import Figure, Grid, Table

COLOURED = 14  # rows and columns of a shown cross table
MIN_FRAMEWORK = 50  # reports, for a framework to be compared
MIN_PERIOD = 20  # reports in a month, year or release, for its shares to be shown
AS_COUNTED = " As counted, not corrected for the model's errors."
MANY_MONTHS = 48  # more are drawn by year
_SHARE_HEADINGS = ("label", "reports", "of", "share", "low", "high")


def judged_axes(taxonomy: Taxonomy) -> list[Axis]:
    """The axes that a failure is judged on."""
    return [taxonomy.axes[axis] for axis in BUG_AXES if axis in taxonomy.axes]


def trends(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    """The commonest labels by month or year of filing."""
    for axis in judged_axes(taxonomy):
        by_month = trend(bugs, axis.id, 7)
        if len(by_month) < 3:
            continue
        yearly = len(by_month) > MANY_MONTHS
        drawn = trend(bugs, axis.id, 4) if yearly else by_month
        shown = [share.name for share in frequencies(bugs, axis)[:5]]
        series = {
            axis.label(label).name: [
                counts[label] / counts.total() if counts.total() >= MIN_PERIOD else None for counts in drawn.values()
            ]
            for label in shown
        }
        rows = [
            [month, label, counts[label], counts.total()]
            for month, counts in by_month.items()
            for label in sorted(counts, key=lambda name: -counts[name])
        ]
        dated = sum(counts.total() for counts in by_month.values())
        uncorrected = AS_COUNTED if axis.id in confusions else ""
        yield Figure(
            f"{axis.name} by {'year' if yearly else 'month'} of filing",
            f"{dated:,} reports with a known date; the five commonest labels; periods with fewer than {MIN_PERIOD} "
            f"reports are not drawn. The table is by month.{uncorrected}",
            Table(f"trend-{axis.id}", ("month", "label", "reports", "of"), rows),
            lines(series, list(drawn), f"{axis.name} over time"),
        )


def releases(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    """The releases that reports state, side by side."""
    read = [fault.release for fault in bugs if fault.release is not None]
    stated = f"{sum(map(bool, read)):,} of {len(read):,}"
    if away := len(bugs) - len(read):
        stated += f" failures whose text is here (those of {away:,} others are not)"
    else:
        stated += " failures"
    for axis in judged_axes(taxonomy):
        found = by_release(bugs, axis.id, MIN_PERIOD)
        if not found:
            continue
        table, grid = _side_by_side(bugs, axis, found.items(), confusions)
        yield Figure(
            f"{axis.name} by release, per cent",
            f"{stated} state a version of their repository's framework. "
            f"{_intervals(axis, confusions)} Releases with {MIN_PERIOD} reports or more; their number is in brackets.",
            Table(f"release-{axis.id}", ("framework", "release", *_SHARE_HEADINGS), table),
            grid=grid,
        )


def frameworks(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    """Frameworks side by side."""
    for axis in judged_axes(taxonomy):
        found = by_framework(bugs, axis.id, MIN_FRAMEWORK)
        if len(found) < 2:
            continue
        table, grid = _side_by_side(bugs, axis, (((name,), counts) for name, counts in found.items()), confusions)
        yield Figure(
            f"{axis.name} by framework, per cent",
            f"{_intervals(axis, confusions)} Frameworks with {MIN_FRAMEWORK} reports or more; their number is in "
            "brackets.",
            Table(f"framework-{axis.id}", ("framework", *_SHARE_HEADINGS), table),
            grid=grid,
        )


def _intervals(axis: Axis, confusions: Confusions) -> str:
    if axis.id in confusions:
        return "Corrected for the model's errors, with bootstrap intervals."
    return "The table has Wilson's 95 % intervals."


def _side_by_side(
    bugs: Sequence[Fault], axis: Axis, groups: Iterable[tuple[tuple[str, ...], Counter[str]]], confusions: Confusions
) -> tuple[list[list[object]], Grid]:
    """Shares of the commonest labels, a row a group: the table, and the grid in per cent."""
    commonest = [share.name for share in frequencies(bugs, axis)][:COLOURED]
    table: list[list[object]] = []
    rows: list[tuple[str, list[tuple[int, float]]]] = []
    for group, counts in groups:
        shares = _group_shares(axis, counts, confusions.get(axis.id))
        table += [[*group, label, counts[label], counts.total(), *cells(*shares[label])] for label in commonest]
        row = [(round(100 * shares[label][0]), shares[label][0]) for label in commonest]
        rows.append((f"{' '.join(group)} ({counts.total():,})", row))
    return table, Grid([axis.label(label).name for label in commonest], rows)


def _group_shares(
    axis: Axis, counts: Mapping[str, int], confusion: NDArray[np.integer] | None
) -> dict[str, tuple[float, tuple[float, float]]]:
    if confusion is not None:
        rows = corrected_shares(confusion, counts, axis.label_ids, draws=200)
        return {row.name: (row.value, row.interval) for row in rows}
    total = sum(counts.values())
    shares = [Share(counts.get(label, 0), total, label) for label in axis.label_ids]
    return {share.name: (share.value, share.interval) for share in shares}


def cells(value: float, interval: tuple[float, float]) -> list[str]:
    """A share and its interval as a table has them."""
    return [f"{number:.4f}" for number in (value, *interval)]
