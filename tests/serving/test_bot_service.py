"""The worker threads of one process."""

from __future__ import annotations

import threading
import time

import pytest
from pydantic import SecretStr

from distriage.classifier import Classifier
from distriage_serving.bot import service
from distriage_serving.bot.service import Workers
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import Store

from support.app_key import APP_ID, app_key_pem
from support.waiting import WAIT_S


def test_all_busy_workers_together_have_the_time_to_shut_down(
    sqlite_store: Store, keyword_classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()

    class Busy:
        def __init__(self, *_: object) -> None: ...

        def run(self) -> None:
            let_go.wait(WAIT_S)

    monkeypatch.setattr(service, "Worker", Busy)
    settings = Settings(
        github_app_id=APP_ID,
        github_private_key=SecretStr(app_key_pem()),
        github_webhook_secret=SecretStr("a secret that only GitHub knows"),
        shutdown_timeout_s=1,
    )
    workers = Workers(settings, sqlite_store, Metrics())
    workers.start(LocalJudge(keyword_classifier), 6)
    began = time.monotonic()
    try:
        workers.close()
        assert 1 <= time.monotonic() - began < 4  # not six times one second
    finally:
        let_go.set()
