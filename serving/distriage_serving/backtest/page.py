"""The result of a back-test as one HTML page with charts, without scripts or outside files; foreign text is escaped.
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from distriage.base.pages import page_environment
from distriage.base.svg import Frame, polyline
from distriage.base.types import Mode
from distriage.github.history import History
from distriage.model.bundle import Manifest
from distriage.model.taxonomy import Taxonomy
from distriage_serving.backtest.mapping import Meaning
from distriage_serving.backtest.measure import (
    THRESHOLDS,
    AxisResult,
    CurvePoint,
    SignResult,
    Tally,
    proposed_threshold,
    tally_of,
)
from distriage_serving.backtest.replay import Replay

# Of an issue in a list GitHub does not say who set a label; asking would be a request for each issue.
CAVEAT = "labels that a bot set, such as Distriage's own, count as people's, and can make these figures too good"
LATEST = 25  # issues shown one by one
MAX_LABELS = 40  # of the repository's, those without a meaning here
FRAME = Frame(460, 250, left=40, right=22, top=14, bottom=38)
_X, _Y = FRAME.x, FRAME.y


@dataclass(frozen=True, slots=True)
class Backtest:
    """Content of the page."""

    repository: str
    manifest: Manifest
    taxonomy: Taxonomy
    history: History
    replay: Replay
    meaning: Meaning
    results: tuple[AxisResult, ...]
    signs: tuple[SignResult, ...] = ()


def render_page(backtest: Backtest) -> str:
    """The page."""
    environment = page_environment("distriage_serving.backtest")
    replay = backtest.replay
    made_at = replay.model_made_at
    fresh = [item for item in replay.items if made_at is not None and item.issue.created_at >= made_at]
    labels = Counter(label for item in replay.items for label in item.issue.labels)
    unmapped = [(label, count) for label, count in labels.most_common() if label.casefold() not in backtest.meaning]
    page = environment.get_template("page.html").render(
        backtest=backtest,
        replay=replay,
        names={axis.id: axis.name for axis in backtest.taxonomy.axes.values()},
        results=backtest.results,
        charts={result.axis: _charts(result) for result in backtest.results},
        fresh={result.axis: tally_of(result.axis, fresh, Mode.BALANCED) for result in backtest.results}
        if fresh
        else {},
        modes=list(Mode),
        balanced=Mode.BALANCED,
        thresholds=THRESHOLDS,
        proposed={result.axis: proposed_threshold(result) for result in backtest.results},
        caveat=CAVEAT,
        judged=sum(bool(item.truth) for item in replay.items),
        unmapped=unmapped[:MAX_LABELS],
        latest=list(reversed(replay.items[-LATEST:])),
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def _charts(result: AxisResult) -> dict[str, str]:
    return {
        "curve": precision_coverage(result) if result.curve else "",
        "dates": by_date(result) if result.issues else "",
    }


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
