"""A worker, its store and its GitHub, with a clock that a test moves on; and what people do there."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage_serving.bot.deliveries import installation_of, number_of, repository_of
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import App, Patience
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.store import Delivery, Issue, Job, Store

from support.app_key import APP_ID, app_key
from support.databases import Clock
from support.github import PERSON, GitHub
from support.github_shapes import account

ISSUE = "owner/repo#1"
TITLE, BODY = "It hangs", "It hangs, hangs and hangs after a timeout."  # the toy model hears: symptom hang
HANG, OOM, LEAK = "symptom: hang", "symptom: oom", "symptom: leak"
CONFIG = "axes: {symptom: true}\n"
COMMENTED = CONFIG + "comment: true\n"
STRANGER = account("stranger", 8)
OTHER_BOT = account("stale[bot]", 9, "Bot")


@dataclass
class Bot:
    """See above."""

    github: GitHub
    store: Store
    worker: Worker
    clock: Clock
    ids: list[str] = field(default_factory=list)

    def deliver(self, event: str, payload: dict[str, Any]) -> str:
        """A webhook delivery, as the route keeps it."""
        self.ids.append(f"guid-{len(self.ids):04}")
        kept = Delivery(
            id=self.ids[-1],
            event=event,
            payload=json.dumps(payload),
            received_at=self.clock(),
            action=payload.get("action", ""),
            repository=repository_of(payload),
            issue=number_of(payload),
            installation_id=installation_of(payload),
        )
        assert self.store.add_delivery(kept)
        return self.ids[-1]

    def issue(self, action: str, sender: dict[str, Any] | None = None) -> None:
        """An `issues` event, and all that follows from it."""
        self.deliver("issues", self.github.payload(action, ISSUE, sender))
        self.settle()

    def say(self, text: str, who: dict[str, Any] = PERSON) -> dict[str, Any]:
        """A comment, and all that follows from it."""
        self.clock.now += 1
        comment = self.github.comment(ISSUE, text, who)
        self.deliver("issue_comment", self.github.payload("created", ISSUE, who, comment=comment))
        self.settle()
        return comment

    def mend(self, comment: dict[str, Any], text: str, who: dict[str, Any] = PERSON) -> None:
        """A comment is edited, and all that follows from it."""
        self.clock.now += 1
        changes = {"body": {"from": comment["body"]}}
        comment |= {"body": text, "updated_at": self.github._time(self.github.next_id())}
        self.deliver("issue_comment", self.github.payload("edited", ISSUE, who, comment=comment, changes=changes))
        self.settle()

    def settle(self, seconds: float = 100.0) -> None:
        """Work on everything that is due within this time."""
        while self.worker.step():
            pass
        self.clock.now += seconds
        while self.worker.step():
            pass

    def job(self) -> Job:
        """The latest one."""
        return self.store.list_work(Job, limit=1)[0]

    def stored(self) -> Issue:
        """The issue as the store has it."""
        found = self.store.get_issue("owner/repo", 1)
        assert found is not None
        return found

    def reviews(self, **options: Any) -> list[tuple[str, str | None, str, str | None]]:
        """How, label, who, predicted label of each review."""
        found = self.store.reviews(issue=IssueReference("owner/repo", 1), **options)
        return [(review.how, review.label, review.who, review.predicted_label) for review in found]

    def writes(self) -> list[tuple[str, str]]:
        """Requests that change something, without those for tokens."""
        return [(write.method, write.path) for write in self.github.written if not write.path.startswith("/app/")]


@pytest.fixture
def github(app_github: GitHub) -> GitHub:
    app_github.open(ISSUE, TITLE, BODY)
    app_github.files["owner/repo/.github/distriage.yml"] = CONFIG
    return app_github


Make = Callable[..., Bot]


class Hasty(App):
    """An App whose clients wait for nothing: every failure puts the job off."""

    def installation_client(self, installation_id: int, **given: Any) -> Client:
        return super().installation_client(installation_id, **{**given, "patience": Patience(20.0, 0.0)})


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    return sqlite_store


@pytest.fixture
def make(github: GitHub, store: Store, keyword_classifier: Classifier) -> Make:
    def made(kind: type[App] = App, **options: Any) -> Bot:
        clock = Clock(time.time())
        store.clock = clock
        app, timing = kind(APP_ID, app_key(), github.url), Timing(**{"debounce_s": 30, **options})
        return Bot(github, store, Worker(store, app, LocalJudge(keyword_classifier), threading.Event(), timing), clock)

    return made


@pytest.fixture
def bot(make: Make) -> Bot:
    return make()
