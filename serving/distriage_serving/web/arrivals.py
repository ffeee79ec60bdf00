"""Bodies being received: bounds on their number and their bytes. The biggest holder gives way.

A slow body costs its sender nothing and us a place. So no newcomer is refused for lack of a place: it takes that of the
oldest body of the peer with most bodies, and an honest sender is through in a moment.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from typing import Final, Self

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from distriage_serving.web.problem import ProblemError, unavailable
from distriage_serving.web.signature import Signature

FREE_BYTES: Final = (
    64 << 10
)  # of each body, which the bound for all together leaves out: small requests always get through


def peer_of(scope: Scope) -> str:
    """Who sends: an IPv4 address, or the /64 of an IPv6 one, which is one customer's."""
    client = scope.get("client")
    try:
        address = ipaddress.ip_address(client[0] if client else "")
    except ValueError:
        return ""
    return str(address if address.version == 4 else ipaddress.ip_network((address, 64), strict=False))


def has_body(scope: Scope) -> bool:
    """Whether a request announces one."""
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


class Arrivals:
    """The bodies of one server.

    Args:
        places: Most bodies of one kind of request.
        max_bytes: Most bytes of all bodies together, held until their requests are answered.
        timeout_s: A body must arrive within this time.
    """

    def __init__(self, places: int, max_bytes: int, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._places = places
        self._max_bytes = max_bytes
        self._held = 0
        self._arriving: dict[Body, None] = {}  # the oldest first

    def enter(self, body: Body) -> None:
        """Give a body a place, if need be another's."""
        same = [other for other in self._arriving if other.kind == body.kind]
        if len(same) >= self._places:
            count = Counter(other.peer for other in same)
            self._end(max(same, key=lambda other: count[other.peer]))  # the first of equals is the oldest
        self._arriving[body] = None

    def leave(self, body: Body) -> None:
        """The body has arrived, or will not."""
        self._arriving.pop(body, None)

    def hold(self, body: Body, size: int) -> None:
        """Count more bytes of a body.

        Raises:
            ProblemError: no room, and no bigger holder to push aside (503).
        """
        while self._held + size > self._max_bytes:
            of_peer = Counter[str]()
            for other in self._arriving:
                of_peer[other.peer] += other.held
            greediest = max(self._arriving, key=lambda other: (of_peer[other.peer], other.held))
            if of_peer[greediest.peer] <= of_peer[body.peer]:
                raise unavailable("too-many-requests-at-once", "too many large bodies at the same time", 5)
            self._end(greediest)
        self._held += size
        body.held += size

    def release(self, body: Body) -> None:
        """The body is not held any more."""
        body.drop()
        self._held -= body.held
        body.held = 0

    def _end(self, body: Body) -> None:
        self.leave(body)
        self.release(body)
        body.end()


class Body:
    """One request's body; a context that releases it at its end.

    Args:
        kind: The request's; each kind has its own places.
        signature: The required one, if any.
    """

    def __init__(self, arrivals: Arrivals, scope: Scope, kind: str, limit: int, signature: Signature | None) -> None:
        self.kind = kind
        self.peer = peer_of(scope)
        self.held = 0
        self._chunks: list[bytes] = []
        self._arrivals = arrivals
        self._scope = scope
        self._limit = limit
        self._signature = signature
        self._timeout = asyncio.timeout(arrivals.timeout_s)
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._arrivals.release(self)

    async def read(self, receive: Receive) -> bytes | None:
        """The whole body; None if the client went away.

        Raises:
            ProblemError: too large (413), too slow (408), pushed aside or no room for it (503; 408 for a delivery or a
                form, see `_late`), wrongly signed (401).
        """
        announced = has_body(self._scope)
        try:
            async with self._timeout:
                if announced:
                    self._arrivals.enter(self)
                whole = await self._receive_all(receive)
        except TimeoutError:
            raise self._late() from None
        finally:
            self._arrivals.leave(self)
        if not whole:
            return None
        if self._signature is not None:
            self._signature.check()
        body = b"".join(self._chunks)
        self.drop()
        return body

    def _late(self) -> ProblemError:
        if not self._ended:
            detail = f"the body did not arrive within {self._arrivals.timeout_s:g} s"
        elif self.kind == "api":  # programs heed a 503's Retry-After
            return unavailable("too-many-requests-at-once", "other requests needed this one's place", 1)
        else:
            detail = "other requests needed this one's place"
        return ProblemError(408, "body-timeout", detail, headers={"Connection": "close"})

    async def _receive_all(self, receive: Receive) -> bool:
        size = 0
        while True:
            message = await receive()
            if self._ended:  # the last chunk may come before the time-out that `end` asks for
                raise TimeoutError
            if message["type"] == "http.disconnect":
                return False
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self._limit:
                raise too_large(self._limit)
            if size > FREE_BYTES:
                self._arrivals.hold(self, len(chunk))
            if self._signature is not None:
                self._signature.update(chunk)
            self._chunks.append(chunk)
            if not message.get("more_body", False):
                return True

    def drop(self) -> None:
        """Release the received bytes: an error's traceback would keep them until the error has been sent."""
        self._chunks.clear()

    def end(self) -> None:
        """Let its request fail with a time-out, now."""
        self._ended = True
        if not self._timeout.expired():
            self._timeout.reschedule(0)


def too_large(limit: int) -> ProblemError:
    """A 413."""
    return ProblemError(
        413, "content-too-large", f"the body is larger than {limit:,} bytes; send fewer or shorter reports"
    )
