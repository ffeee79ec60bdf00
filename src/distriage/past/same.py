"""When a near issue is the same one. Pure.

Measured on 147 reports of 31 repositories with the past issue that was nearest, which a reader judged to be the same
issue or another one; `python training/research duplicates` measures it, training/LOG.md says how. What speaks for the
same issue is how far the nearest one is ahead of the second: of a series, or of forms left empty, all are near alike.
"""

from __future__ import annotations

import math

MIN_SIMILARITY = 0.4  # below these two nothing was judged
MIN_AHEAD = 0.3
SPOKEN = 0.7  # from this probability on, what is named as the same issue was so in `RIGHT` (cross-validated)
RIGHT = 0.82
_AHEAD, _APART, _OFFSET = 13.6, 0.70, -6.22


def likelihood(similarity: float, ahead: float, days: float) -> float | None:
    """Probability that the nearest past issue is the same one; None: too far for a figure that was measured.

    Args:
        ahead: Its similarity less that of the second.
        days: Between the two.
    """
    if similarity < MIN_SIMILARITY or ahead < MIN_AHEAD:
        return None
    return 1 / (1 + math.exp(-(_OFFSET + _AHEAD * ahead + _APART * math.log1p(days))))


def is_spoken_of(same: float | None) -> bool:
    """Whether a past issue may be called a likely duplicate."""
    return same is not None and same >= SPOKEN
