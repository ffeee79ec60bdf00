"""Charts as inline SVG; the page's style sheet colours them.
Pure: numbers in, markup out, and no text of anybody else's.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from distriage_serving.backtest.measure import AxisResult, CurvePoint, Tally

WIDTH, HEIGHT = 460, 250  # user units
LEFT, RIGHT, TOP, BOTTOM = 40, 22, 14, 38
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)


def _frame(title: str, content: Sequence[str]) -> Markup:
    rows = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(tick):.1f}" y2="{_y(tick):.1f}"/>'
        f'<text class="tick" x="{LEFT - 6}" y="{_y(tick) + 3.5:.1f}" text-anchor="end">{tick:.0%}</text>'
        for tick in _TICKS
    ]
    body = "".join([*rows, *content])
    return Markup(f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{body}</svg>')


def precision_coverage(result: AxisResult) -> Markup:
    """Precision over coverage as the threshold falls, with its 95 % band, and where the modes stand."""
    curve = result.curve
    ticks = [
        f'<text class="tick" x="{_x(tick):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{tick:.0%}</text>'
        for tick in _TICKS
    ]
    band = [(point.coverage, point.high) for point in curve] + [
        (point.coverage, point.low) for point in reversed(curve)
    ]
    marks = [_mark(mode.value, point, number) for number, (mode, point) in enumerate(result.mode_points.items())]
    caption = (
        f'<text class="caption" x="{_x(0.5):.1f}" y="{HEIGHT - 5}" text-anchor="middle">'
        "share of the issues that people labelled</text>"
    )
    return _frame(
        f"{result.axis}: precision over coverage",
        [
            *ticks,
            f'<polygon class="band" points="{_points(band)}"/>',
            f'<polyline class="curve" points="{_points([(p.coverage, p.precision) for p in curve])}"/>',
            *marks,
            caption,
        ],
    )


def _mark(name: str, point: CurvePoint, number: int) -> str:
    """A mode with its name, at the end of a line of its own length: modes may stand close together."""
    x, y = _x(point.coverage), _y(point.precision)
    end = min(y + 26 + 16 * number, _y(0) - 6)
    side, shift = ("end", 3) if point.coverage > 0.5 else ("start", -3)
    return (
        f'<line class="leader" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{end - 9:.1f}"/>'
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        f'<text class="name" x="{x + shift:.1f}" y="{end:.1f}" text-anchor="{side}">{name}</text>'
    )


def by_date(result: AxisResult) -> Markup:
    """Bars: coverage; dots with 95 % intervals: precision; a span of time each."""
    count = max(1, len(result.periods))
    step = 1 / count
    every = -(-count // 8)
    parts = []
    for number, (name, tally) in enumerate(result.periods):
        middle = (number + 0.5) * step
        parts.append(_bar(middle, step, tally))
        if number % every == 0:
            parts.append(
                f'<text class="tick" x="{_x(middle):.1f}" y="{HEIGHT - BOTTOM + 15}" '
                f'text-anchor="middle">{escape(name)}</text>'
            )
    caption = f'<text class="caption" x="{_x(0.5):.1f}" y="{HEIGHT - 5}" text-anchor="middle">date of filing</text>'
    return _frame(f"{result.axis}: coverage and precision by date of filing", [*parts, caption])


def _bar(middle: float, step: float, tally: Tally) -> str:
    coverage = tally.coverage or 0.0
    width = max(1.0, (_x(step) - _x(0)) * 0.7)
    bar = (
        f'<rect class="bar" x="{_x(middle) - width / 2:.1f}" y="{_y(coverage):.1f}" '
        f'width="{width:.1f}" height="{_y(0) - _y(coverage):.1f}"/>'
    )
    if tally.precision is None:
        return bar
    low, high = tally.interval
    return (
        f'{bar}<line class="interval" x1="{_x(middle):.1f}" x2="{_x(middle):.1f}" y1="{_y(high):.1f}" '
        f'y2="{_y(low):.1f}"/>'
        f'<circle class="mark" cx="{_x(middle):.1f}" cy="{_y(tally.precision):.1f}" r="3"/>'
    )
