"""Checks before anything of a request is parsed: key, signature, number of requests at once, size and time of its body.
ASGI.

The body is read here, whole and bounded, so the rest of the server never waits for a client; afterwards, a client that
goes away cancels the work, and so does a time limit.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distriage_serving.http_settings import MAX_WEBHOOK_BYTES
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.web.arrivals import Arrivals, Body, too_large
from distriage_serving.web.context import request_id_of
from distriage_serving.web.door import API, Door
from distriage_serving.web.keys import KeyRing
from distriage_serving.web.problem import ProblemError, unavailable
from distriage_serving.web.signature import HEADER, Signature

PROTECTED: Final = "/v1/"
WEBHOOK: Final = "/github/webhook"
ALWAYS: Final = frozenset({"/livez", "/readyz", "/metrics"})  # must answer above all when the server is overloaded
LINGER_S: Final = 2.0  # how long a refused body is read on and thrown away


class Guard:
    """Lets a request through to the application with its body read, or answers it with a problem.

    Requests are of four kinds (`/v1`, the webhook, the queue with its login, the rest), and no kind can use up
    another's share.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, door: Door) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._keys = KeyRing(settings.api_keys)
        self._secret = settings.github_webhook_secret
        self._door = door
        self._arrivals = Arrivals(settings.max_requests, settings.max_held_bytes, settings.body_timeout_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        kind = _kind(scope["path"])
        whole = False

        async def noted() -> Message:
            nonlocal whole
            message = await receive()
            whole = not message.get("more_body", False)
            return message

        try:
            signature = self._check_head(scope)
            self._door.check(kind)
            with Body(self._arrivals, scope, kind, self._limit(scope), signature) as arriving:
                body = await arriving.read(noted)
                if body is None:
                    return
                self._metrics.received.inc(len(body))
                with self._door.inside(kind):
                    await self._run(scope, body, receive, send)
        except ProblemError as problem:
            if problem.status == 401 and kind == "webhook":
                self._metrics.unsigned.inc()
            answer = problem.response(request_id_of(scope))
            await answer(scope, receive, send if whole else _lingering(receive, send, problem.status))

    def _check_head(self, scope: Scope) -> Signature | None:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and "content-length" in headers:  # a proxy may have read another body than we
            detail = "both Content-Length and Transfer-Encoding"
            raise ProblemError(400, "bad-request", detail, headers={"Connection": "close"})
        if scope["path"].startswith(PROTECTED):
            self._keys.check(headers.get("authorization"))
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limit(scope):
            raise too_large(self._limit(scope))
        if scope["path"] != WEBHOOK or scope["method"] != "POST" or self._secret is None:
            return None
        scope["distriage.signed"] = True  # or it does not get as far as the route
        return Signature(self._secret.get_secret_value().encode(), headers.get(HEADER))

    def _limit(self, scope: Scope) -> int:
        """Bytes that the body may have."""
        return MAX_WEBHOOK_BYTES if scope["path"] == WEBHOOK else self._settings.max_body_bytes

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
            await asyncio.wait(
                {work, gone}, timeout=self._settings.request_timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            if work.done() or finished:
                await work
            elif not gone.done():
                problem = unavailable(
                    "timeout",
                    f"no answer within {self._settings.request_timeout_s:g} s",
                    5,
                )
        except asyncio.CancelledError:  # the time to shut down is over
            problem = unavailable("shutting-down", "the server is shutting down", 1)
            raise
        finally:
            await _cancel(work)
            await _cancel(gone)
            if problem is not None and not begun:
                await problem.response(request_id_of(scope))(scope, receive, send)


def _kind(path: str) -> str:
    """Empty: never refused."""
    if path in ALWAYS:
        return ""
    if path == WEBHOOK:
        return "webhook"
    if path.startswith(PROTECTED):
        return API
    return "people" if path.startswith(("/queue", "/log")) else "other"


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(task: asyncio.Future[None]) -> None:
    if not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


def _lingering(receive: Receive, send: Send, status: int) -> Send:
    """For an answer before the body has been read.

    A connection closed with unread data is reset, and the client may never see the answer. So the answer goes out
    first, and for a while the client's further data is thrown away.
    """

    async def send_and_linger(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            return
        await send({**message, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0 if status == 408 else LINGER_S):
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_and_linger
