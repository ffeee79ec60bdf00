"""Values kept in memory for a while. Any thread may use them."""

from __future__ import annotations

import math
import threading
import time
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """The latest values by their keys, up to a number; beyond it the oldest goes first.

    Attributes:
        clock: Seconds; for tests.
    """

    def __init__(self, most: int, for_s: float = math.inf) -> None:
        self.clock = time.monotonic
        self._most, self._for_s = most, for_s
        self._values: dict[Key, tuple[float, Value]] = {}  # the oldest first
        self._lock = threading.Lock()

    def get(self, key: Key, *, stale: bool = False) -> Value | None:
        """A value that was put within the last `for_s` seconds; if stale, at any time."""
        put_at, value = self._values.get(key, (-math.inf, None))
        return value if stale or self.clock() - put_at < self._for_s else None

    def put(self, key: Key, value: Value) -> None:
        """Keep one, in place of the earlier one."""
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = self.clock(), value
            if len(self._values) > self._most:
                del self._values[next(iter(self._values))]

    def drop(self, key: Key) -> None:
        """Forget one."""
        with self._lock:
            self._values.pop(key, None)
