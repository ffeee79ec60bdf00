"""The port of `distriage worker`: GET /livez and /metrics, for orchestrators and Prometheus. Listens."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from distriage.base.errors import ConfigError
from distriage_serving.logs import log
from distriage_serving.metrics import MEDIA_TYPE, Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import Store, UnavailableError


@contextmanager
def probes(settings: Settings, store: Store, metrics: Metrics, are_alive: Callable[[], bool]) -> Iterator[int]:
    """Answer on the settings' `metrics_port` until the end.

    Args:
        are_alive: Whether the worker's threads work: /livez answers 200, else 503.

    Returns:
        The port, which the system chose if the setting is 0.

    Raises:
        ConfigError: the address cannot be listened on.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds that a client may be silent

        def do_GET(self) -> None:
            if self.path == "/livez":
                status = HTTPStatus.OK if are_alive() else HTTPStatus.SERVICE_UNAVAILABLE
                self._answer(status, "text/plain", status.phrase.encode())
            elif self.path == "/metrics":
                try:
                    metrics.stored(store.figures())
                except UnavailableError:
                    metrics.stored({})
                self._answer(HTTPStatus.OK, MEDIA_TYPE, metrics.text())
            else:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"expected /livez or /metrics")

        def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Do not log probes."""

    host, port = settings.host, settings.metrics_port or 0

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    try:
        server = Server((host, port), Handler)
    except OSError as error:
        raise ConfigError(f"{host}:{port}: cannot listen there: {error.strerror or error}") from None
    port = server.server_address[1]
    log(logging.INFO, "listening", host=host, port=port)
    thread = threading.Thread(target=server.serve_forever, name="probes", daemon=True)
    thread.start()
    try:
        yield port
    finally:
        server.shutdown()
        server.server_close()
