"""Killed at any step, and at many: nothing is lost, nothing done twice. `python tests/crash.py` does the same at length and prints the figures."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'distriage[serve]'")

import crash
import httpx
from distriage_serving.bot.app_auth import App, load_key
from distriage_serving.bot.worker import Worker
from distriage_serving.store import Delivery, Job, Store
from github_app_double import APP_ID, INSTALLATION, GitHubAppDouble, app_key_pem
from github_double import PERSON
from sqlalchemy import Engine, event

from distriage.classifier import Classifier

ISSUE = "owner/repo#1"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture(autouse=True)
def _forked_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)


@pytest.fixture
def github() -> Iterator[GitHubAppDouble]:
    double = GitHubAppDouble()
    double.open(ISSUE, "It hangs", "hangs hangs hangs")
    double.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true}\ncomment: true\n"
    yield double
    double.close()


def work_until(step: int, url: str, api: str, bundle: str, pem: str) -> None:
    """Work until nothing is due, or die at the n-th request or transaction: before it, or once it is done and before anybody here knows."""
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
        event.listen(Engine, "commit", tick)  # it comes before the commit; the next request or transaction is after it
        worker = Worker(store, App(APP_ID, load_key(pem), api), Classifier(Path(bundle), threads=1), threading.Event(), debounce_s=0, lease_s=0.2)
        end_s = time.monotonic() + 2
        while worker.step() or (store.counts()["jobs"]["waiting"] and time.monotonic() < end_s):
            pass


def deliver(store: Store, github: GitHubAppDouble, action: str, event_name: str, **more: Any) -> None:
    payload = github.payload(action, ISSUE, **more)
    text = crash.json.dumps(payload)
    delivery = Delivery(id=f"guid-{action}", event=event_name, action=action, payload=text, received_at=store.clock(), repository="owner/repo", issue=1)
    assert store.add_delivery(delivery)


def test_sigkill_at_any_step_loses_nothing_and_does_nothing_twice(github: GitHubAppDouble, keyword_bundle: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["test_crash"])
    step, died = 0, 0
    survived = False
    while not survived:
        step += 1
        github.open(ISSUE, "It hangs", "hangs hangs hangs")
        github.timelines.clear()
        github.repository_labels.clear()
        github.tokens.clear()
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(f"sqlite:///{folder}/store.db") as store:
            deliver(store, github, "opened", "issues")
            process = context.Process(target=work_until, args=(step, f"sqlite:///{folder}/store.db", github.url, str(keyword_bundle), app_key_pem()))
            process.start()
            process.join()
            survived = process.exitcode == 0
            died += process.exitcode == -signal.SIGKILL
            assert survived or process.exitcode == -signal.SIGKILL
            later = store.clock() + 10
            store.clock = lambda: later  # noqa: B023
            worker = Worker(store, App(APP_ID, load_key(app_key_pem()), github.url), Classifier(keyword_bundle, threads=1), threading.Event(), debounce_s=0)
            while worker.step():
                pass
            assert github.labels(ISSUE) == ["symptom: hang"] and len(github.comments(ISSUE)) == 1, step
            assert {job.state for job in store.list_work(Job)} == {"done"}
            assert [delivery.state for delivery in store.list_work(Delivery)] == ["done"]
    assert died == step - 1 > 20


@pytest.mark.parametrize("undo", [False, True])
def test_a_command_killed_in_the_middle_counts_once(github: GitHubAppDouble, keyword_bundle: Path, undo: bool) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["test_crash"])
    for step in range(9, 18, 2):
        github.open(ISSUE, "It hangs", "hangs hangs hangs")
        github.timelines.clear()
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store.open(f"sqlite:///{folder}/store.db") as store:
            worker = Worker(store, App(APP_ID, load_key(app_key_pem()), github.url), Classifier(keyword_bundle, threads=1), threading.Event(), debounce_s=0)
            deliver(store, github, "opened", "issues")
            while worker.step():
                pass
            for number, label in enumerate(("oom", "leak") if undo else ()):
                argument = {"line": f"/triage wrong symptom={label}", "comment": number, "who": "maintainer", "at": f"2024-05-0{number + 1}T10:00:00Z"}
                store.put_job(f"command:{number}", "command", "owner/repo", issue=1, installation_id=INSTALLATION, argument=argument)
                while worker.step():
                    pass
            deliver(store, github, "created", "issue_comment", comment=github.comment(ISSUE, "/triage undo" if undo else "/triage wrong symptom=oom", PERSON))
            process = context.Process(target=work_until, args=(step, f"sqlite:///{folder}/store.db", github.url, str(keyword_bundle), app_key_pem()))
            process.start()
            process.join()
            assert process.exitcode == -signal.SIGKILL
            later = store.clock() + 10
            store.clock = lambda: later  # noqa: B023
            while worker.step():
                pass
            assert [verdict.label for verdict in store.verdicts(issue=("owner/repo", 1))] == ["oom"], step
            assert github.labels(ISSUE) == ["symptom: oom"]


def test_many_deliveries_many_kills(database_url: str, tmp_path: Path) -> None:
    figures = crash.crash(database_url, tmp_path, number=60, kills=3)
    assert (figures.issues, figures.labels_right, figures.comments_right, figures.most_comments) == (12, 12, 12, 1)
    assert (figures.lost, figures.duplicates, figures.dead, figures.kills) == (0, 0, 0, 3)
    assert figures.accepted == 60 and figures.refused == 4 and figures.faults > 0
