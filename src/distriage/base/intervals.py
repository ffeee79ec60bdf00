"""Confidence intervals of shares. Pure."""

from __future__ import annotations

import math

_Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


def wilson(hits: int, n: int) -> tuple[float, float]:
    """95 % interval of a share (E. B. Wilson, 1927); 0 to 1 where n is 0."""
    if n == 0:
        return 0.0, 1.0
    share, squared = hits / n, _Z * _Z
    centre = (share + squared / (2 * n)) / (1 + squared / n)
    half = _Z * math.sqrt(share * (1 - share) / n + squared / (4 * n * n)) / (1 + squared / n)
    return max(0.0, centre - half), min(1.0, centre + half)
