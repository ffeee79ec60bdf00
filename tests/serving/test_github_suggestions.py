# ruff: noqa: F401, F811  # fixtures
"""Suggestions end to end through Prism, which holds each request and answer against GitHub's description; and how many
requests an issue costs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich.console import Console

from distriage.answer.verdict import LikelyDuplicate
from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.action.run import Inputs, run_action
from distriage_serving.backfill.run import Backfill, BackfillOptions
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.names import resolve
from distriage_serving.github.executor import execute
from distriage_serving.github.fields import read_fields
from distriage_serving.github.issue import read_issue
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.planning.plan import make_plan
from distriage_serving.store import Store

from support.described_github import (
    DECIDE,
    FIELDS,
    ISSUE,
    SET_TYPE,
    SUGGESTIONS,
    WHO_IS,
    Deliver,
    client,
    deliver,
    double,
    prism,
    repository,
    sent,
    worked_on,
)
from support.github import PERSON, GitHub
from support.github_description import Prism
from support.github_shapes import issue_field
from support.verdicts import make_verdict

TAXONOMY = default_taxonomy()
PERHAPS = "It ends with a timeout after ten minutes of training."  # the toy model hears: perhaps a hang
SURE = "It hangs, hangs and hangs."
HANG = "symptom: hang"


@pytest.fixture
def suggesting(double: GitHub, repository: str) -> GitHub:
    double.suggesting.add(repository)
    double.accounts = [PERSON]
    double.files[f"{repository}/.github/distriage.yml"] = '{"axes": {"symptom": true}, "suggestions": "perhaps"}'
    return double


def file(double: GitHub, deliver: Deliver, issue: str, body: str) -> list[str]:
    """A new issue, and all that follows; the requests about it, without those for tokens."""
    double.open(issue, "It stops", body)
    before = len(double.requests)
    deliver("issues", double.payload("opened", issue))
    requests = [f"{request.method} {request.path.partition('?')[0]}" for request in double.requests[before:]]
    return [request for request in requests if "/app" not in request and "/graphql" not in request]


@pytest.mark.parametrize("approve", [True, False])
def test_a_suggestion_becomes_a_review_and_is_not_made_again(
    suggesting: GitHub, deliver: Deliver, worked_on: Store, repository: str, *, approve: bool
) -> None:
    issue = f"{repository}#1"
    file(suggesting, deliver, issue, PERHAPS)
    (made,) = suggesting.pending(issue)
    assert made["rationale"] and made["confidence"] == "LOW" and suggesting.labels(issue) == []
    suggesting.decide(issue, made["id"], PERSON, approve=approve)
    suggesting.written.clear()
    deliver("issues", suggesting.payload("labeled" if approve else "edited", issue, PERSON))
    for body in (f"{PERHAPS} Again.", SURE):
        suggesting.issues[issue]["body"] = body
        deliver("issues", suggesting.payload("edited", issue))
    assert suggesting.labels(issue) == ([HANG] if approve else []) and len(suggesting.suggestions[issue]) == 1
    assert [write.path for write in suggesting.written if "/issues/" in write.path] == []
    (review,) = worked_on.reviews(issue=IssueReference(repository, 1))
    how, label = ("approve", "hang") if approve else ("dismiss", None)
    assert (review.how, review.label, review.who, review.predicted_label) == (how, label, "maintainer", "hang")
    assert sent(suggesting) >= SUGGESTIONS | WHO_IS


@pytest.mark.parametrize("label", ["hang", "leak"])
def test_decided_elsewhere(suggesting: GitHub, deliver: Deliver, repository: str, label: str) -> None:
    issue = f"{repository}#1"
    file(suggesting, deliver, issue, PERHAPS)
    comment = suggesting.comment(issue, f"/triage wrong symptom={label}", PERSON)
    deliver("issue_comment", suggesting.payload("created", issue, comment=comment))
    assert suggesting.labels(issue) == [f"symptom: {label}"] and suggesting.pending(issue) == []
    assert sent(suggesting) & DECIDE


def test_where_it_is_off(suggesting: GitHub, deliver: Deliver, repository: str) -> None:
    suggesting.suggesting.clear()
    file(suggesting, deliver, f"{repository}#1", PERHAPS)
    suggesting.requests.clear()
    file(suggesting, deliver, f"{repository}#2", SURE)
    assert suggesting.labels(f"{repository}#2") == [HANG] and not sent(suggesting) & SUGGESTIONS


def test_type_field_and_duplicate_in_one_request(suggesting: GitHub, client: Client, repository: str) -> None:
    suggesting.issue_fields = [issue_field(5, "Failure", "runtime-hang", "other")]
    suggesting.open(f"{repository}#1", "A hang", "It hangs.")
    suggesting.open(f"{repository}#7", "The same", "It hangs.")
    text = "suggestions: all\naxes: {symptom: {field: Failure, labels: {runtime-hang: {type: Bug}}}}\n"
    config = parse_config(text, "distriage.yml", TAXONOMY)
    same = LikelyDuplicate(id=f"{repository}#7", title="The same", url="", state="open", closed_by="", probability=0.9)
    reference = IssueReference(repository, 1)

    state = replace(read_issue(client, reference).state, known_fields=read_fields(client, repository))
    verdict = make_verdict().model_copy(update={"duplicates": [same]})
    done = execute(make_plan(verdict, state, resolve(config, TAXONOMY)), client)
    assert [one["action"] for one in suggesting.pending(f"{repository}#1")] == [
        "add_label",
        "set_type",
        "close_issue",
        "add_field",
    ]
    assert done.warnings == [] and suggesting.issues[f"{repository}#1"]["state"] == "open"
    assert sent(suggesting) >= SET_TYPE | FIELDS


def test_the_action_suggests_once(
    suggesting: GitHub,
    prism: Prism,
    repository: str,
    keyword_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del prism
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    suggesting.open(f"{repository}#1", "It stops", PERHAPS)
    inputs = Inputs(token=suggesting.token, repository=repository, issue_number="1", model=str(keyword_bundle))
    for _ in range(2):
        assert run_action(inputs, strict="true") == 0
    (made,) = suggesting.pending(f"{repository}#1")
    assert "| label | `symptom: hang` | low |" in summary.read_text("utf-8")
    suggesting.decide(f"{repository}#1", made["id"], PERSON, approve=False)
    assert run_action(inputs, strict="true") == 0
    assert len(suggesting.suggestions[f"{repository}#1"]) == 1 and suggesting.labels(f"{repository}#1") == []
    suggesting.suggesting.clear()
    suggesting.open(f"{repository}#2", "It stops", PERHAPS)
    assert run_action(Inputs(**{**asdict(inputs), "issue_number": "2"}), strict="true") == 0
    assert summary.read_text("utf-8").count("takes no suggestions") == 1 and suggesting.labels(f"{repository}#2") == []


def test_issues_of_two_pages_get_one_suggestion_each(
    suggesting: GitHub,
    client: Client,
    repository: str,
    worked_on: Store,
    keyword_classifier: Classifier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By backfill, twice; the second run asks only what became of them. With TEST_ISSUES=1000, of a thousand."""
    count = int(os.environ.get("TEST_ISSUES", "12"))
    monkeypatch.setattr(suggesting, "page_items", count // 2)
    for number in range(1, count + 1):
        suggesting.open(f"{repository}#{number}", "It stops", PERHAPS if number % 2 else SURE)
    for again in (False, True):
        work = Backfill(client, worked_on, LocalJudge(keyword_classifier), Console(quiet=True))
        work.run(repository, BackfillOptions(again=again))
        assert work.report.failed == []
    issues = [f"{repository}#{number}" for number in range(1, count + 1)]
    made = [one["state"] for issue in issues for one in suggesting.suggestions.get(issue, [])]
    assert (
        made == ["pending"] * (count // 2) and sum(suggesting.labels(issue) == [HANG] for issue in issues) == count // 2
    )
    asked = [f"{request.method} {request.path.partition('?')[0]}" for request in suggesting.requests]
    posts = [line for line in asked if line.startswith("POST") and line.endswith("/labels") and "/issues/" in line]
    assert len(posts) == len(set(posts)) == count
    learned = 1  # whether the repository takes any
    assert sum(line.endswith("/suggestions") for line in asked) == count // 2 + learned


# ---------------------------------------------------------------- what an issue costs


@pytest.mark.parametrize(("body", "more"), [(SURE, []), (PERHAPS, ["POST labels"])])
def test_an_issue_costs_one_request_more_at_most(
    suggesting: GitHub, deliver: Deliver, repository: str, body: str, more: Sequence[str]
) -> None:
    """Against the same issues without suggestions, once it is known that the repository takes some."""
    suggesting.define(repository, HANG)
    file(suggesting, deliver, f"{repository}#1", PERHAPS)
    on = file(suggesting, deliver, f"{repository}#2", body)
    suggesting.files[f"{repository}/.github/distriage.yml"] = '{"axes": {"symptom": true}}'
    off = file(suggesting, deliver, f"{repository}#3", body)
    assert len(on) - len(off) == len(more)
    assert [line for line in on if "/suggestions" in line] == []
    assert sum(line.startswith("POST") for line in on) == 1
    again = len(suggesting.requests)
    deliver("issues", suggesting.payload("edited", f"{repository}#2"))
    asked = [request for request in suggesting.requests[again:] if "/suggestions" in request.path]
    assert len(asked) == len(more)
