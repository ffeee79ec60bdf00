"""GitHub's rate limits: when one ends, and how the clients of one account share it. Pure.

https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

UNSTATED_WAIT_S: Final = 60.0  # GitHub's advice for a secondary rate limit whose answer names no time
LONGEST_UNSTATED_S: Final = 3600.0
LONGEST_WAIT_S: Final = 3700.0  # a primary limit ends within the hour; a later time comes from a wrong clock


class Limits(Protocol):
    """State shared by the clients of one account: any request under a limit prolongs it for all."""

    def ends_at(self) -> float:
        """When the limit that holds now ends, Unix time in seconds; 0: none does."""

    def reached(self, stated: float | None) -> float:
        """Note that GitHub told a client to wait.

        Args:
            stated: Until when, Unix time in seconds; None if GitHub did not say.

        Returns:
            When to ask again.
        """


@dataclass(frozen=True, slots=True)
class Unstated:
    """A wait that GitHub asked for without a time.

    Attributes:
        until: Its end, Unix time in seconds.
        wait_s: How long it was, in seconds.
    """

    until: float
    wait_s: float

    @classmethod
    def after(cls, last: Unstated | None, now: float) -> Unstated:
        """The wait that begins now: twice the last one, unless that has been over for longer than it took.

        While the last one lasts, the answer belongs to a request that was under way when it began.
        """
        if last is not None and now < last.until:
            return last
        wait_s = UNSTATED_WAIT_S
        if last is not None and now <= last.until + last.wait_s:
            wait_s = min(LONGEST_UNSTATED_S, last.wait_s * 2)
        return cls(now + wait_s, wait_s)


def stated_end(stated: float, now: float) -> float:
    """When to ask again according to GitHub, Unix time in seconds.

    An end that has passed is as good as none: GitHub has just refused.
    """
    return min(stated, now + LONGEST_WAIT_S) if stated > now else now + UNSTATED_WAIT_S


class OwnLimits:
    """Limits of a client on its own."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._unstated: Unstated | None = None

    def ends_at(self) -> float:
        """Always 0: this client has waited already."""
        return 0.0

    def reached(self, stated: float | None) -> float:
        """Note a limit, without sharing it."""
        if stated is not None:
            return stated_end(stated, self._now())
        self._unstated = Unstated.after(self._unstated, self._now())
        return self._unstated.until
