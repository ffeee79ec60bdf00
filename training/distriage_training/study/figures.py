"""Figures as inline SVG. Pure: numbers in, markup out; all text is escaped.

Colours come from the page's style sheet (`--c1` to `--c8`, after Okabe and Ito, 2008), so that light and dark need no
second picture. Bars are as wide as the page: their SVG has no viewBox, positions are percentages. Wide figures keep
their size and scroll.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from distriage.base.svg import Frame
from distriage_training.study.counts import OTHER, Flow

_ROW = 34
_LINE = 17
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4", "4 2 1 2", "3 6")


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with an interval; all values are shares of 1."""

    label: str
    value: float
    low: float
    high: float
    note: str = ""
    colour: int = 1


def bars(rows: Sequence[Bar], title: str) -> Markup:
    """Horizontal bars with 95 % intervals, one scale for all."""
    top = _nice(max((row.high for row in rows), default=1.0))
    parts = []
    for i, row in enumerate(rows):
        y = i * _ROW
        value, low, high = (100 * number / top for number in (row.value, row.low, row.high))
        parts.append(
            Markup(
                '<g><text class="label" x="0" y="{text}">{label}</text>'
                '<text class="value" x="100%" y="{text}" text-anchor="end">{shown}</text>'
                '<rect class="track" x="0" y="{bar}" width="100%" height="9" rx="2"/>'
                '<rect class="c{colour}" x="0" y="{bar}" width="{value:.3f}%" height="9" rx="2"/>'
                '<line class="whisker" x1="{low:.3f}%" x2="{high:.3f}%" y1="{middle}" y2="{middle}"/>'
                '<line class="whisker" x1="{low:.3f}%" x2="{low:.3f}%" y1="{bar}" y2="{end}"/>'
                '<line class="whisker" x1="{high:.3f}%" x2="{high:.3f}%" y1="{bar}" y2="{end}"/></g>'
            ).format(
                label=row.label,
                shown=row.note or f"{100 * row.value:.1f} %",
                text=y + 13,
                bar=y + 18,
                middle=y + 22.5,
                end=y + 27,
                colour=row.colour,
                value=value,
                low=low,
                high=high,
            )
        )
    height = max(1, len(rows)) * _ROW + 18
    scale = Markup('<text class="tick" x="0" y="{y}">0</text>').format(y=height - 4)
    scale += Markup('<text class="tick" x="100%" y="{y}" text-anchor="end">{top:.0f} %</text>').format(
        y=height - 4, top=100 * top
    )
    return Markup(
        '<svg class="bars" role="img" aria-label="{title}" width="100%" height="{height}">{parts}</svg>'
    ).format(title=title, height=height, parts=Markup("").join([*parts, scale]))


def sankey(found: Flow, names: Mapping[str, str], headings: Sequence[str], title: str) -> Markup:
    """Reports as ribbons from column to column.

    Args:
        names: Label -> displayed name.
        headings: One per column.
    """
    frame = Frame(1080, 620, 0, 0, 0, 0)
    layout = _Layout(found, frame.width, frame.height)
    return _wide(frame.svg(title, [*layout.ribbons(names), *layout.nodes(names, headings)], "wide"), title)


