"""Waiting for what happens elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_S = 180.0  # for anything on a machine that is busy with other things; only a hang takes so long


def until(condition: Callable[[], bool], every_s: float = 0.01) -> None:
    """Wait for something that happens in another thread or process.

    Args:
        every_s: Between two looks; more where a look costs something.
    """
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s, "did not happen in time"
        time.sleep(every_s)
