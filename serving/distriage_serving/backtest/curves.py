"""The back-test's charts. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from distriage.base.svg import Frame, polyline
from distriage_serving.backtest.measure import AxisResult, CurvePoint, Tally

FRAME = Frame(460, 250, left=40, right=22, top=14, bottom=38)
_X, _Y = FRAME.x, FRAME.y


def _chart(title: str, caption: str, parts: Iterable[Markup]) -> Markup:
    under = Markup('<text class="caption" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
        _X(0.5), FRAME.height - 5, caption
    )
    return FRAME.svg(title, [*FRAME.grid(4, "{:.0%}".format), *parts, under], "chart")


def precision_coverage(result: AxisResult) -> Markup:
    """Precision over coverage as the threshold falls, with its 95 % band and the modes."""
    curve = result.curve
    band = [(p.coverage, p.high) for p in curve] + [(p.coverage, p.low) for p in reversed(curve)]
    return _chart(
        f"{result.axis}: precision over coverage",
        "share of the issues that people labelled",
        [
            *(FRAME.below(part / 4, f"{part / 4:.0%}") for part in range(5)),
            Markup('<polygon class="band" points="{}"/>').format(FRAME.points(band)),
            polyline("curve", FRAME.points((p.coverage, p.precision) for p in curve)),
            *(_mark(mode.value, point, number) for number, (mode, point) in enumerate(result.mode_points.items())),
        ],
    )


def _mark(name: str, point: CurvePoint, number: int) -> Markup:
    """A mode with its name, at the end of a line of its own length, as modes may be close together."""
    x, y = _X(point.coverage), _Y(point.precision)
    end = min(y + 26 + 16 * number, _Y(0) - 6)
    side, shift = ("end", 3) if point.coverage > 0.5 else ("start", -3)
    return Markup(
        f'<line class="leader" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{end - 9:.1f}"/>'
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        f'<text class="name" x="{x + shift:.1f}" y="{end:.1f}" text-anchor="{side}">{name}</text>'
    )


def by_date(result: AxisResult) -> Markup:
    """Bars: coverage; dots with 95 % intervals: precision; a span of time each."""
    step = 1 / max(1, len(result.periods))
    every = -(-len(result.periods) // 8)
    parts = []
    for number, (name, tally) in enumerate(result.periods):
        middle = (number + 0.5) * step
        parts.append(_bar(middle, step, tally))
        if number % every == 0:
            parts.append(FRAME.below(middle, name))
    return _chart(f"{result.axis}: coverage and precision by date of filing", "date of filing", parts)


def _bar(middle: float, step: float, tally: Tally) -> Markup:
    coverage, x = tally.coverage or 0.0, _X(middle)
    width = max(1.0, (_X(step) - _X(0)) * 0.7)
    bar = (
        f'<rect class="bar" x="{x - width / 2:.1f}" y="{_Y(coverage):.1f}" width="{width:.1f}" '
        f'height="{_Y(0) - _Y(coverage):.1f}"/>'
    )
    if tally.right.value is None:
        return Markup(bar)
    low, high = tally.right.interval
    return Markup(
        f'{bar}<line class="interval" x1="{x:.1f}" x2="{x:.1f}" y1="{_Y(high):.1f}" y2="{_Y(low):.1f}"/>'
        f'<circle class="mark" cx="{x:.1f}" cy="{_Y(tally.right.value):.1f}" r="3"/>'
    )
