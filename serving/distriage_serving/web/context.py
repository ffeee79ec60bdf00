"""Around each request: id, one log line, counters, headers of every answer, a 500 for the unforeseen. ASGI."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Set
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distriage_serving.logs import log
from distriage_serving.metrics import Metrics
from distriage_serving.web.problem import ProblemError

UNMATCHED: Final = "unmatched"
CLIENT_CLOSED: Final = 499  # nginx's number for a client that did not wait; only in logs and metrics
REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")  # safe in logs and headers
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_QUIET: Final = frozenset({"/livez", "/readyz", "/metrics"})  # asked every few seconds by machines


def request_id_of(scope: Scope) -> str:
    """The id of a request: its sender's, or one made when it is first asked for."""
    if "distriage.request_id" not in scope:
        given = Headers(scope=scope).get("x-request-id", "")
        scope["distriage.request_id"] = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    return str(scope["distriage.request_id"])


class RequestContext:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Set[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = paths  # of all routes: a request that is refused early has not been routed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(scope)
        method = str(scope["method"])
        if method == "HEAD":  # as GET; uvicorn leaves the body out of the answer
            scope = {**scope, "method": "GET"}
        scope["distriage.log"] = {}
        started_s = time.perf_counter()
        status = CLIENT_CLOSED

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            log(logging.ERROR, "request_failed", error, request_id=request_id)
            if (
                status != CLIENT_CLOSED
            ):  # only breaking off a begun answer informs the client; the message may quote the report
                raise RuntimeError("answer broken off") from None
            problem = ProblemError(500, "internal-error", "the server failed; its log has more under the request id")
            await problem.response(request_id)(scope, receive, send_with_headers)
        finally:
            self._metrics.in_flight.dec()
            seconds = time.perf_counter() - started_s
            # Any other path may hold anything; routes are few.
            route = scope["path"] if scope["path"] in self._paths else getattr(scope.get("route"), "path", UNMATCHED)
            self._metrics.answered(method, route, status, seconds)
            level = logging.DEBUG if route in _QUIET and status == 200 else logging.INFO
            log(
                level,
                "request",
                request_id=request_id,
                method=method if method.isalpha() and len(method) <= 10 else "other",
                route=route,
                status=status,
                duration_ms=round(seconds * 1000, 1),
                **scope["distriage.log"],
            )
