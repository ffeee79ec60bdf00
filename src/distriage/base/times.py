"""Times as GitHub writes them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

LAST_S: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()  # later days have no date that can be shown
NEVER_S: Final = 1e12  # later than all times


def epoch_s(text: object) -> float:
    """Unix time in seconds of an ISO 8601 time from 1970 to 9998, by default in UTC; 0 if it is not one."""
    if not isinstance(text, str):
        return 0.0
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return seconds if 0 <= seconds < LAST_S else 0.0
