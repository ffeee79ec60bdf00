"""GitHub's rate limits: when one ends, and how clients of one account tell each other of it. Pure.

https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
"""

from __future__ import annotations

from typing import Final, Protocol

UNSTATED_WAIT_S: Final = 60.0  # GitHub's advice for a secondary rate limit whose answer names no time
LONGEST_WAIT_S: Final = 3700.0  # a primary limit ends within the hour; what names a later time has a wrong clock


class Limits(Protocol):
    """What the clients of one account share: whoever goes on asking deepens the limit for all."""

    def ends_at(self) -> float:
        """When the limit that holds now ends, Unix time in seconds; 0: none does."""

    def reached(self, until: float) -> None:
        """A client was told to wait until then, Unix time in seconds."""


def limit_end(stated: float | None, attempt: int, now: float) -> float:
    """When to ask again, Unix time in seconds.

    Args:
        stated: What GitHub's answer says; None: nothing.
        attempt: How often this request was sent, from 1.
    """
    return now + UNSTATED_WAIT_S * 2 ** (attempt - 1) if stated is None else min(stated, now + LONGEST_WAIT_S)