class _Layout:
    """Where the columns and labels of a flow are drawn."""

    NODE, GAP, TOP, MARGIN = 14, 7, 34.0, 100

    def __init__(self, found: Flow, width: int, height: int) -> None:
        self.found = found
        self.columns = list(found.columns.values())
        total = sum(self.columns[0].values()) or 1
        most = max(len(column) for column in self.columns)
        self.scale = (height - 40 - self.GAP * (most - 1)) / total
        step = (width - 2 * self.MARGIN - self.NODE) / max(1, len(self.columns) - 1)
        self.xs = [self.MARGIN + i * step for i in range(len(self.columns))]
        self.ys: list[dict[str, float]] = []
        for column in self.columns:
            y, places = self.TOP, {}
            for label, count in column.items():
                places[label] = y
                y += count * self.scale + self.GAP
            self.ys.append(places)

    def ribbons(self, names: Mapping[str, str]) -> Iterator[Markup]:
        """A ribbon a link, in the order of the labels, so that they cross little."""
        order = [{label: i for i, label in enumerate(column)} for column in self.columns]
        out, into = ([dict(places) for places in self.ys] for _ in range(2))
        links = sorted(self.found.links.items(), key=lambda item: self._rank(item[0], order))
        for (i, one, other), count in links:
            thick = count * self.scale
            y0, y1 = out[i][one], into[i + 1][other]
            out[i][one] += thick
            into[i + 1][other] += thick
            x0, x1 = self.xs[i] + self.NODE, self.xs[i + 1]
            middle = (x0 + x1) / 2
            there = f"M{x0:.1f},{y0:.1f} C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
            y0, y1 = y0 + thick, y1 + thick
            back = f"L{x1:.1f},{y1:.1f} C{middle:.1f},{y1:.1f} {middle:.1f},{y0:.1f} {x0:.1f},{y0:.1f} Z"
            yield Markup(
                '<path class="ribbon c{colour}" d="{path}"><title>{one} → {other}: {count:,}</title></path>'
            ).format(
                colour=8 if one == OTHER else order[i][one] % 7 + 1,
                path=f"{there} {back}",
                one=names.get(one, one),
                other=names.get(other, other),
                count=count,
            )

    @staticmethod
    def _rank(link: tuple[int, str, str], order: Sequence[Mapping[str, int]]) -> tuple[int, int, int]:
        i, one, other = link
        return i, order[i][one], order[i + 1][other]

    def nodes(self, names: Mapping[str, str], headings: Sequence[str]) -> Iterator[Markup]:
        """Headings, and a block with its name a label; the last column's names are to its left."""
        for column, places, x, heading in zip(self.columns, self.ys, self.xs, headings, strict=True):
            last = x == self.xs[-1]
            yield Markup('<text class="heading" x="{x:.1f}" y="18" text-anchor="middle">{text}</text>').format(
                x=x + self.NODE / 2, text=heading
            )
            for label, count in column.items():
                tall = max(1.0, count * self.scale)
                yield Markup(
                    '<rect class="node" x="{x:.1f}" y="{y:.1f}" width="{node}" height="{tall:.1f}"/>'
                    '<text class="flow" x="{tx:.1f}" y="{ty:.1f}" text-anchor="{anchor}">{text} {count:,}</text>'
                ).format(
                    x=x,
                    y=places[label],
                    node=self.NODE,
                    tall=tall,
                    tx=x - 5 if last else x + self.NODE + 5,
                    ty=places[label] + tall / 2 + 4,
                    anchor="end" if last else "start",
                    text=names.get(label, label),
                    count=count,
                )


def lines(series: Mapping[str, Sequence[float | None]], periods: Sequence[str], title: str) -> Markup:
    """Shares over time, a line a label with its own dash; a point is missing where too few reports were filed."""
    peak = _nice(max((value for values in series.values() for value in values if value is not None), default=1.0))
    frame = Frame(960, 340, left=44, right=270, top=14, bottom=30, peak=peak)
    parts = [*frame.grid(4, lambda value: f"{100 * value:g} %"), *frame.names_below(periods, 8)]
    ends: list[tuple[float, int, str]] = []
    for number, (name, values) in enumerate(series.items()):
        parts += [_stroke(number, Markup('points="{}"').format(run), "polyline") for run in frame.runs(values)]
        if known := [value for value in values if value is not None]:
            ends.append((frame.y(known[-1]), number, name))
    names = _names_at_the_end(sorted(ends), frame.width - frame.right, frame.height - frame.bottom)
    return _wide(frame.svg(title, [*parts, *names], "wide"), title)


def _names_at_the_end(ends: Sequence[tuple[float, int, str]], left: int, bottom: int) -> Iterator[Markup]:
    """A sample of each line beside its last point; where two would overlap, the upper one moves up."""
    highest = float(bottom + _LINE)
    for wanted, number, name in reversed(ends):
        place = highest = min(wanted, highest - _LINE)
        sample = Markup('x1="{x1}" x2="{x2}" y1="{y:.1f}" y2="{y:.1f}"').format(x1=left + 8, x2=left + 34, y=place)
        yield _stroke(number, sample, "line")
        yield Markup('<text class="label" x="{x}" y="{y:.1f}">{name}</text>').format(
            x=left + 40, y=place + 4, name=name
        )


def _stroke(number: int, shape: Markup, element: str) -> Markup:
    return Markup('<{element} class="line c{colour}" {shape} stroke-dasharray="{dash}"/>').format(
        element=element, colour=number % 8 + 1, shape=shape, dash=_DASHES[number % 8]
    )


def _wide(picture: Markup, title: str) -> Markup:
    scroll = Markup('<div class="scroll" tabindex="0" role="group" aria-label="{}">{}</div>')
    return scroll.format(title, picture)


def _nice(value: float) -> float:
    return next((top for top in (0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.8) if value <= top), 1.0)
