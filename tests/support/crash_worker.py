"""A worker in a process of its own, which is killed, or kills itself at a given step."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from functools import cache
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from sqlalchemy import Engine
from sqlalchemy import event as database_event

from distriage.classifier import Classifier
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import Judge, LocalJudge
from distriage_serving.judging.two_readers import TwoReaders, open_reader
from distriage_serving.settings import Settings
from distriage_serving.store import Store

from support.app_key import APP_ID

LEASE_S, RETRY_S, DEBOUNCE_S = 3.0, 0.3, 0.3


def work(url: str, api: str, bundle: str, pem: str, reader: tuple[str, str] | None = None) -> None:
    """A worker process: works until it is killed.

    Args:
        reader: URL and calibration of a second reader.
    """
    logging.disable()
    with Store.open(url) as store:
        classifier = Classifier(Path(bundle), threads=1)
        timing = Timing(DEBOUNCE_S, LEASE_S, 0.05, RETRY_S)
        judge: Judge = LocalJudge(classifier)
        if reader is not None:
            given = {"second_reader": reader[0], "second_reader_calibration": reader[1], "second_reader_model": "m"}
            judge = TwoReaders(judge, store, open_reader(Settings(model=bundle, **given), store))
        Worker(store, _app(pem, api), judge, threading.Event(), timing).run()


def work_until(step: int, url: str, api: str, bundle: str, pem: str) -> None:
    """Work until nothing is due, or die at the n-th request or transaction.

    That is before it, or once it is done and before anybody here knows.
    """
    left = step
    send = httpx.Client.send

    def tick(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def ticking_send(client: httpx.Client, *arguments: Any, **options: Any) -> httpx.Response:
        tick()
        answer = send(client, *arguments, **options)
        tick()
        return answer

    httpx.Client.send = ticking_send  # type: ignore[method-assign]
    with Store.open(url) as store:
        database_event.listen(
            Engine, "commit", tick
        )  # it comes before the commit; the next request or transaction is after it
        classifier = Classifier(Path(bundle), threads=1)
        worker = Worker(store, _app(pem, api), LocalJudge(classifier), threading.Event(), Timing(0.0, 0.2))
        end_s = time.monotonic() + 2
        while worker.step() or (store.counts()["jobs"]["waiting"] and time.monotonic() < end_s):
            time.sleep(0.01)


def _app(pem: str, api: str) -> App:
    key = load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)  # ours, and each check is slow
    assert isinstance(key, RSAPrivateKey)
    return App(APP_ID, key, api)


@cache
def forkserver() -> Any:
    """Where worker processes come from: it has imported everything once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support.crash_worker"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), before]))
    try:
        ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before
    return context
