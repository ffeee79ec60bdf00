"""What is lost, and what is done twice, when everything fails: `python tests/crash.py` prints the figures.

Signed deliveries, some twice, some replayed under another id, some not signed, go to the real webhook route. Two worker processes carry them out
against a GitHub that fails, breaks off, limits, and sometimes does what it then denies; one after the other is killed with SIGKILL.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import logging
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import databases
import httpx
import keyword_model
from conftest import Fault, Request
from distriage_serving.bot.app_auth import App, load_key
from distriage_serving.bot.worker import Worker
from distriage_serving.store import Delivery, Job, Store
from github_app_double import APP_ID, GitHubAppDouble, app_key_pem
from github_double import PERSON, Trouble
from github_shapes import account
from serving_server import running

from distriage.classifier import Classifier

SECRET = "a secret that only GitHub knows"
ISSUES_PER_REPOSITORY = 10
WORDS = {"oom": "memory exhausted exhausted", "leak": "memory grows grows", "hang": "hangs hangs hangs", "crash": "segfault segfault segfault"}
KINDS = ("plain", "plain", "plain", "plain", "labelled", "taken off", "command", "bot", "locked", "plain")
LEASE_S, RETRY_S, DEBOUNCE_S = 3.0, 0.3, 0.3
WORKERS = 2


class FailingGitHub(GitHubAppDouble):
    """Fails in one request of so many, in all the ways it knows."""

    def __init__(self, seed: int, one_in: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._one_in = one_in
        self.faults_given: Counter[str] = Counter()

    def _trouble(self, request: Request) -> Trouble | None:  # noqa: ARG002
        if self._random.randrange(self._one_in):
            return None
        name, trouble = self._random.choice(
            [
                ("500", Trouble("", Fault(500))),
                ("502 after success", Trouble("", Fault(502), after=True)),
                ("reset", Trouble("", reset=True)),
                ("reset after success", Trouble("", after=True, reset=True)),
                ("secondary limit", Trouble("", self.secondary_limit(1))),
                ("slow", Trouble("", slow_s=0.2)),
            ]
        )
        self.faults_given[name] += 1
        return trouble


@dataclass
class Case:
    """An issue and what must become of it."""

    reference: str
    kind: str
    symptom: str

    @property
    def labels(self) -> list[str]:
        """The labels that it must have in the end."""
        wanted = {"labelled": "leak", "command": "leak", "taken off": None, "bot": None}.get(self.kind, self.symptom)
        return [f"symptom: {wanted}"] if wanted else []

    @property
    def comments(self) -> int:
        """The bot's comments that it must have."""
        return 0 if self.kind in {"bot", "locked"} else 1


def work(url: str, api: str, bundle: str, pem: str) -> None:
    """A worker process: works until it is killed."""
    logging.disable()
    with Store.open(url) as store:
        classifier = Classifier(Path(bundle), threads=1)
        options = {"debounce_s": DEBOUNCE_S, "lease_s": LEASE_S, "poll_s": 0.05, "retry_s": RETRY_S}
        Worker(store, App(APP_ID, load_key(pem), api), classifier, threading.Event(), **options).run()


