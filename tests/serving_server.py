"""A real uvicorn server on a loopback port, in a thread of the test's process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from distriage_serving.app import create_app
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from fastapi import FastAPI

from distriage.classifier import Classifier
from distriage.types import IssueReport, Prediction

WAIT_S = 180.0  # for anything on a machine that is busy with other things; only a hang takes so long


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    client: httpx.Client
    app: FastAPI
    port: int


@contextmanager
def running(load: Callable[[], Classifier], *, wait: bool = True, store: Store | None = None, **settings: Any) -> Iterator[Running]:
    """Start a server with these settings, wait until the model is loaded, and stop it at the end."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(Settings(**settings), load, store)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="on", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    port = listener.getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S, trust_env=False) as client:
            if wait:
                until(lambda: client.get("/readyz").status_code == 200)
            yield Running(client, app, port)
    finally:
        server.should_exit = True
        thread.join(WAIT_S)
        listener.close()
    assert not thread.is_alive(), "the server did not stop"


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in another thread."""
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s, "did not happen in time"
        time.sleep(0.01)


class GatedClassifier(Classifier):
    """Classifies only while its gate is open.

    Attributes:
        gate: Closed at first.
        batches: Titles of each call, in order.
        poison: A title at which the model breaks down.
    """

    def __init__(self, bundle: Path) -> None:
        super().__init__(bundle, threads=1)
        self.gate = threading.Event()
        self.batches: list[list[str]] = []
        self.poison = ""

    def predict(self, reports: Sequence[IssueReport]) -> list[Prediction]:
        self.batches.append([report.title for report in reports])
        assert self.gate.wait(WAIT_S)
        if self.poison and any(report.title == self.poison for report in reports):
            raise RuntimeError(f"onnxruntime choked on {self.poison}")
        return super().predict(reports)
