"""A study as sections of figures, each with its table. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from distriage.model.taxonomy import Axis, Taxonomy
from distriage.past.clusters import Cluster
from distriage_training.study.correction import BOUNDARY, Confusions, corrected_shares
from distriage_training.study.counts import (
    OTHER,
    Association,
    Share,
    association,
    distributed_share,
    flow,
    frequencies,
)
from distriage_training.study.faults import Fault, Source, judged_axes
from distriage_training.study.figures import PAGE, Bar, Grid, bars, heat, sankey
from distriage_training.study.groups import (
    AS_COUNTED,
    SHOWN,
    cells,
    frameworks,
    origins,
    percent,
    releases,
    trends,
)
from distriage_training.study.sections import Figure, Section, Table

FLOW_LABELS = 9
MIN_SEEN = 10  # validation reports of a label, to know for what the model takes it
MakeSection = Callable[[Sequence[Fault], Taxonomy, Confusions], Section]  # of failures; the errors of their model


def study(
    source: Source,
    taxonomy: Taxonomy,
    confusions: Confusions | None = None,
    more: Sequence[MakeSection] = (),
    rests_on: str = "",
) -> list[Section]:
    """All sections of a study for which the source has labels.

    Args:
        more: Make further sections, shown last.
        confusions: Of the model that predicted the labels; None if unknown, or if people gave the labels.
        rests_on: A sentence on the reports of the confusions, said of each corrected figure.
    """
    bugs, confusions = source.bugs, confusions or {}
    sections = [
        Section("frequencies", "What fails, where, why, and what mends it"),
        Section("distributed", "What concerns distributed use"),
        Section("associations", "What goes together"),
        Section("flow", "From symptom to fix"),
        Section("trends", "Over time and releases"),
        Section("clusters", "Open failures of one cause"),
        Section("frameworks", "Frameworks side by side"),
        Section("origins", "By origin and confidence of the labels"),
    ]
    for section, figures in zip(
        sections,
        (
            _frequencies(source.faults, taxonomy, confusions),
            _distributed(bugs, taxonomy, confusions),
            _associations(bugs, taxonomy, confusions),
            _flow(bugs, taxonomy, confusions),
            [*trends(bugs, taxonomy, confusions), *releases(bugs, taxonomy, confusions)],
            _clusters(source.clusters),
            frameworks(bugs, taxonomy, confusions),
            origins(bugs, taxonomy, confusions),
        ),
        strict=True,
    ):
        section.figures.extend(
            replace(figure, note=f"{figure.note} {rests_on}") if rests_on and figure.corrected else figure
            for figure in figures
        )
    sections += [make(bugs, taxonomy, confusions) for make in more]
    return [section for section in sections if section.figures]


def _names(taxonomy: Taxonomy) -> dict[str, str]:
    return {label.id: label.name for axis in judged_axes(taxonomy) for label in axis.labels}


def _frequencies(faults: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    for axis in judged_axes(taxonomy):
        shares = frequencies(faults, axis)
        if not shares:
            continue
        table = [[row.name, row.hits, row.n, *cells(row.value, row.interval)] for row in shares]
        yield Figure(
            f"{axis.name}: as {'counted' if axis.id in confusions else 'labelled'}",
            f"{shares[0].n:,} reports. Lines: Wilson's 95 % interval.",
            Table(f"frequency-{axis.id}", ("label", "reports", "of", "share", "low", "high"), table),
            partial(bars, [_bar(row, axis) for row in shares], axis.name),
        )
        if axis.id in confusions:
            yield _corrected(axis, shares, confusions[axis.id])


def _clusters(found: Sequence[Cluster]) -> Iterator[Figure]:
    if not found:
        return
    rows = [
        [
            " ".join(issue.id for issue in one.open),
            one.open[0].title,
            *(len(one.open), len(one.closed), one.reactions, one.version),
            *(f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" if at else "" for at in one.filed),
        ]
        for one in found
    ]
    headings = ("issues", "title of the oldest", "open", "closed", "reactions", "latest version", "first", "last")
    note = "The same error, raised at the same place, in reports that are alike and filed within half a year."
    yield Figure("Clusters", note, Table("clusters", headings, rows))


def _corrected(axis: Axis, shares: Sequence[Share], confusion: NDArray[np.integer]) -> Figure:
    rows = corrected_shares(confusion, {row.name: row.hits for row in shares}, axis.label_ids)
    seen = dict(zip(axis.label_ids, map(int, confusion.sum(1)), strict=True))
    few = sum(reports < MIN_SEEN for reports in seen.values())
    unsure = (
        f" Labels with fewer than {MIN_SEEN} validation reports: {few} of {len(seen)}. Nobody knows how the model "
        "confuses them: do not rely on their shares, nor on those of labels that they are taken for."
    )
    table = [
        [
            *(row.name, f"{row.counted:.4f}", *cells(row.value, row.interval)),
            *("at the boundary" if row.at_boundary else "", seen[row.name]),
        ]
        for row in rows
    ]
    drawn = [
        Bar(axis.label(row.name).name, row.value, *row.interval, colour=3) for row in rows if row.interval[1] > 0.005
    ]
    return Figure(
        f"{axis.name}: corrected for the model's errors",
        f"Adjusted classify-and-count (Forman, 2008) with the errors on {int(confusion.sum()):,} validation reports; "
        f"bootstrap over both. {BOUNDARY} Labels that may be below 0.5 % are in the table only.{unsure if few else ''}",
        Table(f"corrected-{axis.id}", ("label", "counted", "share", "low", "high", "interval", "validation"), table),
        partial(bars, drawn, f"{axis.name}, corrected"),
        corrected=True,
    )


def _distributed(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    for axis, most in (("stage", 5), ("symptom", 40)):
        shares = distributed_share(bugs, axis)[:most] if axis in taxonomy.axes else []
        if not shares:
            continue
        whole = Share(sum(row.hits for row in shares), sum(row.n for row in shares))
        ordered = sorted(shares, key=lambda row: -row.value) if axis == "symptom" else shares
        rows = [[row.name, row.hits, row.n, *cells(row.value, row.interval)] for row in ordered]
        setup = next((row for row in shares if row.name == "communication-setup"), None)
        said = f" Of communication-setup failures, {setup.value:.1%} ({setup.hits:,} of {setup.n:,})." if setup else ""
        yield Figure(
            f"Share of failures that concern distributed use, by {axis}",
            f"Over all, {whole.value:.1%} of {whole.n:,} failures.{said}{_uncorrected(confusions)}",
            Table(f"distributed-by-{axis}", (axis, "distributed", "of", "share", "low", "high"), rows),
            partial(
                bars,
                [_bar(row, taxonomy.axes[axis], f"of {row.n:,}", 2) for row in ordered],
                f"Concerns distributed use, by {axis}",
            ),
        )


def _associations(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    names = _names(taxonomy)
    for one, other in (("symptom", "cause"), ("cause", "fix"), ("stage", "symptom")):
        found = association(bugs, one, other) if {one, other} <= taxonomy.axes.keys() else None
        if found is None or min(found.counts.shape) < 2:
            continue
        rows = [
            [
                *(pair.one, pair.other, pair.share.hits, pair.share.n, *cells(pair.share.value, pair.share.interval)),
                *(f"{pair.expected:.1f}", f"{pair.lift:.2f}", f"{pair.residual:.1f}"),
            ]
            for pair in found.pairs
        ]
        headings = (one, other, "reports", "of", "share", "low", "high", "expected", "lift", "residual")
        yield Figure(
            f"{one.capitalize()} × {other}",
            f"Cramér's V = {found.cramers_v:.2f} (0: unrelated, 1: one follows from the other; Bergsma's correction), "
            f"n = {found.n:,}. Colour: share of the row.{_cut(found)} The table has the pairs that chance does not "
            f"explain (adjusted residual of 3.29 or more, 10 reports or more; of {found.counts.size:,} cells, chance "
            f"alone brings about {found.counts.size * 0.0005:.1f}); lift: how many times as frequent as expected. "
            f"contingency-{one}-{other} has all counts.{_uncorrected(confusions)}",
            Table(f"{one}-{other}", headings, rows),
            partial(heat, _grid(found, names), f"{one.capitalize()} and {other}"),
            Table(
                f"contingency-{one}-{other}",
                (f"{one} \\ {other}", *found.columns, "total"),
                [[name, *map(int, row), int(row.sum())] for name, row in zip(found.rows, found.counts, strict=True)]
                + [["total", *map(int, found.counts.sum(0)), found.n]],
            ),
        )


def _uncorrected(confusions: Confusions) -> str:
    return AS_COUNTED if confusions else ""


def _cut(found: Association) -> str:
    """Which labels have no row or column of their own."""
    kept = [
        f"the {SHOWN} commonest of {len(names)} {axis}s"
        for axis, names in ((found.one, found.rows), (found.other, found.columns))
        if len(names) > SHOWN
    ]
    return f" Shown by name: {' and '.join(kept)}; the others are added up." if kept else ""


def _grid(found: Association, names: Mapping[str, str]) -> Grid:
    """The cross table; where an axis has many labels, its last row or column adds up the rare ones."""
    counts, axes = found.counts, []
    for number, labels in enumerate((found.rows, found.columns)):
        shown = [names.get(name, name) for name in labels[:SHOWN]]
        if (rest := len(labels) - SHOWN) > 0:
            kept, others = np.split(counts, [SHOWN], axis=number)
            counts = np.concatenate([kept, others.sum(number, keepdims=True)], axis=number)
            shown.append(f"{rest} others")
        axes.append(shown)
    rows = []
    for name, row in zip(axes[0], counts, strict=True):
        total = max(1, int(row.sum()))
        shares = [Share(int(count), total) for count in row]
        cells_ = [
            (f"{share.hits:,}" if share.hits else "", share.value, percent(share.value, share.interval))
            for share in shares
        ]
        rows.append((name, f"({total:,})", cells_))
    return Grid(axes[1], rows)


def _flow(bugs: Sequence[Fault], taxonomy: Taxonomy, confusions: Confusions) -> Iterator[Figure]:
    axes = [axis for axis in ("symptom", "cause", "fix") if axis in taxonomy.axes]
    if len(axes) < 2 or not any(all(axis in fault.labels for axis in axes) for fault in bugs):
        return
    found = flow(bugs, axes, FLOW_LABELS)
    rows = [[axes[i], one, axes[i + 1], other, count] for (i, one, other), count in sorted(found.links.items())]
    judged = sum(next(iter(found.columns.values())).values())
    yield Figure(
        "Symptom → cause → fix",
        f"{judged:,} reports judged on all three; the {FLOW_LABELS} commonest labels of each, the rest as “{OTHER}”."
        f"{_uncorrected(confusions)}",
        Table("flow", ("from axis", "from", "to axis", "to", "reports"), rows),
        partial(
            sankey, found, _names(taxonomy), [axis.capitalize() for axis in axes], "Flow from symptom to cause to fix"
        ),
        widths=(PAGE,),  # three columns of names need the whole page
    )


def _bar(share: Share, axis: Axis, of: str = "", colour: int = 1) -> Bar:
    return Bar(axis.label(share.name).name, share.value, *share.interval, of or f"({share.hits:,})", colour)
