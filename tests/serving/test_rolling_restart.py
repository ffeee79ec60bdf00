"""Two servers on one PostgreSQL, each stopped in turn while deliveries come in: nothing is lost or done twice."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
import uuid
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from distriage.base.errors import ConfigError
from distriage_serving.settings import Settings, load_settings
from distriage_serving.store import Delivery, Job, Store

from support import local_http
from support.app_key import APP_ID, app_key_pem
from support.databases import fresh_postgresql
from support.github import GitHub
from support.server import served
from support.waiting import WAIT_S, until
from support.webhook import SECRET, sign

ISSUES = 36  # 73 writes: one more than 80 a minute would have to wait
REPLICAS = 2


def deliver(body: bytes, ports: list[int], rng: random.Random) -> None:
    """Send a delivery until one of the servers has it, as the proxy in front and GitHub's redeliveries do."""
    headers = {
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": sign(body),
        "Content-Type": "application/json",
    }
    end_s = time.monotonic() + WAIT_S
    while time.monotonic() < end_s:
        try:
            answer = local_http.post(
                f"http://127.0.0.1:{rng.choice(ports)}/github/webhook",
                content=body,
                headers=headers,
                timeout=30,
            )
            if answer.status_code in {200, 202}:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    raise AssertionError("nobody took it")


@pytest.mark.slow
@pytest.mark.database
def test_a_rolling_restart_loses_nothing_and_does_nothing_twice(
    app_github: GitHub, keyword_bundle: Path, tmp_path: Path, postgresql_server: str
) -> None:
    references = [f"owner/repo#{number}" for number in range(1, ISSUES + 1)]
    app_github.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true}\ncomment: true\n"
    for reference in references:
        app_github.open(reference, "It hangs", "hangs hangs hangs")
    rng, ports, sent = random.Random(12), [0] * REPLICAS, []
    with fresh_postgresql(postgresql_server) as url, ExitStack() as servers:
        environment = {
            "GITHUB_API_URL": app_github.url,
            "DISTRIAGE_DATABASE": url,
            "DISTRIAGE_REPLICAS": str(REPLICAS),
            "DISTRIAGE_GITHUB_APP_ID": APP_ID,
            "DISTRIAGE_GITHUB_PRIVATE_KEY": app_key_pem(),
            "DISTRIAGE_GITHUB_WEBHOOK_SECRET": SECRET,
            "DISTRIAGE_DEBOUNCE_S": "0",
            "DISTRIAGE_LEASE_S": "20",
        }
        running = [
            servers.enter_context(served(keyword_bundle, tmp_path / f"log-{place}", **environment))
            for place in range(REPLICAS)
        ]
        ports[:] = [port for _, port in running]

        def send() -> None:
            for reference in references:
                deliver(json.dumps(app_github.payload("opened", reference)).encode(), ports, rng)
                sent.append(reference)

        sender = threading.Thread(target=send)
        sender.start()
        for place in range(REPLICAS):
            before = len(sent)
            until(lambda before=before: len(sent) >= min(ISSUES, before + 5) or not sender.is_alive())  # type: ignore[misc]
            process, _ = running[place]
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_S)
            ports[place] = servers.enter_context(
                served(keyword_bundle, tmp_path / f"log-{place}-again", **environment)
            )[1]
        sender.join(WAIT_S)
        with Store.open(url) as store:
            until(lambda: sum(job.state == "done" for job in _jobs(store)) == ISSUES)
            assert Counter(item.state for item in store.list_work(Delivery, limit=1000)) == {"done": ISSUES}
            assert len(_jobs(store)) == ISSUES
    for reference in references:
        assert app_github.labels(reference) == ["symptom: hang"], reference
        assert len(app_github.comments(reference)) == 1, reference
    labelled = Counter(write.path for write in app_github.written if write.path.endswith("/labels"))
    assert {count for place, count in labelled.items() if "/issues/" in place} == {1}


def _jobs(store: Store) -> list[Job]:
    return [job for job in store.list_work(Job, limit=1000) if job.kind == "triage"]


def test_several_replicas_refuse_a_database_that_each_would_have_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTRIAGE_REPLICAS", "2")
    with pytest.raises(ConfigError, match=r"DISTRIAGE_REPLICAS is 2, .*SQLite.*DISTRIAGE_DATABASE=postgresql"):
        load_settings()
    Settings(replicas=2, database="postgresql://localhost/distriage")
