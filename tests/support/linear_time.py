"""Does work take time in proportion to its text? A frozen pattern is a failed test, not a frozen run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# Of CPU. A slow, busy machine needs half of it for the worst lines of the tests; a pattern that backtracks, minutes.
LIMIT_S = 1.0
LIMIT_S_PER_CHARACTER = 60e-6


class TookTooLongError(Exception):
    """A call used more CPU than it may."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Interrupt the work at its limit; `re` looks for signals."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def in_time(work: Callable[[str], object], text: str) -> bool:
    """Whether the work on the text ends within a time that grows with its length, and no faster."""
    try:
        with cpu_limit(LIMIT_S + LIMIT_S_PER_CHARACTER * len(text)):
            work(text)
    except TookTooLongError:
        return False
    return True
