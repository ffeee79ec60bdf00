"""Failed logins: a peer waits longer each time; if many fail at once, everyone waits a little. Pure but for memory."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

FREE: Final = 5  # failures of one peer without a wait
LONGEST_S: Final = 60
FORGOTTEN_AFTER_S: Final = 900
MAX_PEERS: Final = 10_000
BUSY: Final = 30  # failures of all within a minute, after which each attempt takes `SLOW_S`
SLOW_S: Final = 1.0


class Attempts:
    """One process's; for one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()  # peer -> failures, time of the last one
        self._recent: deque[float] = deque(maxlen=BUSY)

    def wait_s(self, peer: str) -> int:
        """Whole seconds until this peer may try again; 0: now."""
        count, last_s = self._failed.get(peer, (0, 0.0))
        if count <= FREE or self._clock() - last_s > FORGOTTEN_AFTER_S:
            return 0
        until_s = last_s + min(LONGEST_S, 2 ** (count - FREE))
        return max(0, int(until_s - self._clock() + 0.999))

    def delay_s(self) -> float:
        """Seconds to let pass before an attempt is looked at."""
        return SLOW_S if len(self._recent) == BUSY and self._clock() - self._recent[0] < 60 else 0.0

    def failed(self, peer: str) -> None:
        """Count a failure."""
        now_s = self._clock()
        count, last_s = self._failed.pop(peer, (0, now_s))
        self._failed[peer] = (1 if now_s - last_s > FORGOTTEN_AFTER_S else count + 1), now_s
        if len(self._failed) > MAX_PEERS:
            self._failed.popitem(last=False)
        self._recent.append(now_s)

    def succeeded(self, peer: str) -> None:
        """Forget its failures; its last one was counted before it was known."""
        self.take_back(peer)
        self._failed.pop(peer, None)

    def take_back(self, peer: str) -> None:
        """Do not count its last failure: the attempt could not be checked."""
        count, last_s = self._failed.pop(peer, (0, math.nan))
        if count > 1:
            self._failed[peer] = count - 1, last_s
        if last_s in self._recent:
            self._recent.remove(last_s)
