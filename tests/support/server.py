"""A real uvicorn server on a loopback port, in a thread of the test's process."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from distriage.classifier import Classifier
from distriage.reading import ReadReport
from distriage.types import IssueReport, Prediction
from distriage_serving.app import create_app
from distriage_serving.server import listen
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.connections import BACKLOG, protocol

WAIT_S = 180.0  # for anything on a machine that is busy with other things; only a hang takes so long


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    client: httpx.Client
    app: FastAPI
    port: int


@contextmanager
def running(
    load: Callable[[], Classifier], *, wait: bool = True, store: Store | None = None, **settings: Any
) -> Iterator[Running]:
    """Start a server with these settings, wait until the model is loaded, and stop it at the end."""
    listener = listen("127.0.0.1", 0)
    configuration = Settings(**settings)
    app = create_app(configuration, load, store)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            http=protocol(configuration),  # type: ignore[arg-type]
            backlog=BACKLOG,
            timeout_graceful_shutdown=5,
        )
    )
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


class GatedModel:
    """Loads a classifier, in the server's process for the model, that classifies only while its gate is open.

    Attributes:
        bundle: What is loaded.
        only: The title of the report that has to wait; empty: all.
    """

    def __init__(self, bundle: Path, folder: Path, only: str = "") -> None:
        self.bundle = bundle
        self.only = only
        self._gate = folder / "gate"
        self._calls = folder / "calls"
        self._calls.touch()

    def __call__(self) -> Classifier:
        return _GatedClassifier(self)

    def open(self) -> None:
        """Let everything through."""
        self._gate.touch()

    @property
    def titles(self) -> list[str]:
        """Of the reports that came as far as the model, in order."""
        return self._calls.read_text(encoding="utf-8").splitlines()

    def wait(self, title: str) -> None:
        """Called by the model's process: note the report, wait for the gate."""
        if title != (self.only or title):
            return
        with self._calls.open("a", encoding="utf-8") as stream:
            stream.write(title + "\n")
        until(self._gate.exists)


@dataclass(frozen=True)
class LateModel:
    """Loads a classifier once a file has arrived."""

    bundle: Path
    arrival: Path

    def __call__(self) -> Classifier:
        until(self.arrival.exists)
        return Classifier(self.bundle, threads=1)


class _GatedClassifier(Classifier):
    """Stumbles over `zebra`, and is caught in a native call, which keeps the GIL, by `quagga`."""

    def __init__(self, model: GatedModel) -> None:
        super().__init__(model.bundle, threads=1)
        self._model = model

    def predict(self, report: IssueReport | ReadReport) -> Prediction:
        title = (report if isinstance(report, IssueReport) else report.report).title
        self._model.wait(title)
        if title == "zebra":
            raise RuntimeError(f"onnxruntime choked on {title}")
        if title == "quagga":
            re.match(r"(a*)*b", "a" * 100)  # the age of the universe
        return super().predict(report)


@contextmanager
def served(bundle: Path, log: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The process and its port, ready."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DISTRIAGE_")}
    command = [sys.executable, "-m", "distriage", "serve", "--port", str(port), "--model", str(bundle)]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env={**clean, **environment})
    try:
        until(lambda: process.poll() is not None or _status(port) == 200)
        assert process.poll() is None, log.read_text()
        yield process, port
    finally:
        process.kill()
        process.wait(WAIT_S)


def _status(port: int) -> int:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code
    except httpx.HTTPError:
        return 0
