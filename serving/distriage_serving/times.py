"""Times as GitHub writes them. Pure."""

from __future__ import annotations

from datetime import datetime


def epoch_s(text: object) -> float:
    """Unix time in seconds of an ISO 8601 time; 0 where it is none."""
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
