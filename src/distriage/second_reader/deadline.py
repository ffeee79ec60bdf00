"""A time limit for a whole HTTP request. httpx limits each read, so a dripping peer could last. Network I/O."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from threading import Lock, Timer
from types import TracebackType
from typing import Any, Self

import httpx


class Deadline:
    """A context that cuts a request's connection once its time is over, which raises `httpx.ReadTimeout`.

    `trace` goes into the request's extensions. It does not see a kept-alive connection, so the client must keep none.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True
        self._lock = Lock()
        self._sockets: list[socket.socket] = []
        self._is_over = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpx at each step of the request."""
        if not event.endswith("connect_tcp.complete"):
            return
        # A second handle: TLS takes the socket away from the first one, and shutting down counts for both.
        with self._lock:
            self._sockets.append(info["return_value"].get_extra_info("socket").dup())
            if self._is_over:
                self._cut()

    def __enter__(self) -> Self:
        """Start the clock."""
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it; nothing of it is left."""
        self._timer.cancel()
        self._timer.join()
        for kept in self._sockets:
            kept.close()
        if self._is_over and (error is None or isinstance(error, httpx.HTTPError)):
            raise httpx.ReadTimeout("the answer takes too long") from None

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            self._cut()

    def _cut(self) -> None:
        for kept in self._sockets:
            with contextlib.suppress(OSError):  # the other side was faster
                kept.shutdown(socket.SHUT_RDWR)
