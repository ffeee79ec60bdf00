"""Work of several requests, and who is next. Pure; for one thread at a time.

The oldest request has every second turn, so that many short ones cannot hold up a long one for ever. The other turns go
to the one of the others of which the fewest pieces were begun, so that a long one does not hold up short ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Piece:
    """One piece of work.

    Attributes:
        queued_s: When it was queued, by `time.perf_counter`.
        future: Cancelled by one who does not wait any more.
    """

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    queued_s: float
    future: Future[Any] = field(default_factory=Future)


@dataclass(slots=True, eq=False)
class _Request:
    pieces: deque[Piece]
    begun: int = 0

    @property
    def left(self) -> int:
        return sum(not piece.future.cancelled() for piece in self.pieces)


class Turns:
    """Requests with pieces that wait."""

    def __init__(self) -> None:
        self._requests: list[_Request] = []  # the oldest first
        self._oldest_is_next = True

    @property
    def waiting(self) -> int:
        """Pieces that wait, without cancelled ones."""
        return sum(request.left for request in self._requests)

    def before(self, pieces: int) -> int:
        """About how many pieces have their turn before the last of a new request with this number of pieces."""
        return sum(min(request.left, pieces) for request in self._requests)

    def add(self, pieces: Iterable[Piece]) -> None:
        """A request comes; it may be empty."""
        if waiting := deque(pieces):
            self._requests.append(_Request(waiting))

    def next(self) -> Piece | None:
        """The piece whose turn it is, now running; None if none waits."""
        while self._requests:
            oldest, *others = self._requests
            request = min(others, key=lambda each: each.begun) if others and not self._oldest_is_next else oldest
            piece = request.pieces.popleft()
            if not request.pieces:
                self._requests.remove(request)
            if piece.future.set_running_or_notify_cancel():
                request.begun += 1
                self._oldest_is_next = request is not oldest
                return piece
        return None
