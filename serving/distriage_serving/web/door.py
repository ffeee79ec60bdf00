"""How many requests are under way, and the answer to one that comes on top of them, before anything of it is parsed.

Under four times the load that a server can carry, three of four requests are refused, so that refusing must cost next
to nothing: no parser, no task and no line in the log for each.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from distriage_serving.logs import log
from distriage_serving.metrics import Metrics
from distriage_serving.web.context import REQUEST_ID
from distriage_serving.web.problem import TITLES, ProblemError, unavailable

API: Final = "api"
CLASSIFY: Final = "/v1/classify"
LOG_EVERY_S: Final = 1.0
_ID: Final = "0" * 32  # in place of a request's
_GIVEN_ID: Final = re.compile(rb"\r\nx-request-id: ?(%s)\r\n" % REQUEST_ID.pattern.encode(), re.I)
_BEGINS: Final = f"POST {CLASSIFY} HTTP/1.1\r\n".encode()
_LENGTH: Final = re.compile(rb"\r\ncontent-length: ?(\d{1,9})(?=\r\n)", re.I)
_UNUSUAL: Final = re.compile(rb"\r\n(?:transfer-encoding|connection: ?close|expect)", re.I)


class Door:
    """Counts the requests of each kind that are under way."""

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._metrics = metrics
        self._answer = as_bytes(self._problem(), b"keep-alive", _ID)  # made once, but for the id
        self._working: Counter[str] = Counter()
        self._refused = 0
        self._logged_s = 0.0

    def check(self, kind: str) -> None:
        """Refuse a request if its kind has no room.

        Args:
            kind: Never refused if empty.

        Raises:
            ProblemError: no room (503).
        """
        if kind and self._working[kind] >= self._most:
            raise self._problem()

    def _problem(self) -> ProblemError:
        return unavailable("too-many-requests-at-once", f"more than {self._most} requests at the same time", 1)

    @contextmanager
    def inside(self, kind: str) -> Iterator[None]:
        """While a request is under way; raises what `check` raises."""
        self.check(kind)
        self._working[kind] += 1
        try:
            yield
        finally:
            self._working[kind] -= 1

    def refusal(self, data: bytes) -> bytes | None:
        """The refusal of data on an idle connection, if there is no room; None to parse it.

        Args:
            data: Refused here only if it is one whole request to classify.
        """
        if self._working[API] < self._most or not _is_whole(data):
            return None
        began_s = time.perf_counter()
        if given := _GIVEN_ID.search(data, 0, data.index(b"\r\n\r\n") + 2):
            answer = as_bytes(self._problem(), b"keep-alive", given[1].decode())
        else:
            answer = self._answer.replace(_ID.encode(), uuid.uuid4().hex.encode())
        self._refused += 1
        self._metrics.answered("POST", CLASSIFY, 503, time.perf_counter() - began_s)
        if began_s - self._logged_s >= LOG_EVERY_S:
            log(logging.WARNING, "requests_refused", count=self._refused)
            self._refused, self._logged_s = 0, began_s
        return answer


def as_bytes(problem: ProblemError, connection: bytes, request_id: str) -> bytes:
    """A problem as bytes for the wire."""
    response = problem.response(request_id)
    line = f"HTTP/1.1 {problem.status} {TITLES[problem.status]}\r\n".encode()
    headers = [*response.raw_headers, (b"x-request-id", request_id.encode()), (b"connection", connection)]
    return line + b"".join(b"%s: %s\r\n" % header for header in headers) + b"\r\n" + bytes(response.body)


def _is_whole(data: bytes) -> bool:
    if not data.startswith(_BEGINS):
        return False
    head, blank, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.findall(head + b"\r\n")
    return bool(blank) and len(length) == 1 and int(length[0]) == len(body) and not _UNUSUAL.search(head)
