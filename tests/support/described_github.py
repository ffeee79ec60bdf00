"""A GitHub behind Prism, which checks each request and answer against GitHub's own description."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage_serving.bot.deliveries import installation_of, number_of, repository_of
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.store import Delivery, Job, Store

from support.app_key import APP_ID, app_key
from support.databases import new_sqlite
from support.github import GitHub
from support.github_description import DESCRIPTION, Prism, cut, proxied, template_of

ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}"
WHO_AM_I = {"GET /user", "POST /graphql"}  # an App's token may not ask the first
READ_ISSUE = WHO_AM_I | {f"GET {ISSUE}", f"GET {ISSUE}/timeline", "GET /repos/{owner}/{repo}/labels"}
# As filed: nothing has happened to it, so nobody asks who did it.
READ_FRESH = READ_ISSUE - WHO_AM_I - {f"GET {ISSUE}/timeline"}
READ_CONFIG = {"GET /repos/{owner}/{repo}/contents/.github/{path}"}  # and lists the folder of the forms
READ_FORM = {"GET /repos/{owner}/{repo}/contents/.github/ISSUE_TEMPLATE/{path}"}
WRITE = {"POST /repos/{owner}/{repo}/labels", f"POST {ISSUE}/labels", f"POST {ISSUE}/comments"}
EDIT = {"PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}"}
TAKE_BACK = {"DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}"}
LIST_COMMENTS = {f"GET {ISSUE}/comments"}
LIST_ISSUES = {"GET /repos/{owner}/{repo}/issues"}
SET_TYPE = {f"PATCH {ISSUE}"}
ASSIGN = {f"{method} {ISSUE}/assignees" for method in ("POST", "DELETE")}
TAKE_OFF = {f"DELETE {ISSUE}/labels/{{name}}"}
ENTER = {"GET /app", "POST /app/installations/{installation_id}/access_tokens"}
COMMAND = {
    "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
    "POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
    "GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
}
UNREACT = {"DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}"}
COMPARE = {"GET /repos/{owner}/{repo}/compare/{basehead}"}
CHECK = {"GET /repos/{owner}/{repo}/commits/{ref}/check-runs", "POST /repos/{owner}/{repo}/check-runs"}
SWEEP = {"GET /app/hook/deliveries", "POST /app/hook/deliveries/{delivery_id}/attempts"}
SUGGESTIONS = {f"GET {ISSUE}/suggestions"}
DECIDE = {f"POST {ISSUE}/suggestions/{{suggestion_id}}/{verb}" for verb in ("approve", "dismiss")}
WHO_IS = {"GET /user/{account_id}"}
FIELDS = {"GET /orgs/{org}/issue-fields"}
RELEASES = {"GET /repos/{owner}/{repo}/releases"}
OPERATIONS = sorted(
    READ_ISSUE
    | READ_CONFIG
    | READ_FORM
    | WRITE
    | EDIT
    | TAKE_BACK
    | LIST_COMMENTS
    | LIST_ISSUES
    | SET_TYPE
    | TAKE_OFF
    | ASSIGN
    | ENTER
    | COMMAND
    | UNREACT
    | COMPARE
    | CHECK
    | SWEEP
    | SUGGESTIONS
    | DECIDE
    | WHO_IS
    | FIELDS
    | RELEASES
)
NUMBERS = count(1)


@contextmanager
def before_prism(node_modules: Path, folder: Path) -> Iterator[tuple[Prism, GitHub]]:
    """Prism with the operations that we use, and a GitHub with an App, to which a token is valid for ever."""
    github = GitHub(app=True)
    github.tokens[GitHub.token] = math.inf
    with proxied(node_modules, cut(node_modules / DESCRIPTION, OPERATIONS), github, folder) as prism:
        yield prism, github
    github.close()


@pytest.fixture
def double(prism_and_double: tuple[Prism, GitHub]) -> GitHub:
    """The GitHub behind Prism."""
    return prism_and_double[1]


@pytest.fixture
def prism(prism_and_double: tuple[Prism, GitHub], monkeypatch: pytest.MonkeyPatch) -> Iterator[Prism]:
    """The proxy; what it finds wrong during the test fails it."""
    prism, double = prism_and_double
    monkeypatch.setenv("GITHUB_API_URL", prism.url)
    double.requests.clear()
    double.troubles.clear()
    yield prism
    violations = prism.violations()
    assert violations == [], violations


@pytest.fixture
def repository() -> str:
    """One that no other test uses: the double outlives a test."""
    return f"owner/repo-{next(NUMBERS)}"


@pytest.fixture
def client(prism: Prism) -> Client:
    """A client that does not wait."""
    return Client(GitHub.token, prism.url, sleep=lambda _: None)


def sent(double: GitHub) -> set[str]:
    """The operations of the requests so far."""
    return {template_of(request, OPERATIONS) for request in double.requests}


def fill(operation: str, repository: str) -> tuple[str, str]:
    """Method and path of an operation on the first of everything."""
    method, path = operation.split(" ")
    return method, re.sub(r"\{\w+\}", "1", path.replace("{owner}/{repo}", repository))


def good_status(operation: str) -> int:
    """What GitHub answers where it does what it was asked to."""
    method, path = operation.split(" ")
    if path.endswith("/attempts"):
        return 202
    return (
        201
        if method == "POST" and not path.endswith(("{issue_number}/labels", "/graphql", "/approve", "/dismiss"))
        else 200
    )


Deliver = Callable[[str, dict[str, Any]], None]


@pytest.fixture
def worked_on(tmp_path: Path) -> Iterator[Store]:
    """The worker's store."""
    with Store.open(new_sqlite(tmp_path / "store.db")) as store:
        yield store


@pytest.fixture
def deliver(prism: Prism, keyword_classifier: Classifier, worked_on: Store) -> Deliver:
    """Hands a delivery to a worker, which works until nothing is due; the debounced too."""
    store = worked_on
    worker = Worker(
        store,
        App(APP_ID, app_key(), prism.url),
        LocalJudge(keyword_classifier),
        threading.Event(),
        Timing(debounce_s=0),
    )

    def handed(event: str, payload: dict[str, Any]) -> None:
        kept = Delivery(
            id=f"delivery-{next(NUMBERS)}",
            event=event,
            payload=json.dumps(payload),
            received_at=store.clock(),
            action=payload["action"],
            repository=repository_of(payload),
            issue=number_of(payload),
            installation_id=installation_of(payload),
        )
        store.add_delivery(kept)
        while worker.step():
            pass
        assert {job.state for job in store.list_work(Job)} == {"done"}, [job.last_error for job in store.list_work(Job)]

    return handed
