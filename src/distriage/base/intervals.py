"""Shares and their confidence intervals. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `n`."""

    hits: int
    n: int

    @property
    def value(self) -> float | None:
        """None without counts."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval; see `wilson`."""
        return wilson(self.hits, self.n)


def wilson(hits: int, n: int) -> tuple[float, float]:
    """95 % interval of a share (E. B. Wilson, 1927); 0 to 1 where n is 0."""
    if n == 0:
        return 0.0, 1.0
    share, squared = hits / n, _Z * _Z
    centre = (share + squared / (2 * n)) / (1 + squared / n)
    half = _Z * math.sqrt(share * (1 - share) / n + squared / (4 * n * n)) / (1 + squared / n)
    return max(0.0, centre - half), min(1.0, centre + half)
