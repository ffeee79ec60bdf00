"""A worker in a process of its own, which is killed, or kills itself at a given step."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import threading
import time
from functools import cache, partial
from multiprocessing.connection import Connection
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from sqlalchemy import Engine
from sqlalchemy import event as database_event

from distriage.classifier import Classifier
from distriage.github.http_client import connections
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import Judge, LocalJudge
from distriage_serving.judging.two_readers import TwoReaders, open_reader
from distriage_serving.settings import Settings
from distriage_serving.store import Store

from support.app_key import APP_ID
from support.databases import wait_for_transactions, write_sql_once

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


class Mother:
    """A process that has done the work once, and forks others that do it again until they die.

    A worker takes three times as long to start as to work: it loads a model, reads certificates, writes SQL.
    """

    def __init__(self, bundle: Path, pem: str) -> None:
        self._ours, theirs = forkserver().Pipe()
        self._process = forkserver().Process(target=_fork_workers, args=(theirs, str(bundle), pem), daemon=True)
        self._process.start()
        theirs.close()

    def work(self, url: str, api: str, step: int = 0) -> int:
        """Let a process work until nothing is due, or until a step; its exit code. 0: let the mother itself work."""
        self._ours.send((url, api, step))
        code: int = self._ours.recv()
        if url.startswith("postgresql"):
            wait_for_transactions(url)
        return code

    def close(self) -> None:
        """End it."""
        self._ours.close()
        self._process.join()


def _fork_workers(orders: Connection, bundle: str, pem: str) -> None:
    logging.disable()
    classifier, app = Classifier(Path(bundle), threads=1), partial(_app, pem)
    with pytest.MonkeyPatch.context() as patch:
        write_sql_once(patch)
        while True:
            try:
                url, api, step = orders.recv()
            except EOFError:
                return
            if step == 0:
                _work_until(0, url, app(api), classifier)
                connections().close()
                connections.cache_clear()  # a child shares no connection with another
                gc.freeze()  # or a child would copy each page in which it looks for cycles
                orders.send(0)
                continue
            child = os.fork()
            if child == 0:
                try:
                    _work_until(step, url, app(api), classifier)
                    os._exit(0)
                finally:
                    os._exit(1)
            orders.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _work_until(step: int, url: str, app: App, classifier: Classifier) -> None:
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

    with Store.open(url) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.Client, "send", ticking_send)
        # It comes before the commit; the next request or transaction is after it.
        database_event.listen(Engine, "commit", tick)
        worker = Worker(store, app, LocalJudge(classifier), threading.Event(), Timing(0.0, 0.2))
        end_s = time.monotonic() + 2
        while worker.step() or (store.counts()["jobs"]["waiting"] and time.monotonic() < end_s):
            time.sleep(0.01)
        database_event.remove(Engine, "commit", tick)


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
