# ruff: noqa: F401, F811  # fixtures
"""Our requests, and the answers of the double that the tests rest on, against GitHub's OpenAPI description."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import NotFoundError, RefusedError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage.github.forms import form_lines
from distriage.github.releases import read_releases
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.action.run import Inputs, run_action
from distriage_serving.backfill.run import BackfillOptions, issues_of
from distriage_serving.bot.sweep import sweep
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.names import resolve
from distriage_serving.github.app_auth import App
from distriage_serving.github.executor import execute
from distriage_serving.github.files import read_config
from distriage_serving.github.issue import read_issue
from distriage_serving.github.thread.asking import marker_of, post, take_back
from distriage_serving.github.thread.reading import read_thread
from distriage_serving.github.timeline import find_own_comment
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.plan import make_plan

from support import faults, local_http
from support.app_key import APP_ID, app_key
from support.command_line import Command
from support.described_github import (
    CHECK,
    COMMAND,
    COMPARE,
    EDIT,
    ENTER,
    ISSUE,
    LIST_COMMENTS,
    LIST_ISSUES,
    OPERATIONS,
    READ_CONFIG,
    READ_FORM,
    READ_FRESH,
    READ_ISSUE,
    RELEASES,
    SET_TYPE,
    SWEEP,
    TAKE_BACK,
    TAKE_OFF,
    UNREACT,
    WHO_AM_I,
    WRITE,
    Deliver,
    client,
    deliver,
    double,
    fill,
    good_status,
    prism,
    repository,
    sent,
    worked_on,
)
from support.execution import TYPED
from support.faults import Fault, Trouble
from support.github import INSTALLATION, PERSON, GitHub
from support.github_description import Prism
from support.github_shapes import TIME, release
from support.verdicts import make_verdict

TAXONOMY = default_taxonomy()


# ---------------------------------------------------------------- reading and writing one issue


def carry_out(client: Client, repository: str, text: str = "comment: true\n") -> None:
    state = read_issue(client, IssueReference(repository, 1)).state
    plan = make_plan(
        make_verdict(missing=("torch",)),
        state,
        resolve(parse_config(text, "distriage.yml", TAXONOMY), TAXONOMY),
    )
    execute(plan, client)


def test_a_plan_carried_out(double: GitHub, client: Client, repository: str) -> None:
    issue = f"{repository}#1"
    double.open(issue, "A hang", "It hangs.", labels=("bug",))
    double.unlabel(issue, "bug", PERSON)
    carry_out(client, repository)
    assert sent(double) == READ_ISSUE | WRITE
    assert len(double.labels(issue)) == 2 and len(double.comments(issue)) == 1


def test_an_issue_type_set(double: GitHub, client: Client, repository: str) -> None:
    double.open(f"{repository}#1", "A hang", "It hangs.")
    carry_out(client, repository, TYPED)
    assert sent(double) == READ_FRESH | SET_TYPE
    assert double.issues[f"{repository}#1"]["type"]["name"] == "Bug"


@pytest.mark.parametrize(("then", "seen"), [((), ("Bug", False)), ((None,), (None, True)), (("Task",), ("Task", True))])
def test_who_touched_the_issue_type(
    double: GitHub, client: Client, repository: str, then: tuple[str | None, ...], seen: tuple[str | None, bool]
) -> None:
    double.open(f"{repository}#1", "A hang", "It hangs.")
    double.give_type(f"{repository}#1", "Bug", double.bot)
    for name in then:
        double.give_type(f"{repository}#1", name, PERSON)
    state = read_issue(client, IssueReference(repository, 1)).state
    assert (state.issue_type, state.type_touched) == seen


def test_a_comment_edited(double: GitHub, client: Client, repository: str) -> None:
    double.open(f"{repository}#1", "A hang", "It hangs.")
    double.comment(f"{repository}#1", Marker.of("old").write("old"), double.bot)
    carry_out(client, repository)
    assert sent(double) >= EDIT and len(double.comments(f"{repository}#1")) == 1


def test_the_own_comment_looked_for(double: GitHub, client: Client, repository: str) -> None:
    double.open(f"{repository}#1", "A hang", "It hangs.")
    double.comment(f"{repository}#1", "<!-- distriage:v1 0123456789abcdef -->\nours", double.bot)
    found = find_own_comment(client, IssueReference(repository, 1), "v1")
    assert found is not None and found.digest == "0123456789abcdef"
    assert sent(double) == WHO_AM_I | LIST_COMMENTS


def test_a_question_asked_and_taken_back(double: GitHub, client: Client, repository: str) -> None:
    double.open(f"{repository}#1", "It hangs")
    issue, marker = IssueReference(repository, 1), marker_of(1, "Which version?")
    for _ in range(2):
        post(client, issue, "Which version?", marker)
    assert [Marker.read(text) for text in double.comments(f"{repository}#1")] == [marker]
    for _ in range(2):
        take_back(client, issue, marker)
    assert double.comments(f"{repository}#1") == []
    assert sent(double) == WHO_AM_I | LIST_COMMENTS | {f"POST {ISSUE}/comments"} | TAKE_BACK


def test_a_thread(double: GitHub, client: Client, repository: str) -> None:
    double.open(f"{repository}#1", "It hangs", comments=23, assignees=[PERSON])
    for number in range(1, 24):
        double.comment(f"{repository}#1", f"comment {number}", PERSON)
    double.name_in_change(f"{repository}#1", 2, "Set the timeout", merged=True)
    double.name_in_change(f"{repository}#1", 3, "Say more", merged=False)
    thread = read_thread(client, IssueReference(repository, 1))
    assert [comment.body for comment in thread.comments] == [f"comment {number}" for number in range(14, 24)]
    assert thread.count == 23 and thread.assignees == (PERSON["login"],)
    found = [(change.reference, change.title, change.state) for change in thread.changes]
    assert found == [(f"{repository}#2", "Set the timeout", "merged"), (f"{repository}#3", "Say more", "open")]
    assert len(double.requests) == 4


def test_pages(double: GitHub, client: Client, repository: str) -> None:
    double.open(f"{repository}#1", "A hang", "It hangs.")
    double.define(repository, *(f"label {number}" for number in range(120)))
    assert len(read_issue(client, IssueReference(repository, 1)).state.repository_labels) == 120
    assert [request.path for request in double.requests if "/labels" in request.path] == [
        f"/repos/{repository}/labels?per_page=100{more}" for more in ("", "&page=2")
    ]


def test_the_configuration(double: GitHub, client: Client, repository: str) -> None:
    double.files[f"{repository}/.github/distriage.yml"] = '{"mode": "precise"}'
    assert read_config(client, repository, ".github/distriage.yml", TAXONOMY).mode == "precise"
    assert read_config(client, "owner/none", ".github/distriage.yml", TAXONOMY).mode == "balanced"
    assert sent(double) == READ_CONFIG


def test_what_is_gone(double: GitHub, client: Client, repository: str) -> None:
    with pytest.raises(NotFoundError):
        read_issue(client, IssueReference(repository, 1))
    double.gone.add(f"{repository}#1")
    with pytest.raises(NotFoundError):
        read_issue(client, IssueReference(repository, 1))


def test_a_label_that_exists(double: GitHub, client: Client, repository: str) -> None:
    double.define(repository, "hang")
    with pytest.raises(RefusedError) as caught:
        client.write(
            "POST",
            f"/repos/{repository}/labels",
            {"name": "hang", "color": "ededed", "description": ""},
            repeatable=True,
        )
    assert caught.value.already_exists


# ---------------------------------------------------------------- what stands on them


def test_classify_an_issue(
    double: GitHub,
    prism: Prism,
    repository: str,
    keyword_bundle: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del prism
    monkeypatch.setenv("GITHUB_TOKEN", double.token)
    double.open(f"{repository}#1", "Training hangs", "It hangs and hangs after a timeout.")
    assert command("classify", "--issue", f"{repository}#1", "--model", keyword_bundle, "--json").code == 0
    assert sent(double) == {f"GET {ISSUE}"}


def test_releases(double: GitHub, client: Client, repository: str) -> None:
    double.releases[repository] = [release(repository, "v1.1.0", None), release(repository, "v1.0.0", TIME)]
    assert [one.tag for one in read_releases(client, repository)] == ["v1.0.0"]
    assert sent(double) == RELEASES


def test_the_action(double: GitHub, prism: Prism, repository: str, keyword_bundle: Path) -> None:
    del prism
    double.open(f"{repository}#1", "Training hangs", "It hangs and hangs after a timeout.")
    double.files[f"{repository}/.github/distriage.yml"] = '{"comment": true}'
    assert (
        run_action(
            Inputs(token=double.token, repository=repository, issue_number="1", model=str(keyword_bundle)),
            strict="true",
        )
        == 0
    )
    assert sent(double) == READ_FRESH | {"POST /graphql"} | WRITE


def test_the_list_of_issues(double: GitHub, client: Client, repository: str) -> None:
    for number in range(1, 4):
        double.open(f"{repository}#{number}", "A hang", "It hangs.")
    double.page_items = 2
    assert [issue.number for issue in issues_of(client, repository, BackfillOptions(since=1.0))] == [1, 2, 3]
    double.page_items = 100
    assert sent(double) == LIST_ISSUES


def test_forms_are_listed_and_read(double: GitHub, client: Client, repository: str) -> None:
    double.files[f"{repository}/.github/ISSUE_TEMPLATE/bug.yml"] = json.dumps(
        {"body": [{"type": "input", "attributes": {"label": "Story"}}]}
    )
    assert form_lines(client, repository) is not None
    assert sent(double) == READ_CONFIG | READ_FORM


# ---------------------------------------------------------------- the bot


def test_the_bot_labels_takes_a_command_and_takes_a_label_off(
    double: GitHub, deliver: Deliver, repository: str
) -> None:
    issue = f"{repository}#1"
    double.open(issue, "It hangs", "It hangs, hangs and hangs after a timeout.")
    double.files[f"{repository}/.github/distriage.yml"] = '{"comment": true}'
    deliver("issues", double.payload("opened", issue))
    assert sent(double) == ENTER | READ_CONFIG | READ_FRESH | WRITE
    double.requests.clear()
    comment = double.comment(issue, "/triage wrng", PERSON)
    deliver("issue_comment", double.payload("created", issue, comment=comment))
    before = {"body": {"from": comment["body"]}}
    comment["body"] = "/triage wrong symptom=oom"
    deliver("issue_comment", double.payload("edited", issue, PERSON, comment=comment, changes=before))
    assert sent(double) >= COMMAND | UNREACT | TAKE_OFF
    assert double.reactions[comment["id"]] == ["+1"] and "symptom: oom" in double.labels(issue)


def test_the_bot_checks_a_configuration(double: GitHub, deliver: Deliver, repository: str) -> None:
    double.versions |= {"a" * 40: '{"mode": "best"}', "b" * 40: '{"mod": "best"}'}
    pull = {"number": 2, "head": {"sha": "b" * 40}, "base": {"sha": "a" * 40}}
    payload = {
        "action": "opened",
        "pull_request": pull,
        "repository": {"full_name": repository},
        "installation": {"id": INSTALLATION},
        "sender": PERSON,
    }
    deliver("pull_request", payload)
    assert sent(double) >= READ_CONFIG | COMPARE | CHECK
    assert (
        double.check_runs["b" * 40][0]["conclusion"] == "failure"
        and double.check_runs["b" * 40][0]["output"]["annotations"]
    )


def test_the_sweep(double: GitHub, prism: Prism) -> None:
    failed = double.hook_delivery("11111111-lost", 502)
    double.hook_delivery("22222222-arrived", 202)
    assert sweep(App(APP_ID, app_key(), prism.url).client(), time.time()) == 1
    assert double.redelivered == [failed["id"]]
    assert sent(double) == SWEEP


# ---------------------------------------------------------------- does Prism see at all?


_UNSEEN = READ_CONFIG | READ_FORM | TAKE_BACK | UNREACT  # texts, and nothing


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in _UNSEEN])
def test_an_answer_that_github_does_not_give_is_seen(
    double: GitHub, prism: Prism, repository: str, operation: str
) -> None:
    """Otherwise a schema that Prism cannot read would pass everything."""
    method, path = fill(operation, repository)
    seen = []
    for wrong in ([{"id": "one"}], {"id": "one"}):
        double.troubles.append(Trouble("", Fault(good_status(operation), json.dumps(wrong))))
        local_http.request(
            method,
            prism.url + path,
            headers={"Authorization": f"Bearer {double.token}"},
            json=None if method == "GET" else {},
        )
        seen += prism.violations()
    assert any("response.body" in line for line in seen)


WRONG_REQUESTS: dict[str, tuple[Callable[[str], str], str, Any]] = {
    "labels that are no texts": (
        lambda repository: f"POST /repos/{repository}/issues/1/labels",
        "request.body",
        {"labels": [{"id": 3}]},
    ),
    "a comment without text": (lambda repository: f"POST /repos/{repository}/issues/1/comments", "request.body", {}),
    "a label without a name": (
        lambda repository: f"POST /repos/{repository}/labels",
        "request.body",
        {"color": "ededed"},
    ),
    "an issue that is no number": (lambda repository: f"GET /repos/{repository}/issues/one", "request.path", None),
    "a page that is no number": (
        lambda repository: f"GET /repos/{repository}/labels?page=first",
        "request.query",
        None,
    ),
    "a path that GitHub lacks": (lambda repository: f"GET /repos/{repository}/isues", "route not found", None),
}


@pytest.mark.parametrize("name", WRONG_REQUESTS)
def test_a_request_that_github_refuses_is_seen(double: GitHub, prism: Prism, repository: str, name: str) -> None:
    make, place, body = WRONG_REQUESTS[name]
    method, path = make(repository).split(" ")
    double.troubles.append(Trouble("", faults.status(404)))
    local_http.request(method, prism.url + path, json=body)
    assert any(place in line for line in prism.violations()), name
