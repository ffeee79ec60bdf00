"""Figures as SVG. Pure: numbers and a width in, markup out; all text is escaped.

A width is in user units. Text of 12 is 7.5 points high across the page of a paper, 6.5 in its column.
Colours come from a style sheet (`--c1` to `--c8`, after Okabe and Ito, 2008), so that light, dark and print need no
picture each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from distriage.base.svg import Frame, polyline
from distriage_training.study.counts import OTHER, Flow, Share

PAGE, COLUMN = 806, 440
INCHES = {PAGE: 7.0, COLUMN: 3.3}
Picture = Callable[[int], Markup]  # drawn at a width
_ROW, _LINE, _LETTER = 20, 18, 7.2
_NUMBERS = 26  # units, for a cell to show its number
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4", "4 2 1 2", "3 6")


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with an interval; all values are shares of 1. `of` says of how many, where there is room."""

    label: str
    value: float
    low: float
    high: float
    of: str = ""
    colour: int = 1


def bars(rows: Sequence[Bar], title: str, width: int) -> Markup:
    """Horizontal bars with 95 % intervals, one scale for all."""
    top = _nice(max((row.high for row in rows), default=1.0))
    shown = [f"{100 * row.value:.1f} % {row.of if width > COLUMN else ''}".strip() for row in rows]
    height = _ROW * max(1, len(rows)) + 24
    frame = Frame(width, height, _room((row.label for row in rows), width * 6 // 10), _room(shown, width // 3), 2, 22)
    parts = []
    for i, (row, text) in enumerate(zip(rows, shown, strict=True)):
        left, value, low, high = (frame.x(number / top) for number in (0, row.value, row.low, row.high))
        parts.append(
            Markup(
                '<text class="label" x="{before:.1f}" y="{text_y}" text-anchor="end">{label}</text>'
                '<text class="value" x="{width}" y="{text_y}" text-anchor="end">{shown}</text>'
                '<rect class="track" x="{left:.1f}" y="{y}" width="{whole:.1f}" height="12"/>'
                '<rect class="c{colour}" x="{left:.1f}" y="{y}" width="{long:.1f}" height="12"/>'
                '<path class="whisker" d="M{low:.1f},{middle} H{high:.1f} M{low:.1f},{y} v12 M{high:.1f},{y} v12"/>'
            ).format(
                before=left - 6,
                text_y=i * _ROW + 15,
                label=row.label,
                width=width,
                shown=text,
                left=left,
                y=i * _ROW + 5,
                whole=frame.x(1) - left,
                colour=row.colour,
                long=value - left,
                low=low,
                high=high,
                middle=i * _ROW + 11,
            )
        )
    parts += [frame.below(0, "0"), frame.below(1, f"{100 * top:.0f} %")]
    return frame.svg(title, parts, "bars")


@dataclass(frozen=True, slots=True)
class Grid:
    """A coloured table.

    Attributes:
        columns: Their names.
        rows: Name, how many, and the cells: text, strength from 0 to 1, and a sentence on it.
    """

    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[tuple[str, float, str]]]]


