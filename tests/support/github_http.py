"""The HTTP side of the double of GitHub: a local port, kept connections, and all that can go wrong with a request."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from support.faults import Fault, Trouble

WRITES = frozenset({"POST", "PATCH", "PUT", "DELETE"})


@dataclass(frozen=True)
class Request:
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(default=b"", repr=False)

    @property
    def place(self) -> str:
        """The path without query, decoded."""
        return unquote(urlsplit(self.path).path)

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters."""
        return dict(parse_qsl(urlsplit(self.path).query))

    @property
    def data(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body or b"null")

    @property
    def token(self) -> str | None:
        """The bearer token."""
        return self.headers["authorization"].removeprefix("Bearer ") if "authorization" in self.headers else None


# Never taken twice in a process: the product keeps what a repository at an address has, such as its forms.
_PORTS: set[int] = set()


class LocalServer:
    """Serves on a local port, several connections at a time, one request at a time.

    Args of the constructor:
        reply: The right answer; may change what it is about.
        trouble: What goes wrong with a request; None: nothing.

    Attributes:
        connections: How many were opened.
    """

    def __init__(self, reply: Callable[[Request], Fault], trouble: Callable[[Request], Trouble | None]) -> None:
        self._reply, self._trouble = reply, trouble
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._server = self._listening()
        self._server.daemon_threads = True
        self.connections = 0
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def _listening(self) -> ThreadingHTTPServer:
        while True:
            server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
            if server.server_port not in _PORTS:
                _PORTS.add(server.server_port)
                return server
            server.server_close()

    def close(self) -> None:
        """Stop listening, and end the connections that a client keeps."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for kept in self._sockets:
            with contextlib.suppress(OSError):
                kept.shutdown(socket.SHUT_RDWR)

    def _answer(self, request: Request) -> tuple[Fault, Trouble]:
        with self._lock:
            trouble = self._trouble(request) or Trouble("")
            lost = (trouble.fault is not None or trouble.reset) and not trouble.after
            answer = Fault(0) if lost else self._reply(request)
        return trouble.fault or answer, trouble

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a kept connection would wait 40 ms for each answer

            def setup(self) -> None:
                super().setup()
                server.connections += 1
                server._sockets.append(self.connection)

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if len(body) < length:  # the client was killed in the middle; GitHub does nothing then either
                    self.close_connection = True
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer, trouble = server._answer(Request(self.command, self.path, headers, body))
                time.sleep(trouble.slow_s)
                if trouble.reset:
                    # SO_LINGER of no time: the kernel answers with RST in place of an orderly end.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if trouble.reset or answer.status == 0:
                    self.close_connection = True
                    return
                content = answer.body.encode() if answer.status not in {204, 304} else b""
                given = {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(len(content))}
                if answer.status in {204, 304}:
                    given = {}
                try:
                    self.send_response(answer.status)
                    for name, value in {**given, **answer.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:  # the client gave up on a slow answer
                    self.close_connection = True

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815

            def handle(self) -> None:
                with contextlib.suppress(OSError):  # the other side is gone
                    super().handle()

            def finish(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

            def log_message(self, *_: object) -> None:
                pass

        return Handler
