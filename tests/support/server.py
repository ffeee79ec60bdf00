"""A real uvicorn server on a loopback port, in a thread of the test's process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from distriage.classifier import Classifier
from distriage_serving.app import create_app
from distriage_serving.server import listen
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.connections import BACKLOG, Waiting, protocol
from distriage_serving.web.rooms import rooms_of

from support import local_http
from support.waiting import WAIT_S, until

ANEW = httpx.Limits(max_keepalive_connections=0)  # a connection for each request


@dataclass(frozen=True)
class Running:
    """A server that answers.

    Attributes:
        client: Opens a connection for each request: a kept one may just be ending.
        waiting: Connections without a request under way, and how long they may wait.
    """

    client: httpx.Client
    app: FastAPI
    port: int
    waiting: Waiting


@contextmanager
def running(
    load: Callable[[], Classifier], *, wait: bool = True, store: Store | None = None, **settings: Any
) -> Iterator[Running]:
    """Start a server with these settings, wait until the model is loaded, and stop it at the end."""
    listener = listen("127.0.0.1", 0)
    configuration = Settings(**settings)
    app = create_app(configuration, load, store)
    made = protocol(configuration, rooms_of(app).door)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            http=made,  # type: ignore[arg-type]
            backlog=BACKLOG,
            timeout_graceful_shutdown=5,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    port = listener.getsockname()[1]
    try:
        with local_http.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S, limits=ANEW) as client:
            if wait:
                until(lambda: client.get("/readyz").status_code == 200)
            yield Running(client, app, port, made.args[0])  # type: ignore[attr-defined]
    finally:
        server.should_exit = True
        thread.join(WAIT_S)
        listener.close()
    assert not thread.is_alive(), "the server did not stop"


@contextmanager
def served(bundle: Path, log: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The process and its port, ready."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DISTRIAGE_")}
    command = [sys.executable, "-m", "distriage", "serve", "--port", "0", "--model", str(bundle)]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env={**clean, **environment})
    try:
        until(lambda: process.poll() is not None or (bool(port := listening(log)) and _status(port) == 200))
        assert process.poll() is None, log.read_text()
        yield process, listening(log)
    finally:
        process.kill()
        process.wait(WAIT_S)


def listening(log: Path) -> int:
    """The port that a server's log names; 0: none yet."""
    found = re.search(r'"event": "listening".*"port": (\d+)', log.read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def _status(port: int) -> int:
    try:
        return local_http.get(f"http://127.0.0.1:{port}/readyz").status_code
    except httpx.HTTPError:
        return 0
