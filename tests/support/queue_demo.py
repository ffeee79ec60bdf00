"""The queue with realistic issues: restated reports that the shipped model has not seen, half of them judged.

python -m support.queue_demo             serve it on a free port
python -m support.queue_demo --pictures  make docs/images/queue-*.png (needs playwright and Debian's chromium)
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from distriage.answer.verdict import Verdict
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.store import Issue, Review, Store, StoredVerdict, report_digest

from support import chromium
from support.checkout import REPOSITORY as CHECKOUT
from support.server import Running, running

TOKEN = "demo-token-of-the-queue"
REPOSITORIES = (
    "deepspeedai/DeepSpeed",
    "NVIDIA/Megatron-LM",
    "hpcaitech/ColossalAI",
    "pytorch/pytorch",
    "horovod/horovod",
)
PEOPLE = ("mara", "tobias-k", "yuxin")
WEEK_S = 7 * 86400
ISSUES = 320


def add_issue(
    store: Store, repository: str, number: int, title: str, body: str, verdict: Verdict, at: float, **changes: Any
) -> int:
    """An issue with its prediction; the prediction's id."""
    fields: dict[str, Any] = {
        "author": "reporter",
        "url": f"https://github.com/{repository}/issues/{number}",
        "created_at": at,
        "updated_at": at,
        "labels": [],
    }
    store.save_issue(Issue(repository=repository, number=number, title=title, body=body, **{**fields, **changes}))
    prediction = StoredVerdict(
        repository=repository,
        number=number,
        model=verdict.model,
        taxonomy_version=verdict.taxonomy_version,
        digest=report_digest(title, body),
        verdict=verdict,
        made_at=at,
    )
    return store.save_verdict(prediction, default_taxonomy())


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CHECKOUT / "training/corpus" / name).read_text(encoding="utf-8").splitlines()]


def fill(store: Store, classifier: Classifier, count: int) -> None:
    """Issues of the last half year, more of late than before."""
    chance = random.Random(7)
    annotations = {record["id"]: record for record in _records("annotations.jsonl") if record["split"] != "train"}
    texts = [
        record
        for record in _records("restated.jsonl")
        if record["id"].partition("#")[0] in REPOSITORIES and record["id"] in annotations
    ]
    chosen = chance.sample(texts, min(count, len(texts)))
    reports = [IssueReport(title=record["title"], body=record["body"] or "", id=record["id"]) for record in chosen]
    now = store.clock()
    for name in REPOSITORIES:
        store.save_repository(name, display_name=name, installation_id=1)
    for report in reports:
        repository, _, number = report.id.partition("#")
        verdict = classifier.classify(report)
        at = now - 3600 - 26 * WEEK_S * chance.random() ** 1.4
        with store.transaction():
            verdict_id = add_issue(
                store,
                repository,
                int(number),
                report.title,
                report.body,
                verdict,
                at,
                author=f"user-{chance.randrange(10, 99)}",
            )
            if chance.random() < 0.5 and at < now - WEEK_S:
                _judge(
                    store,
                    repository,
                    int(number),
                    verdict,
                    annotations[report.id],
                    at + 86400 * chance.random(),
                    chance.choice(PEOPLE),
                    verdict_id,
                )


def _judge(
    store: Store,
    repository: str,
    number: int,
    verdict: Verdict,
    annotation: Mapping[str, Any],
    at: float,
    who: str,
    verdict_id: int,
) -> None:
    rows = []
    for axis, said in verdict.axes.items():
        if annotation.get(axis) is not None and said.outcome in {"apply", "suggest"}:
            label = str(annotation[axis]).lower() if axis == "distributed" else annotation[axis]
            rows.append(
                Review(
                    repository=repository,
                    number=number,
                    axis=axis,
                    label=label,
                    who=who,
                    how="queue",
                    at=at,
                    predicted_label=said.label,
                    probability=said.probability,
                    model=verdict.model,
                    verdict_id=verdict_id,
                )
            )
    store.add_reviews(*rows)


@contextmanager
def demo(count: int, **settings: Any) -> Iterator[tuple[Running, Store]]:
    """A server with that many issues."""
    classifier = Classifier()
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/demo.db") as store:
        fill(store, classifier, count)
        with running(
            partial(Classifier, classifier.bundle.path, threads=1), store=store, admin_token=TOKEN, **settings
        ) as server:
            yield server, store


# ---------------------------------------------------------------- the browser


def log_in(page: Any, url: str, token: str = TOKEN) -> None:
    """Through the form."""
    page.goto(f"{url}/queue")
    page.get_by_label("Administrator's token").fill(token)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url("**/queue")


def pictures(folder: Path) -> None:
    """The three of docs/triage-queue.md."""
    folder.mkdir(parents=True, exist_ok=True)
    with demo(ISSUES) as (server, _), chromium.browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.set_default_timeout(120_000)
        url = f"http://127.0.0.1:{server.port}"
        log_in(page, url)
        for _ in range(3):
            page.keyboard.press("j")
        page.keyboard.press("x")
        _take(page, folder / "queue-list.png")
        page.goto(f"{url}/queue?repository=deepspeedai/deepspeed&stage=training-evaluation&decision=suggest")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-explained]")
        page.hover("[data-axis=symptom] summary")
        _take(page, folder / "queue-issue.png")
        page.goto(f"{url}/queue/charts")
        _take(page, folder / "queue-charts.png", full_page=True)


def _take(page: Any, file: Path, **options: Any) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=file, **options)


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        pictures(CHECKOUT / "docs/images")
    else:
        with demo(ISSUES) as (served, _):
            print(f"http://127.0.0.1:{served.port}/queue with the token {TOKEN}; Ctrl-C ends it")  # noqa: T201
            threading.Event().wait()
