"""The worker threads of one process."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path

import pytest

from distriage.classifier import Classifier
from distriage_serving.bot import service, worker
from distriage_serving.bot.service import Workers
from distriage_serving.bot.worker import Worker
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import Store

from support.server import running
from support.waiting import WAIT_S, until
from support.webhook import BOT


def test_all_busy_workers_together_have_the_time_to_shut_down(
    sqlite_store: Store, keyword_classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()

    class Busy:
        def __init__(self, *_: object) -> None: ...

        def run(self) -> None:
            let_go.wait(WAIT_S)

    monkeypatch.setattr(service, "Worker", Busy)
    workers = Workers(Settings(**BOT, shutdown_timeout_s=1), sqlite_store, Metrics())
    workers.start(LocalJudge(keyword_classifier), 6)
    began = time.monotonic()
    try:
        workers.close()
        assert 1 <= time.monotonic() - began < 4  # not six times one second
    finally:
        let_go.set()


def test_a_thread_that_waits_for_ever_fails_the_probe(
    sqlite_store: Store, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def step(_: Worker) -> bool:
        goes_on.wait(WAIT_S)  # as on a connection to the database whose other end is silent
        return False

    monkeypatch.setattr(Worker, "step", step)
    monkeypatch.setattr(worker, "STUCK_AFTER_S", 2.0)
    settings = {**BOT, "lease_s": 0.1}
    with running(partial(Classifier, keyword_bundle, threads=1), store=sqlite_store, **settings) as server:
        assert server.client.get("/livez").status_code == 200
        until(lambda: server.client.get("/livez").status_code == 503)
        assert server.client.get("/livez").json()["detail"] == "the bot does not work any more"
        goes_on.set()
        until(lambda: server.client.get("/livez").status_code == 200)