def heat(grid: Grid, title: str, width: int) -> Markup:
    """A table of cells that are the stronger coloured the larger their share of the row."""
    names = [f"{name} {of}" if width > COLUMN else name for name, of, _ in grid.rows]
    left, top = _room(names, width * 6 // 10), _room(grid.columns, 260)
    frame = Frame(width, top + _ROW * len(grid.rows) + 30, left, 2, top, 30)
    side = (width - left - 2) / max(1, len(grid.columns))
    parts = [
        Markup('<text class="label" transform="translate({x:.1f},{y}) rotate(-90)">{name}</text>').format(
            x=left + (i + 0.5) * side + 4, y=top - 6, name=name
        )
        for i, name in enumerate(grid.columns)
    ]
    for number, (name, (_, _, cells)) in enumerate(zip(names, grid.rows, strict=True)):
        y = top + number * _ROW
        parts.append(
            Markup('<text class="label" x="{x}" y="{y}" text-anchor="end">{name}</text>').format(
                x=left - 6, y=y + 14, name=name
            )
        )
        for i, (text, strength, said) in enumerate(cells):
            x = left + i * side
            parts.append(_cell(x, y, side - 1, strength, said))
            if text and side >= _NUMBERS:
                parts.append(
                    Markup('<text class="number" x="{x:.1f}" y="{y}" text-anchor="middle">{text}</text>').format(
                        x=x + side / 2, y=y + 14, text=text
                    )
                )
    return frame.svg(title, [*parts, *_scale(frame)], "heat")


def _cell(x: float, y: float, side: float, strength: float, said: str) -> Markup:
    return Markup(
        '<rect class="c1" fill-opacity="{opacity:.3f}" x="{x:.1f}" y="{y}" width="{side:.1f}" height="19">'
        "<title>{said}</title></rect>"
    ).format(opacity=0.05 + 0.6 * strength, x=x, y=y, side=side, said=said)


def _scale(frame: Frame) -> Iterator[Markup]:
    """Under a grid: the colours of five shares of a row."""
    for i in range(5):
        x = frame.left + i * 40
        yield _cell(x, frame.height - 21, 39, i / 4, f"{25 * i} % of the row")
        yield Markup('<text class="tick" x="{x}" y="{y}" text-anchor="middle">{text} %</text>').format(
            x=x + 20, y=frame.height - 7, text=25 * i
        )
    yield Markup('<text class="tick" x="{x}" y="{y}" text-anchor="end">of the row</text>').format(
        x=frame.left - 6, y=frame.height - 7
    )


def sankey(found: Flow, names: Mapping[str, str], headings: Sequence[str], title: str, width: int) -> Markup:
    """Reports as ribbons from column to column.

    Args:
        names: Label -> displayed name.
        headings: One per column.
    """
    layout = _Layout(found, width, 560)
    frame = Frame(width, 560, 0, 0, 0, 0)
    return frame.svg(title, [*layout.ribbons(names), *layout.nodes(names, headings)], "flow")


class _Layout:
    """Where the columns and labels of a flow are drawn; names are to the right of their column."""

    NODE, GAP, TOP, LEFT, RIGHT = 12, 7, 34.0, 30, 270

    def __init__(self, found: Flow, width: int, height: int) -> None:
        self.found = found
        self.columns = list(found.columns.values())
        total = sum(self.columns[0].values()) or 1
        most = max(len(column) for column in self.columns)
        self.scale = (height - 40 - self.GAP * (most - 1)) / total
        step = (width - self.LEFT - self.RIGHT - self.NODE) / max(1, len(self.columns) - 1)
        self.xs = [self.LEFT + i * step for i in range(len(self.columns))]
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
        """Headings, and a block with its name a label."""
        for column, places, x, heading in zip(self.columns, self.ys, self.xs, headings, strict=True):
            yield Markup('<text class="heading" x="{x:.1f}" y="18" text-anchor="middle">{text}</text>').format(
                x=x + self.NODE / 2, text=heading
            )
            for label, count in column.items():
                tall = max(1.0, count * self.scale)
                text = Markup('x="{x:.1f}" y="{y:.1f}">{text} {count:,}</text>').format(
                    x=x + self.NODE + 5,
                    y=places[label] + tall / 2 + 4,
                    text=names.get(label, label),
                    count=count,
                )
                yield Markup(
                    '<rect class="node" x="{x:.1f}" y="{y:.1f}" width="{node}" height="{tall:.1f}"/>'
                    '<text class="halo" {text}<text class="label" {text}'
                ).format(x=x, y=places[label], node=self.NODE, tall=tall, text=text)


def lines(series: Mapping[str, Sequence[Share | None]], periods: Sequence[str], title: str, width: int) -> Markup:
    """Shares over time with 95 % intervals, a line a label with its own dash; a point is missing where too few reports
    were filed.
    """
    known = [share for shares in series.values() for share in shares if share is not None]
    columns = 2 if width > COLUMN else 1
    below = 30 + _LINE * -(-len(series) // columns)
    peak = _nice(max((share.interval[1] for share in known), default=1.0))
    frame = Frame(width, 240 + below, left=44, right=16, top=14, bottom=below, peak=peak)
    parts = [
        *frame.grid(4, lambda value: f"{100 * value:g} %"),
        frame.below(0, periods[0]),
        frame.below(1, periods[-1]),
        frame.below(0.5, f"n = {min(share.n for share in known):,} to {max(share.n for share in known):,}"),
    ]
    for number, (name, shares) in enumerate(series.items()):
        low, high = (frame.runs([share.interval[end] if share else None for share in shares]) for end in (0, 1))
        parts += [
            Markup('<polygon class="band c{}" points="{} {}"/>').format(
                number % 8 + 1, one, " ".join(reversed(other.split()))
            )
            for one, other in zip(low, high, strict=True)
        ]
        dash = Markup('<g stroke-dasharray="{}">{}</g>')
        stroke = f"line c{number % 8 + 1}"
        x = 44 + number % columns * (width - 44) // columns
        y = 240 + 38 + _LINE * (number // columns)
        drawn = [polyline(stroke, run) for run in frame.runs([share.value if share else None for share in shares])]
        sample = polyline(stroke, f"{x},{y} {x + 28},{y}")
        parts.append(dash.format(_DASHES[number % 8], Markup("").join([*drawn, sample])))
        parts.append(Markup('<text class="label" x="{}" y="{}">{}</text>').format(x + 34, y + 4, name))
    return frame.svg(title, parts, "lines")


def _room(texts: Iterable[str], most: int) -> int:
    """Units that the longest text takes, about."""
    return min(most, int(_LETTER * max(map(len, texts), default=0)) + 12)


def _nice(value: float) -> float:
    return next((top for top in (0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.8) if value <= top), 1.0)
