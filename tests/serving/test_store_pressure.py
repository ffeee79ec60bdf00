"""A database that is locked, gone, or whose disk is full: what still works, and what says so in time."""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from distriage.classifier import Classifier
from distriage_serving.store import (
    IssueFilter,
    IssueStatus,
    NewJob,
    Store,
    UnavailableError,
    database,
    engines,
    sweep_job,
)

from support.databases import fresh_postgresql
from support.queue_server import TOKEN, Queue, csrf, log_in, queue, visitor
from support.server import running
from support.waiting import until
from support.webhook import BOT, post

GITHUB_WAITS_S = 10  # for the answer to a delivery
assert engines.LOCK_TIMEOUT_S < 0.8 * GITHUB_WAITS_S


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """It waits somewhat less for a lock than a real one, since the machine may be busy."""
    folder = tmp_path_factory.mktemp("queue")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "LOCK_TIMEOUT_S", 5)
        with queue(keyword_classifier, folder, workers=0, request_timeout_s=300, **BOT) as opened:
            opened.add(1, "exhausted timeout")
            yield opened


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Another process's hold of the lock for writing."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_what_was_answered_outlives_a_loss_of_power(tmp_path: Path) -> None:
    """GitHub sends no delivery again that was answered with 202."""
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store, store._engine.connect() as connection:
        pragmas = ("journal_mode", "synchronous", "foreign_keys")
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in pragmas]
    assert found == ["wal", 2, 1]  # 2: FULL


def deliver(site: Queue) -> tuple[int, float]:
    """Status of a delivery, seconds until the answer."""
    started_s = time.monotonic()
    answer = post(site.server, b'{"zen": "%s"}' % uuid.uuid4().hex.encode(), X_GitHub_Event="ping")
    return answer.status_code, time.monotonic() - started_s


def count_issues(site: Queue, status: IssueStatus) -> int:
    """How many there are."""
    return site.store.count_issues(IssueFilter(status=status))


def in_flight(client: httpx.Client) -> float:
    """Requests under way, this one among them."""
    found = re.search(r"^distriage_http_requests_in_flight (\S+)", client.get("/metrics").text, re.M)
    assert found is not None
    return float(found[1])


@pytest.mark.slow
def test_while_the_database_is_locked_reading_goes_on_and_deliveries_hear_so_in_time(site: Queue) -> None:
    with visitor(site) as client, ThreadPoolExecutor(20) as pool:
        log_in(client)
        with locked(site.file):
            waiting = [pool.submit(deliver, site) for _ in range(20)]
            until(lambda: in_flight(client) > 10)
            for path in ("/queue", "/queue/owner/repo/1", "/livez"):
                assert client.get(path).status_code == 200
            assert not all(future.done() for future in waiting)  # or these, too, waited until the lock was given up
            answers = [future.result() for future in waiting]
    assert {status for status, _ in answers} == {503}
    assert max(seconds for _, seconds in answers) < GITHUB_WAITS_S
    assert deliver(site)[0] == 202


@pytest.mark.slow
def test_hundreds_of_decisions_at_once_let_deliveries_in_and_are_undone_as_one(site: Queue) -> None:
    site.multiply(1, 200)
    numbers = range(100_000, 100_200)
    verdict = site.store.latest_verdict("owner/repo", 100_000)
    assert verdict is not None
    with visitor(site) as client, ThreadPoolExecutor(1) as pool:
        log_in(client)
        data = {
            "csrf": csrf(client.get("/queue")),
            "action": "accept",
            "issue": [f"owner/repo#{number}@{number}" for number in numbers],
        }
        accepting = pool.submit(client.post, "/queue/bulk", data=data)
        waits_s = []
        while not accepting.done():
            status, seconds = deliver(site)
            assert status == 202
            waits_s.append(seconds)
        assert accepting.result().headers["location"].startswith("/queue?at=")
        assert len(waits_s) > 3 and max(waits_s) < GITHUB_WAITS_S
        assert (count_issues(site, "accepted"), count_issues(site, "open")) == (200, 1)
        assert "Decided 200 issues." in client.get("/queue").text
        client.post("/queue/undo", data={"csrf": data["csrf"]})
        assert (count_issues(site, "accepted"), count_issues(site, "open")) == (0, 201)


def test_readiness_says_that_the_disk_is_full(site: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(site.file.parent)
    monkeypatch.setattr(database, "PROBE_EVERY_S", 0)
    assert site.server.client.get("/readyz").status_code == 200
    monkeypatch.setattr(database, "MIN_FREE_BYTES", usage.total)
    refused = site.server.client.get("/readyz")
    assert refused.status_code == 503 and refused.json()["detail"] == "the database's disk is full"
    assert site.server.client.get("/livez").status_code == 200


@pytest.mark.slow
def test_readiness_tries_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PROBE_EVERY_S", 0)
    monkeypatch.setattr(engines, "LOCK_TIMEOUT_S", 0.5)
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        store.check()
        with store._engine.connect() as connection:  # the file may not grow, as on a full disk
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(UnavailableError, match="full") as refused:
            for number in range(1000):
                store.shared_value(f"filler {number}", lambda: "x" * 4000)
        assert refused.value.disk_is_full
        with locked(tmp_path / "store.db"), pytest.raises(UnavailableError, match="locked"):
            store.check()
        store.check()


def test_probes_that_come_often_write_seldom(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        store.check()
        first = store.shared_value("probe", str)
        threads = [threading.Thread(target=store.check) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.shared_value("probe", str) == first


def test_readyz_asks_the_database_and_metrics_count_what_is_in_it(keyword_bundle: Path, postgresql_server: str) -> None:
    load = partial(Classifier, keyword_bundle, threads=1)
    with ExitStack() as database:
        url = database.enter_context(fresh_postgresql(postgresql_server))
        with Store.open(url) as store, running(load, store=store, admin_token=TOKEN) as server:
            store.put_job(NewJob("check:a", "check", "o/r"))
            counters = server.client.get("/metrics").text
            assert (
                'distriage_jobs{state="waiting"} 1.0' in counters
                and 'distriage_deliveries{state="dead"} 0.0' in counters
                and "distriage_database_up 1.0" in counters
            )
            assert server.client.get("/readyz").status_code == 200
            database.close()
            answer = server.client.get("/readyz")
            assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "not-ready", "5")
            counters = server.client.get("/metrics").text
            assert "distriage_jobs{" not in counters and "distriage_database_up 0.0" in counters
            assert server.client.get("/livez").status_code == 200
            with running(load, store=store) as reader:  # only callers with keys, who ask about past issues
                assert reader.client.get("/readyz").status_code == 200


@pytest.mark.database
def test_a_postgresql_that_became_read_only_is_unavailable(postgresql_server: str) -> None:
    with fresh_postgresql(postgresql_server) as url:
        Store.open(url).close()
        separator = "&" if "?" in url else "?"
        with Store.open(f"{url}{separator}options=-c%20default_transaction_read_only%3Don") as store:
            assert store.count_issues(IssueFilter()) == 0
            for writes in (store.check, lambda: store.put_job(sweep_job()), lambda: store.take_write(1)):
                with pytest.raises(UnavailableError, match="read-only"):
                    writes()
            assert store.figures()["database_up"] == {(): 0}
