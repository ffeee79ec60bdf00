"""Work of several requests, and who is next. Pure; for one thread at a time.

The oldest request has every second turn, so that many short ones cannot hold up a long one for ever. The other turns go
to the one of the others of which the fewest pieces were begun, so that a long one does not hold up short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Piece:
    """One piece of work.

    Attributes:
        queued_s: When it was queued, by `time.perf_counter`.
        future: Cancelled by one who does not wait any more, who then has the piece dropped.
    """

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    queued_s: float
    future: Future[Any] = field(default_factory=Future)


@dataclass(slots=True, eq=False)
class _Request:
    pieces: dict[Piece, None]  # those that wait, in their order
    begun: int = 0


class Turns:
    """Requests with pieces that wait."""

    def __init__(self) -> None:
        self._requests: list[_Request] = []  # the oldest first
        self._request_of: dict[Piece, _Request] = {}
        self._oldest_is_next = True

    @property
    def waiting(self) -> int:
        """Pieces that wait."""
        return len(self._request_of)

    def before(self, pieces: int) -> int:
        """About how many pieces have their turn before the last of a new request with this number of pieces."""
        if not self._requests:
            return 0
        oldest, *others = (len(request.pieces) for request in self._requests)
        in_turn = sum(min(left, pieces) for left in others)
        return in_turn + min(oldest, in_turn + pieces)  # the oldest has as many turns as all others together

    def add(self, pieces: Iterable[Piece]) -> None:
        """A request comes; it may be empty."""
        request = _Request(dict.fromkeys(pieces))
        if request.pieces:
            self._requests.append(request)
            self._request_of.update(dict.fromkeys(request.pieces, request))

    def drop(self, piece: Piece) -> None:
        """It does not wait any more, if it did."""
        request = self._request_of.pop(piece, None)
        if request is not None:
            del request.pieces[piece]
            if not request.pieces:
                self._requests.remove(request)

    def next(self) -> Piece | None:
        """The piece whose turn it is, now running; None if none waits."""
        while self._requests:
            oldest, *others = self._requests
            request = min(others, key=lambda each: each.begun) if others and not self._oldest_is_next else oldest
            piece = next(iter(request.pieces))
            self.drop(piece)
            if piece.future.set_running_or_notify_cancel():  # else it was cancelled a moment ago
                request.begun += 1
                self._oldest_is_next = request is not oldest
                return piece
        return None
