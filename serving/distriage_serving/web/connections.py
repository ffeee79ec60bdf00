"""uvicorn's connections, with additions: a time limit for a request's head, bounds on the number of connections and of
a body's chunks, errors in our own form.

uvicorn bounds none of them; its `limit_concurrency` counts a connection only after its head, and then refuses everyone.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from distriage_serving.logs import log
from distriage_serving.settings import Settings
from distriage_serving.web.arrivals import peer_of
from distriage_serving.web.context import request_id_of
from distriage_serving.web.door import Door, as_bytes
from distriage_serving.web.problem import ProblemError

BACKLOG: Final = 128  # asyncio takes up to this number of connections before it lets anything else, us too, happen
READ_BYTES: Final = 32 << 10  # h11, uvicorn and we each hold one such part of every body that is on its way
FREE_CHUNKS: Final = 256  # of a body, of any size: parsing them takes as long as a small request
CHUNK_BYTES: Final = 64  # of its body; one more chunk is allowed for each
Made = Callable[..., asyncio.Protocol]


class Waiting:
    """Idle connections: they send a request's head, or nothing. A newcomer takes the place of one.

    Args:
        limit: Most connections, including busy ones.
        timeout_s: Longest idle time.
    """

    def __init__(self, limit: int, timeout_s: float) -> None:
        self.limit = limit
        self.timeout_s = timeout_s
        self._of_peer: dict[str, dict[Connection, None]] = {}  # each the oldest first

    def add(self, connection: Connection) -> None:
        """It waits now."""
        self._of_peer.setdefault(connection.peer, {})[connection] = None

    def discard(self, connection: Connection) -> None:
        """It does not wait any more."""
        of_peer = self._of_peer.get(connection.peer, {})
        of_peer.pop(connection, None)
        if not of_peer:
            self._of_peer.pop(connection.peer, None)

    def longest(self) -> Connection | None:
        """The longest idle connection of the peer with most of them, if any."""
        if not self._of_peer:
            return None
        peer = max(self._of_peer, key=lambda name: len(self._of_peer[name]))
        return next(iter(self._of_peer[peer]))


class Parser(h11.Connection):
    """h11's parser, which refuses the beginning of HTTP/2, and a body in very small chunks: in chunks of 1 byte, a
    megabyte on the wire would keep the whole server busy for a second.

    Attributes:
        refused: Why a request was refused, for its sender; or empty.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER)
        self.refused = ""
        self._left = FREE_CHUNKS * CHUNK_BYTES

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """As h11's.

        Raises:
            h11.RemoteProtocolError: not HTTP/1.1 or 1.0, or chunks that are too small.
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._left = FREE_CHUNKS * CHUNK_BYTES
            if event.http_version not in {b"1.1", b"1.0"}:
                raise self._refuse("expected HTTP/1.1")
        elif isinstance(event, h11.Data):
            self._left += len(event.data) - CHUNK_BYTES * event.chunk_start
            if self._left < 0:
                raise self._refuse(
                    f"the body's chunks are too small; send Content-Length, or {CHUNK_BYTES} bytes a chunk"
                )
        return event

    def _refuse(self, why: str) -> h11.RemoteProtocolError:
        self.refused = why
        return h11.RemoteProtocolError(why)


class Connection(H11Protocol):
    """One connection."""

    conn: Parser

    def __init__(self, waiting: Waiting, door: Door, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = Parser()
        self.peer = ""
        self._waiting = waiting
        self._door = door
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room, if need be, and begin to wait for a request."""
        super().connection_made(transport)
        self.peer = peer_of({"client": self.client})
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]  # of asyncio's own transports: 256 KiB at a time
        if len(self.connections) > self._waiting.limit:
            (self._waiting.longest() or self).abort()
        if not transport.is_closing():
            self._wait()

    def abort(self) -> None:
        """End it without a word, to make room."""
        self._stop_waiting()
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuse a request at once if there is no room; otherwise read on."""
        idle = self.conn.their_state is h11.IDLE and self.conn.our_state is h11.IDLE and not self.conn.trailing_data[0]
        answer = self._door.refusal(data) if idle else None
        if answer is None:
            super().data_received(data)
        else:
            self._unset_keepalive_if_required()
            self.transport.write(answer)
            self._wait()

    def handle_events(self) -> None:
        """Read events; once a head is whole, its time no longer matters."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():  # else the next one came with it
            self._wait()

    def _should_upgrade(self) -> bool:
        """Never; uvicorn would warn of each offer, as HTTP/2 clients make them, and advise a package."""
        return False

    def send_400_response(self, msg: str) -> None:
        """Refuse anything but HTTP/1, too large a head, or too small chunks."""
        self._refuse(ProblemError(400, "bad-request", self.conn.refused or msg))

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting.add(self)
        self._timer = self.loop.call_later(self._waiting.timeout_s, self._give_up)

    def _stop_waiting(self) -> None:
        self._waiting.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        detail = f"the request's head did not arrive within {self._waiting.timeout_s:g} s"
        self._refuse(ProblemError(408, "head-timeout", detail))

    def _refuse(self, problem: ProblemError) -> None:
        """Answer with a problem, if there can be an answer, end the connection, and say so in the log."""
        self._stop_waiting()
        request_id = uuid.uuid4().hex
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # a request whose body broke off here must not answer as well
            request_id = request_id_of(self.cycle.scope)  # type: ignore[arg-type]  # a dictionary, too
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.write(as_bytes(problem, b"close", request_id))
        self.transport.close()
        log(logging.INFO, "request_refused", request_id=request_id, reason=problem.detail)


def protocol(settings: Settings, door: Door) -> Made:
    """The factory that uvicorn calls for each connection."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = settings.max_connections if files < 0 else min(settings.max_connections, max(8, files // 2))
    return partial(Connection, Waiting(limit, settings.head_timeout_s), door)
