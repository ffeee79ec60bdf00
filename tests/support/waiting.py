"""Waiting for what happens elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_S = 180.0  # for anything on a machine that is busy with other things; only a hang takes so long
FIRST_PAUSE_S, LAST_PAUSE_S, GROWTH = 0.002, 0.1, 1.3


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in another thread or process.

    Pauses grow: a short wait ends at once, and a long one leaves the processor to the process that it waits for. A
    look is often a request or a query.
    """
    end_s, pause_s = time.monotonic() + WAIT_S, FIRST_PAUSE_S
    while not condition():
        assert time.monotonic() < end_s, "did not happen in time"
        time.sleep(pause_s)
        pause_s = min(pause_s * GROWTH, LAST_PAUSE_S)
