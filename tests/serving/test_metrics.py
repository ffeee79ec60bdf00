"""What `/metrics` says of the product: issues that wait, work and its age, GitHub, reviews, indexes."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from distriage.base.errors import ConfigError
from distriage.base.references import IssueReference
from distriage_serving.judging.indexes import PastIndexes, show_indexes
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import Job, Store, triage_job
from distriage_serving.web.probes import probes

from support import local_http
from support.databases import NOW, Clock
from support.stored_issues import issue, person
from support.waiting import WAIT_S
from support.work_items import delivery


def shown(metrics: Metrics) -> dict[str, float]:
    """Sample as Prometheus writes it, without the prefix -> value."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            labels = ",".join(value for _, value in sorted(sample.labels.items()))
            found[sample.name.removeprefix("distriage_") + (f"[{labels}]" if labels else "")] = sample.value
    return found


def test_the_database_says_what_waits_for_a_person_and_how_old_it_is(store: Store, clock: Clock) -> None:
    metrics = Metrics()
    metrics.stored(store.figures())
    empty = shown(metrics)
    assert (empty["issues_waiting"], empty["issues_oldest_seconds"], empty["jobs_oldest_seconds"]) == (0, 0, 0)
    assert empty["database_bytes"] > 10_000
    for number, changes in enumerate(({}, {"created_at": NOW - 90}, {"created_at": NOW - 500, "state": "closed"}), 1):
        store.save_issue(issue(number, **changes))
    store.add_reviews(person(), person("stage", "startup"), person("cause", None, predicted_label=None))
    store.undo_reviews(*[review.id for review in store.reviews() if review.axis == "stage"])
    store.add_reviews(person("stage", "training", predicted_label="startup", at=NOW + 1))
    clock.now += 10
    metrics.stored(store.figures())
    now = shown(metrics)
    assert (now["issues_waiting"], now["issues_oldest_seconds"]) == (1, 100)  # people have looked at the first
    assert {name: value for name, value in now.items() if name.startswith("reviews[")} == {
        "reviews[yes,symptom]": 1,
        "reviews[no,stage]": 1,
        "reviews[unknown,cause]": 1,
    }


def test_a_job_is_as_old_as_what_asked_for_it_unless_it_is_for_later(store: Store, clock: Clock) -> None:
    metrics = Metrics()
    store.put_job(triage_job(IssueReference("o/r", 1), 7), NOW + 600)  # ahead of time, as the sweep
    store.put_job(triage_job(IssueReference("o/r", 2), 7), since=NOW - 100)
    (failing,) = store.lease(Job, "me", 60)
    store.retry(failing, NOW + 3600, "GitHub is away")  # it waits, however late its next attempt is
    metrics.stored(store.figures())
    assert shown(metrics)["jobs_oldest_seconds"] == 100
    assert [shown(metrics)[f"jobs_waiting_longer[{than}]"] for than in ("1m", "1h", "1d")] == [1, 0, 0]
    clock.now += 3700
    metrics.stored(store.figures())
    assert [shown(metrics)[f"jobs_waiting_longer[{than}]"] for than in ("1m", "1h", "1d")] == [2, 1, 0]


def test_deliveries_that_no_worker_takes_wait_too(store: Store) -> None:
    store.put_job(triage_job(IssueReference("o/r", 1), 7), NOW + 600)
    store.add_delivery(delivery("done", received_at=NOW - 500, state="done"))
    store.add_delivery(delivery("new", received_at=NOW - 70))
    assert store.figures()["jobs_oldest_seconds"] == {(): 70}


def test_requests_to_github_are_counted_with_what_is_left_of_the_limit() -> None:
    metrics = Metrics()

    def answer(request: httpx.Request) -> httpx.Response:
        status = 304 if request.url.path == "/same" else 200
        left = {"/same": "4999", "/odd": "x"}.get(request.url.path, "4998")
        return httpx.Response(status, headers={"X-RateLimit-Remaining": left, "X-RateLimit-Resource": "core"})

    hooks = {"response": [metrics.github_answered]}
    with httpx.Client(transport=httpx.MockTransport(answer), event_hooks=hooks, base_url="http://github") as client:
        for path in ("/same", "/issues", "/odd"):
            client.get(path)
    found = shown(metrics)
    assert (found["github_requests_total[200]"], found["github_requests_total[304]"]) == (2, 1)
    assert found["github_limit_remaining[core]"] == 4998


def test_indexes_and_heads_are_counted(tmp_path: Path) -> None:
    for repository in ("a/b", "a/c"):
        (tmp_path / repository).mkdir(parents=True)
        (tmp_path / repository / "own.json").write_text("{}")
    metrics = Metrics()
    show_indexes(metrics, Settings(own=str(tmp_path)), PastIndexes(None))
    assert (shown(metrics)["indexes[own]"], shown(metrics)["indexes[past]"]) == (2, 0)


def test_the_port_of_a_worker_says_when_a_thread_has_ended_and_when_the_database_has(store: Store) -> None:
    alive = threading.Event()
    metrics = Metrics()
    settings = Settings(metrics_port=0)
    with probes(settings, store, metrics, alive.is_set) as port:
        with local_http.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client:
            assert client.get("/livez").status_code == 503
            alive.set()
            assert client.get("/livez").status_code == 200
            assert 'distriage_jobs{state="dead"} 0.0' in client.get("/metrics").text
            assert client.post("/metrics").status_code == 501
        taken = settings.model_copy(update={"metrics_port": port})
        with (
            pytest.raises(ConfigError, match=rf"^127\.0\.0\.1:{port}: cannot listen there"),
            probes(taken, store, metrics, alive.is_set),
        ):
            pass
