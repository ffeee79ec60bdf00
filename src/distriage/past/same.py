"""When the nearest issue is the same one. Pure.

Measured on 147 reports of 31 repositories and their nearest past issues, which a reader judged as the same or not
(`python training/research duplicates`; method in training/LOG.md). The sign of the same issue is its lead over the
second nearest: all issues of a series, or from empty forms, are about equally near.
"""

from __future__ import annotations

import math

MIN_SIMILARITY = 0.4  # below these two nothing was judged
MIN_AHEAD = 0.3
SPOKEN = 0.7  # from this probability on, the named issue was the same in `RIGHT` (cross-validated)
RIGHT = 0.82
_AHEAD, _APART, _OFFSET = 13.6, 0.70, -6.22


def likelihood(similarity: float, ahead: float, days: float) -> float | None:
    """Probability that the nearest past issue is the same one; None if it is beyond the measured range.

    Args:
        ahead: Its similarity less that of the second.
        days: Between the issues.
    """
    if similarity < MIN_SIMILARITY or ahead < MIN_AHEAD:
        return None
    return 1 / (1 + math.exp(-(_OFFSET + _AHEAD * ahead + _APART * math.log1p(days))))


def is_spoken_of(same: float | None) -> bool:
    """Whether a past issue may be called a likely duplicate."""
    return same is not None and same >= SPOKEN
