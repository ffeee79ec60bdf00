"""GitHub's own example payloads (npm @octokit/webhooks-examples): posted to the webhook and worked on."""

from __future__ import annotations

import json
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from distriage.classifier import Classifier
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.store import Delivery, Job, Store

from support.app_key import APP_ID, app_key, app_key_pem
from support.databases import new_sqlite
from support.github import INSTALLATION, GitHub
from support.server import running
from support.webhook import SECRET, post

HELLO = "codertocat/hello-world"
# What asks for something; everything else is kept and left alone. Of the comments none holds a command.
WANTED = {
    *(
        ("issues", action)
        for action in ("opened", "reopened", "edited", "labeled", "unlabeled", "deleted", "transferred")
    ),
    *(("pull_request", action) for action in ("opened", "synchronize", "reopened")),
    *(
        ("installation", action)
        for action in ("created", "deleted", "suspend", "unsuspend", "new_permissions_accepted")
    ),
    *(("installation_repositories", action) for action in ("added", "removed")),
    ("repository", "created"),  # the examples hold no deletion
}


@pytest.fixture(scope="module")
def examples(node_modules: Path) -> list[tuple[str, dict[str, Any]]]:
    """Event and payload; those of repositories as an App gets them, from an installation.

    What is the same twice comes once.
    """
    events = json.loads(
        (node_modules / "@octokit/webhooks-examples/api.github.com/index.json").read_text(encoding="utf-8")
    )
    found = [(event["name"], example) for event in events for example in event["examples"]]
    as_app = [
        (name, payload if name.startswith("installation") else {**payload, "installation": {"id": INSTALLATION}})
        for name, payload in found
    ]
    return list({json.dumps(pair): pair for pair in as_app}.values())


@pytest.fixture(scope="module")
def github() -> Iterator[GitHub]:
    double = GitHub(app=True)
    double.open(f"{HELLO}#1", "Training hangs", "It hangs and hangs after a timeout.")
    double.files[f"{HELLO}/.github/distriage.yml"] = "axes: {symptom: true}\ncomment: true\n"
    yield double
    double.close()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, Store.open(new_sqlite(Path(folder, "store.db"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def statuses(
    examples: list[tuple[str, dict[str, Any]]], github: GitHub, store: Store, keyword_bundle: Path
) -> Counter[int]:
    """All were posted, and all that followed was worked on; here is what the webhook answered."""
    settings = {
        "github_app_id": APP_ID,
        "github_private_key": app_key_pem(),
        "github_webhook_secret": SECRET,
        "workers": 0,
    }
    with running(partial(Classifier, keyword_bundle, threads=1), store=store, **settings) as server:
        answered = Counter(
            post(server, json.dumps(payload).encode(), X_GitHub_Event=name).status_code for name, payload in examples
        )
    worker = Worker(
        store,
        App(APP_ID, app_key(), github.url),
        LocalJudge(Classifier(keyword_bundle, threads=1)),
        threading.Event(),
        Timing(debounce_s=0),
    )
    while worker.step():
        pass
    return answered


@pytest.mark.slow
def test_the_recorded_examples_are_as_github_s_schemas_say(node_modules: Path) -> None:
    """Sanity.

    One example of each event stands in GitHub's documentation, shortened by hand; the others were recorded.
    """
    schemas = json.loads((node_modules / "@octokit/webhooks-schemas/schema.json").read_text(encoding="utf-8"))
    events = json.loads(
        (node_modules / "@octokit/webhooks-examples/api.github.com/index.json").read_text(encoding="utf-8")
    )
    for event in events:
        if event["name"] in {"issues", "issue_comment", "pull_request", "installation", "installation_repositories"}:
            validator = jsonschema_rs.Draft7Validator(
                {"definitions": schemas["definitions"], "$ref": f"#/definitions/{event['name']}_event"}
            )
            assert sum(not validator.is_valid(example) for example in event["examples"]) == 1, event["name"]


def test_every_example_is_accepted(examples: list[tuple[str, dict[str, Any]]], statuses: Counter[int]) -> None:
    assert len(examples) > 290
    assert statuses == {202: len(examples)}


def test_each_asks_for_what_it_should_or_nothing(
    examples: list[tuple[str, dict[str, Any]]], statuses: Counter[int], store: Store
) -> None:
    del statuses
    kept = store.list_work(Delivery, limit=1000)
    assert len(kept) == len(examples) and {delivery.state for delivery in kept} == {"done", "ignored"}
    assert {(delivery.event, delivery.action) for delivery in kept if delivery.state == "done"} == WANTED


def test_only_the_issue_that_is_there_is_labelled_and_once(
    statuses: Counter[int], store: Store, github: GitHub
) -> None:
    del statuses
    jobs = store.list_work(Job, limit=1000)
    assert jobs and {job.state for job in jobs} <= {"done", "ignored"}, [
        (job.key, job.state, job.last_error) for job in jobs
    ]
    assert github.labels(f"{HELLO}#1") == ["symptom: hang"]
    assert len(github.comments(f"{HELLO}#1")) == 1
    assert all(write.path.startswith((f"/repos/{HELLO}/", "/app/")) for write in github.written)


def test_repositories_come_and_go(statuses: Counter[int], store: Store) -> None:
    del statuses
    assert {repository.installation_id for repository in store.list_repositories()} >= {957387}
