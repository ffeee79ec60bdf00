"""Shares of labels by group: sources and time, releases, frameworks, origin and confidence. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from distriage.model.taxonomy import Axis, Taxonomy
from distriage_training.study.correction import BOUNDARY, Confusions, corrected_shares
from distriage_training.study.counts import Share, by_framework, by_series, frequencies, period_of, trend
from distriage_training.study.faults import Fault, judged_axes
from distriage_training.study.figures import Grid, Picture, heat, lines
from distriage_training.study.sections import Figure, Table

SHOWN = 14  # labels of a grid
SHOWN_SOURCES = 8  # of a grid over time
MIN_FRAMEWORK = 50  # reports, for a framework to be compared
MIN_PERIOD = 20  # reports in a month, year or release, for its shares to be shown
AS_COUNTED = " As counted, not corrected for the model's errors."
MANY_MONTHS = 48  # more are drawn by year
_SHARE_HEADINGS = ("label", "reports", "of", "share", "low", "high")
Groups = Iterable[tuple[tuple[str, ...], Counter[str]]]  # name in parts, and label -> reports


def trends(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    """Labels by month or year of filing. Several sources are each compared with themselves alone: together they would
    show which of them was read in which year.
    """
    sources = Counter(fault.source for fault in bugs if period_of(fault, 4))
    for axis in judged_axes(taxonomy):
        by_month = trend(bugs, axis.id, 7)
        if len(by_month) < 3:
            continue
        width = 4 if len(by_month) > MANY_MONTHS else 7
        period = "year" if width == 4 else "month"
        if len(sources) == 1:
            yield _over_time(bugs, axis, width, period, AS_COUNTED if axis.id in confusions else "")
        elif found := by_series(bugs, axis.id, MIN_PERIOD, partial(period_of, width=width)):
            largest = {name for name, _ in sources.most_common() if any(name == key[0] for key in found)}
            kept = [name for name, _ in sources.most_common() if name in largest][:SHOWN_SOURCES]
            table, picture, cut = _side_by_side(bugs, axis, found.items(), confusions, kept)
            yield Figure(
                f"{axis.name} by source and {period} of filing, per cent",
                f"Compare a source with itself: which sources were read differs from {period} to {period}. "
                f"{_of(kept, largest, 'sources')}; {period}s with {MIN_PERIOD} reports or more, their number in "
                f"brackets. {cut} {_intervals(axis, confusions)}",
                Table(f"trend-{axis.id}", ("source", period, *_SHARE_HEADINGS), table),
                picture,
                corrected=axis.id in confusions,
            )


def _over_time(bugs: Sequence[Fault], axis: Axis, width: int, period: str, uncorrected: str) -> Figure:
    drawn = trend(bugs, axis.id, width)
    commonest = frequencies(bugs, axis)
    series = {
        axis.label(share.name).name: [
            Share(counts[share.name], counts.total()) if counts.total() >= MIN_PERIOD else None
            for counts in drawn.values()
        ]
        for share in commonest[:5]
    }
    rows = [
        [name, label, *_counted(Share(counts[label], counts.total()))]
        for name, counts in drawn.items()
        for label in sorted(counts, key=lambda label: -counts[label])
    ]
    title = f"{axis.name} by {period} of filing"
    picture = partial(lines, series, list(drawn), title) if any(any(shares) for shares in series.values()) else None
    return Figure(
        title,
        f"{sum(counts.total() for counts in drawn.values()):,} reports with a known date; the {len(series)} commonest "
        f"of {len(commonest)} labels, with Wilson's 95 % intervals. A {period} with fewer than {MIN_PERIOD} reports is "
        f"not drawn. The table has all.{uncorrected}",
        Table(f"trend-{axis.id}", (period, *_SHARE_HEADINGS), rows),
        picture,
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
        found = by_series(bugs, axis.id, MIN_PERIOD, lambda fault: fault.release or "")
        if not found:
            continue
        table, picture, cut = _side_by_side(bugs, axis, found.items(), confusions)
        yield Figure(
            f"{axis.name} by release, per cent",
            f"{stated} state a version of their repository's framework. Releases with {MIN_PERIOD} reports or more; "
            f"their number is in brackets. {cut} {_intervals(axis, confusions)}",
            Table(f"release-{axis.id}", ("framework", "release", *_SHARE_HEADINGS), table),
            picture,
            corrected=axis.id in confusions,
        )


def frameworks(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    """Frameworks side by side."""
    for axis in judged_axes(taxonomy):
        found = by_framework(bugs, axis.id, MIN_FRAMEWORK)
        if len(found) < 2:
            continue
        named = (((name,), counts) for name, counts in found.items())
        table, picture, cut = _side_by_side(bugs, axis, named, confusions)
        yield Figure(
            f"{axis.name} by framework, per cent",
            f"Frameworks with {MIN_FRAMEWORK} reports or more; their number is in brackets. {cut} "
            f"{_intervals(axis, confusions)}",
            Table(f"framework-{axis.id}", ("framework", *_SHARE_HEADINGS), table),
            picture,
            corrected=axis.id in confusions,
        )


def origins(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    """The corpus by the origin of its texts and the confidence of its annotators: do the shares depend on them?"""
    for axis in judged_axes(taxonomy):
        found: dict[tuple[str, ...], Counter[str]] = {}
        for fault in bugs:
            if axis.id in fault.labels:
                for kind, name in (("origin", fault.origin), ("confidence", fault.confidence)):
                    if name:
                        found.setdefault((kind, name), Counter())[fault.labels[axis.id]] += 1
        if len(found) < 2:
            continue
        table, picture, cut = _side_by_side(bugs, axis, sorted(found.items(), reverse=True), confusions)
        yield Figure(
            f"{axis.name} by origin and confidence, per cent",
            f"`--origin` and `--confidence` make the whole study of one of these rows. {cut} "
            f"{_intervals(axis, confusions)}",
            Table(f"origin-{axis.id}", ("by", "value", *_SHARE_HEADINGS), table),
            picture,
            corrected=axis.id in confusions,
        )


def _intervals(axis: Axis, confusions: Confusions) -> str:
    if axis.id in confusions:
        return f"Corrected for the model's errors; the table has bootstrap 95 % intervals. {BOUNDARY}"
    return "The table has Wilson's 95 % intervals."


def _of(kept: Sequence[object], whole: Iterable[object], what: str) -> str:
    all_ = len(list(whole))
    return f"All {all_} {what}" if len(kept) == all_ else f"The {len(kept)} largest of {all_} {what}"


def _side_by_side(
    bugs: Sequence[Fault], axis: Axis, groups: Groups, confusions: Confusions, shown: Sequence[str] | None = None
) -> tuple[list[list[object]], Picture, str]:
    """Shares by group: the table with every label, the grid of the commonest, and a sentence on its columns.

    Args:
        shown: First parts of the names of the groups that the grid has; all if None.
    """
    names = [share.name for share in frequencies(bugs, axis)]
    commonest = names[:SHOWN]
    table: list[list[object]] = []
    rows: list[tuple[str, str, list[tuple[str, float, str]]]] = []
    for group, counts in groups:
        shares = _group_shares(axis, counts, confusions.get(axis.id))
        table += [[*group, label, counts[label], counts.total(), *cells(*shares[label])] for label in names]
        if shown is None or group[0] in shown:
            row = [(f"{100 * shares[label][0]:.0f}", shares[label][0], percent(*shares[label])) for label in commonest]
            rows.append((" ".join(group), f"({counts.total():,})", row))
    grid = Grid([axis.label(label).name for label in commonest], rows)
    cut = "" if len(names) == len(commonest) else f"The {SHOWN} commonest of {len(names)} labels; the table has all."
    return table, partial(heat, grid, f"{axis.name}, per cent of each row"), cut


def _group_shares(
    axis: Axis, counts: Mapping[str, int], confusion: NDArray[np.integer] | None
) -> dict[str, tuple[float, tuple[float, float]]]:
    if confusion is not None:
        rows = corrected_shares(confusion, counts, axis.label_ids, draws=200)
        return {row.name: (row.value, row.interval) for row in rows}
    total = sum(counts.values())
    shares = [Share(counts.get(label.id, 0), total, label.id) for label in axis.labels]
    return {share.name: (share.value, share.interval) for share in shares}


def _counted(share: Share) -> list[object]:
    return [share.hits, share.n, *cells(share.value, share.interval)]


def cells(value: float, interval: tuple[float, float]) -> list[str]:
    """A share and its interval as a table has them."""
    return [f"{number:.4f}" for number in (value, *interval)]


def percent(value: float, interval: tuple[float, float]) -> str:
    """`41.2 % (39.9 to 42.5)`."""
    return f"{100 * value:.1f} % ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"
