"""Waiting for what happens elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_S = 180.0  # for anything on a machine that is busy with other things; only a hang takes so long


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in another thread or process."""
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s, "did not happen in time"
        time.sleep(0.01)
