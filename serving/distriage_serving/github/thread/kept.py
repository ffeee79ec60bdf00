"""Threads read a moment ago, so that opening one again asks GitHub nothing. In memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from distriage.base.references import IssueReference
from distriage_serving.github.thread.reading import Thread

KEEP_S: Final = 60.0
MAX_KEPT: Final = 200


class Kept:
    """Threads by their issues; any thread of the process may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._threads: OrderedDict[IssueReference, tuple[float, Thread]] = OrderedDict()

    def get(self, issue: IssueReference) -> Thread | None:
        """One that was read within the last `KEEP_S`."""
        with self._lock:
            read_at, thread = self._threads.get(issue, (-KEEP_S, None))
        return thread if self._clock() - read_at < KEEP_S else None

    def put(self, issue: IssueReference, thread: Thread) -> None:
        """Keep one."""
        with self._lock:
            self._threads[issue] = self._clock(), thread
            self._threads.move_to_end(issue)
            while len(self._threads) > MAX_KEPT:
                self._threads.popitem(last=False)
