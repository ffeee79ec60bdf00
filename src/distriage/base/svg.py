"""Charts of shares as inline SVG, coloured by the page's style sheet. Pure; every text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart is drawn, in user units: its size, the margins around it, and the value at its upper edge."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    peak: float = 1.0

    def x(self, share: float) -> float:
        """Where a share of the width is."""
        return self.left + share * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Where a value from 0 to `peak` is."""
        return self.top + (1 - value / self.peak) * (self.height - self.top - self.bottom)

    def points(self, places: Iterable[tuple[float, float]]) -> str:
        """Pairs of a share of the width and a value, as SVG `points`."""
        return " ".join(f"{self.x(share):.1f},{self.y(value):.1f}" for share, value in places)

    def runs(self, values: Sequence[float | None]) -> list[str]:
        """`points` of evenly spaced values; a gap stays a gap."""
        step = 1 / max(1, len(values) - 1)
        places = [(number * step, value) for number, value in enumerate(values)]
        return [
            self.points((share, value) for share, value in run if value is not None)
            for known, run in groupby(places, lambda place: place[1] is not None)
            if known
        ]

    def grid(self, parts: int, shown: Callable[[float], str]) -> Iterator[Markup]:
        """Horizontal lines, `parts` spaces between them, each labelled with its value."""
        for number in range(parts + 1):
            value = self.peak * number / parts
            yield Markup(
                '<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
                '<text class="tick" x="{before}" y="{below:.1f}" text-anchor="end">{text}</text>'
            ).format(
                left=self.left,
                right=self.width - self.right,
                y=self.y(value),
                before=self.left - 6,
                below=self.y(value) + 4,
                text=shown(value),
            )

    def below(self, share: float, text: str) -> Markup:
        """A text under the chart."""
        return Markup('<text class="tick" x="{x:.1f}" y="{y}" text-anchor="middle">{text}</text>').format(
            x=self.x(share), y=self.height - self.bottom + 16, text=text
        )

    def names_below(self, names: Sequence[str], most: int) -> Iterator[Markup]:
        """At most about `most` of evenly spaced names."""
        every = max(1, -(-len(names) // most))
        for number in range(0, len(names), every):
            yield self.below(number / max(1, len(names) - 1), names[number])

    def svg(self, title: str, parts: Iterable[Markup], kind: str) -> Markup:
        """The chart; `kind` is its class."""
        return Markup(
            '<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">{parts}</svg>'
        ).format(kind=kind, width=self.width, height=self.height, title=title, parts=Markup("").join(parts))


def polyline(kind: str, points: str) -> Markup:
    """A line of a class through SVG `points`."""
    return Markup('<polyline class="{}" points="{}"/>').format(kind, points)
