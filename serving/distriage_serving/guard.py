"""What a request must pass before anything of it is parsed: key, number of requests at once, size and time of its body. ASGI.

The body is read here, whole and bounded, so that the rest of the server never waits for a client; after that, a client that goes away
and a time limit both cancel the work.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distriage_serving.context import request_id_of
from distriage_serving.keys import KeyRing
from distriage_serving.metrics import Metrics
from distriage_serving.problem import ProblemError, unavailable
from distriage_serving.settings import Settings

PROTECTED: Final = "/v1/"
WEBHOOK: Final = "/github/webhook"
MAX_WEBHOOK_BYTES: Final = 25 << 20  # GitHub sends no larger one
ALWAYS: Final = frozenset({"/livez", "/readyz", "/metrics"})  # must answer above all when the server is overloaded
LINGER_S: Final = 2.0  # a refused body is read on and thrown away for so long


class Guard:
    """Lets a request through to the application with its body read, or answers it with a problem."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._keys = KeyRing(settings.api_keys)
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        counted = scope["path"] not in ALWAYS
        self._under_way += counted
        try:
            try:
                self._check_head(scope, counted)
                body = await self._read_body(receive, self._limit(scope))
            except ProblemError as problem:
                await _refuse(problem, scope, receive, send)
                return
            if body is None:
                return
            await self._run(scope, body, receive, send)
        finally:
            self._under_way -= counted

    def _check_head(self, scope: Scope, counted: bool) -> None:
        headers = Headers(scope=scope)
        if scope["path"].startswith(PROTECTED):
            self._keys.check(headers.get("authorization"))
        if counted and self._under_way > self._settings.max_requests:
            raise unavailable("too-many-requests-at-once", f"more than {self._settings.max_requests} requests at the same time", 1)
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limit(scope):
            raise _too_large(self._limit(scope))

    def _limit(self, scope: Scope) -> int:
        """Bytes that the body may have."""
        return MAX_WEBHOOK_BYTES if scope["path"] == WEBHOOK else self._settings.max_body_bytes

    async def _read_body(self, receive: Receive, limit: int) -> bytes | None:
        """The whole body; None: the client went away."""
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._settings.body_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if size > limit:
                        raise _too_large(limit)
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise ProblemError(
                408, "body-timeout", f"the body did not arrive within {self._settings.body_timeout_s:g} s", headers={"Connection": "close"}
            ) from None
        self._metrics.received.inc(size)
        return b"".join(chunks)

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        begun = finished = given = False
        gone = asyncio.create_task(_wait_for_disconnect(receive))

        async def receive_body() -> Message:
            nonlocal given
            if not given:
                given = True
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.shield(gone)
            return {"type": "http.disconnect"}

        async def watched_send(message: Message) -> None:
            nonlocal begun, finished
            begun = True
            finished = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        work = asyncio.ensure_future(self._app(scope, receive_body, watched_send))
        problem: ProblemError | None = None
        try:
            await asyncio.wait({work, gone}, timeout=self._settings.request_timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if work.done() or finished:
                await work
            elif not gone.done():
                problem = unavailable("timeout", f"no answer within {self._settings.request_timeout_s:g} s; send fewer reports at a time", 5)
        except asyncio.CancelledError:  # the time to shut down is over
            problem = unavailable("shutting-down", "the server is shutting down", 1)
            raise
        finally:
            await _cancel(work)
            await _cancel(gone)
            if problem is not None and not begun:
                await problem.response(request_id_of(scope))(scope, receive, send)


def _too_large(limit: int) -> ProblemError:
    return ProblemError(413, "content-too-large", f"the body is larger than {limit:,} bytes; send fewer reports at a time")


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(task: asyncio.Future[None]) -> None:
    if not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


async def _refuse(problem: ProblemError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer before the body has been read.

    A connection that is closed with data unread is reset, and the client may then never see the answer. So the answer goes out
    first, and for a while what the client is still sending is thrown away.
    """

    async def send_and_linger(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            return
        await send({**message, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0 if problem.status == 408 else LINGER_S):
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    await problem.response(request_id_of(scope))(scope, receive, send_and_linger)