def open_issues(github: GitHubAppDouble, number: int) -> list[Case]:
    """Issues of all kinds, as they stand before the bot sees them."""
    cases = []
    for place in range(number):
        repository, kind, symptom = f"owner/repo{place // ISSUES_PER_REPOSITORY}", KINDS[place % len(KINDS)], list(WORDS)[place % 4]
        case = Case(f"{repository}#{place + 1}", kind, symptom)
        github.installations.add(place // ISSUES_PER_REPOSITORY + 1)
        github.files[f"{repository}/.github/distriage.yml"] = "axes: {symptom: true}\ncomment: true\n"
        github.open(case.reference, "It fails", WORDS[symptom])
        if kind == "labelled":
            github.label(case.reference, "symptom: leak", PERSON)
        elif kind == "taken off":
            github.label(case.reference, f"symptom: {symptom}", github.bot)
            github.unlabel(case.reference, f"symptom: {symptom}", PERSON)
        elif kind == "bot":
            github.issues[case.reference]["user"] = account("renovate[bot]", 5, "Bot")
        elif kind == "locked":
            github.issues[case.reference]["locked"] = True
        cases.append(case)
    return cases


def make_deliveries(github: GitHubAppDouble, cases: list[Case], number: int, rng: random.Random) -> list[tuple[str, str, bytes]]:
    """`number` deliveries as (event, id, body), an issue's first ones in their order; some of them are the same again."""
    events: list[tuple[str, str, bytes]] = []
    queues = [[("issues", "opened", case)] + ([("issue_comment", "created", case)] if case.kind == "command" else []) for case in cases]
    while any(queues):
        queue = rng.choice([queue for queue in queues if queue])
        event, action, case = queue.pop(0)
        more: dict[str, Any] = {}
        if event == "issue_comment":
            more["comment"] = github.comment(case.reference, "/triage wrong symptom=leak", PERSON)
        events.append(_delivery(github, event, action, case, more))
    while len(events) < number:
        if rng.random() < 0.25:
            events.insert(rng.randrange(len(events)), rng.choice(events))  # the same id, the same body
        else:
            action = rng.choice(["edited", "edited", "labeled", "reopened"])
            events.append(_delivery(github, "issues", action, rng.choice(cases), {}))
    return events


def _delivery(github: GitHubAppDouble, event: str, action: str, case: Case, more: dict[str, Any]) -> tuple[str, str, bytes]:
    payload = github.payload(action, case.reference, **more)
    payload["installation"] = {"id": int(case.reference.partition("#")[0].removeprefix("owner/repo")) + 1}
    return event, str(uuid.uuid4()), json.dumps(payload).encode()


def send(client: httpx.Client, delivery: tuple[str, str, bytes], *, signed: bool = True) -> int:
    """Hand a delivery over; the status of the answer."""
    event, delivery_id, body = delivery
    signature = hmac.new(SECRET.encode() if signed else b"another", body, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": delivery_id, "X-Hub-Signature-256": f"sha256={signature}", "Content-Type": "application/json"}
    return client.post("/github/webhook", content=body, headers=headers).status_code


@dataclass(frozen=True)
class Figures:
    """What came out.

    Attributes:
        lost: Accepted deliveries that were not worked off, and issues without their labels or comment.
        duplicates: Comments and labels beyond what an issue must have.
    """

    issues: int
    labels_right: int
    comments_right: int
    most_comments: int
    lost: int
    duplicates: int
    dead: int
    accepted: int
    refused: int
    kills: int
    faults: int
    seconds: float


def crash(url: str, folder: Path, number: int, kills: int, seed: int = 1, one_in: int = 40) -> Figures:
    """Run it on an empty database.

    Returns:
        The figures; a run that hangs ends after ten minutes without progress, with an assertion.
    """
    rng = random.Random(seed)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crash"])
    bundle = folder / "toy"
    if not bundle.exists():
        keyword_model.build(bundle)
    github = FailingGitHub(seed, one_in)
    cases = open_issues(github, number // 5)
    deliveries = make_deliveries(github, cases, number, rng)
    started_s, statuses, killed = time.monotonic(), Counter[int](), 0
    processes: list[Any] = []

    def start() -> None:
        processes.append(context.Process(target=work, args=(url, github.url, str(bundle), app_key_pem()), daemon=True))
        processes[-1].start()

    def kill() -> None:
        victim = processes.pop(rng.randrange(len(processes)))
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        start()

    with ExitStack() as stack:
        stack.callback(github.close)
        store = stack.enter_context(Store.open(url))
        bot = {"github_app_id": APP_ID, "github_private_key": app_key_pem(), "github_webhook_secret": SECRET, "workers": 0}
        server = stack.enter_context(running(lambda: Classifier(bundle, threads=1), store=store, **bot))
        stack.callback(lambda: [process.kill() for process in processes])
        for _ in range(WORKERS):
            start()
        for place, delivery in enumerate(deliveries):
            statuses[send(server.client, delivery)] += 1
            if place % 50 == 0:
                statuses[send(server.client, (delivery[0], str(uuid.uuid4()), delivery[2]))] += 1
                statuses[send(server.client, delivery, signed=False)] += 1
            if killed < kills and place * kills >= killed * number:
                time.sleep(rng.uniform(0.0, 1.0))
                kill()
                killed += 1
        _drain(store)
        for process in processes:
            process.kill()
        return _figures(store, github, cases, deliveries, statuses, killed, time.monotonic() - started_s)


def _drain(store: Store) -> None:
    """Wait until nothing is left to do but the next sweep."""
    last, since = None, time.monotonic()
    while True:
        counts = store.counts()
        left = [job for state in ("waiting", "leased") for job in store.list_work(Job, state, 10_000) if job.kind != "sweep"]
        if not left and not counts["deliveries"]["waiting"] and not counts["deliveries"]["leased"]:
            return
        if counts != last:
            last, since = counts, time.monotonic()
        assert time.monotonic() - since < 600, f"no progress: {counts} {left[:3]}"
        time.sleep(0.2)


def _figures(
    store: Store, github: FailingGitHub, cases: list[Case], deliveries: list[tuple[str, str, bytes]], statuses: Counter[int], kills: int, seconds: float
) -> Figures:
    mine = {
        case.reference: [event for event in github.timelines.get(case.reference, []) if (event["actor"] or {}).get("login") == github.bot["login"]]
        for case in cases
    }
    comments = {reference: sum(event["event"] == "commented" for event in events) for reference, events in mine.items()}
    labels_right = sum(sorted(github.labels(case.reference)) == case.labels for case in cases)
    comments_right = sum(comments[case.reference] == case.comments for case in cases)
    stored = store.list_work(Delivery, limit=1_000_000)
    unfinished = [delivery for delivery in stored if delivery.state not in {"done", "ignored"}]
    missing = {delivery_id for _, delivery_id, _ in deliveries} - {delivery.id for delivery in stored}
    counts = store.counts()
    return Figures(
        issues=len(cases),
        labels_right=labels_right,
        comments_right=comments_right,
        most_comments=max(comments.values()),
        lost=len(unfinished) + len(missing) + len(cases) - labels_right + sum(comments[case.reference] < case.comments for case in cases),
        duplicates=sum(max(0, comments[case.reference] - case.comments) + max(0, len(github.labels(case.reference)) - len(case.labels)) for case in cases),
        dead=counts["jobs"]["dead"] + counts["deliveries"]["dead"],
        accepted=statuses[202] + statuses[200],
        refused=statuses[401] + statuses[409],
        kills=kills,
        faults=github.faults_given.total(),
        seconds=seconds,
    )


@contextmanager
def postgresql() -> Iterator[str]:
    """A database of a PostgreSQL of its own."""
    programs = databases._programs()
    assert programs is not None, "needs PostgreSQL: apt-get install postgresql"
    with databases._private_server(programs) as server, databases.fresh_postgresql(server) as url:
        yield url


def main() -> None:
    """Run it as asked, print a table, and end with 1 if anything was lost or done twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])  # of the process that forks the workers
    good = True
    columns = list(Figures.__dataclass_fields__)
    sys.stdout.write("database    " + "  ".join(columns) + "\n")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name in ["sqlite", "postgresql"] if options.database == "both" else [options.database]:
            url = f"sqlite:///{folder}/store.db" if name == "sqlite" else stack.enter_context(postgresql())
            figures = crash(url, Path(folder), options.deliveries, options.kills, options.seed)
            values = "  ".join(f"{getattr(figures, column):>{len(column)}.0f}" for column in columns)
            sys.stdout.write(f"{name:<10}  {values}\n")
            sys.stdout.flush()
            good = good and not (figures.lost or figures.duplicates or figures.dead) and figures.labels_right == figures.comments_right == figures.issues
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
