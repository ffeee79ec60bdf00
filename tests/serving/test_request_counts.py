# ruff: noqa: F401, F811  # fixtures
"""How many requests an issue costs with suggestions, against the same issue without them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage_serving.action.run import Inputs, run_action
from distriage_serving.backfill.run import Backfill, BackfillOptions
from distriage_serving.github import forms
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.store import Store

from support.bot import HANG, Bot, Make, bot, github, make, store
from support.databases import new_sqlite
from support.github import PERSON, GitHub
from support.github_shapes import issue_field

PERHAPS = "It ends with a timeout after ten minutes of training."  # the toy model hears: perhaps a hang
SURE = "It hangs, hangs and hangs."
LABEL = "symptom: true"
TYPE = "symptom: {labels: {hang: {type: Bug}}}"
FIELD = "symptom: {field: Failure, labels: {hang: {type: Bug, enabled: false}}}"
CASES = [(axes, body) for axes in (LABEL, TYPE, FIELD) for body in (SURE, PERHAPS)]
ISSUES = 3

Count = Callable[[str, str], list[str]]  # configuration, report -> requests about an issue


@pytest.fixture
def warm(github: GitHub) -> GitHub:
    """A repository that takes suggestions and has the labels: both are learned once."""
    github.suggesting.add("owner/repo")
    github.issue_fields.append(issue_field(5, "Failure", "Hang", "Crash"))
    github.define("owner/repo", HANG)
    github.tokens[github.token] = math.inf
    return github


def requests(github: GitHub, since: int = 0) -> list[str]:
    """Those about issues, and all else that a look reads; not those for tokens and of whose they are."""
    lines = [f"{request.method} {request.path.partition('?')[0]}" for request in github.requests[since:]]
    return [line for line in lines if "/app" not in line and not line.endswith(("/graphql", "/user"))]


@pytest.fixture
def by_app(warm: GitHub, bot: Bot) -> Count:
    bot.store.save_repository("owner/repo", no_suggestions_until=0.0)
    numbers = iter(range(2, 10))

    def count(config: str, body: str) -> list[str]:
        warm.files["owner/repo/.github/distriage.yml"] = config
        forms.form_lines(Client(warm.token, warm.url), "owner/repo")
        reference, since = f"owner/repo#{next(numbers)}", len(warm.requests)
        warm.open(reference, "It stops", body)
        bot.deliver("issues", warm.payload("opened", reference))
        bot.settle(1.0)
        return requests(warm, since)

    return count


@pytest.fixture
def by_backfill(warm: GitHub, keyword_classifier: Classifier, tmp_path: Path) -> Count:
    def count(config: str, body: str) -> list[str]:
        warm.files["owner/repo/.github/distriage.yml"] = config
        for number in range(1, ISSUES + 1):
            warm.open(f"owner/repo#{number}", "It stops", body)
            warm.suggestions.pop(f"owner/repo#{number}", None)
        client, since = Client(warm.token, warm.url, sleep=lambda _: None), len(warm.requests)
        with Store.open(new_sqlite(tmp_path / f"{since}.db")) as store:
            store.save_repository("owner/repo", no_suggestions_until=0.0)
            work = Backfill(client, store, LocalJudge(keyword_classifier), Console(quiet=True))
            work.run("owner/repo", BackfillOptions())
        assert work.report.failed == []
        return [line for line in requests(warm, since) if "/issues/1" in line]

    return count


@pytest.fixture
def by_action(warm: GitHub, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Count:
    monkeypatch.setenv("GITHUB_API_URL", warm.url)
    numbers = iter(range(2, 10))

    def count(config: str, body: str) -> list[str]:
        warm.files["owner/repo/.github/distriage.yml"] = config
        forms.forget_forms(Client(warm.token, warm.url), "owner/repo")  # each run is a process of its own
        number, since = next(numbers), len(warm.requests)
        warm.open(f"owner/repo#{number}", "It stops", body)
        inputs = Inputs(
            token=warm.token, repository="owner/repo", issue_number=str(number), model=str(keyword_bundle), login="bot"
        )
        assert run_action(inputs, strict="true") == 0
        return requests(warm, since)

    return count


def on_and_off(count: Count, axes: str, body: str) -> tuple[list[str], list[str]]:
    off = count(f"axes: {{{axes}}}\n", body)
    return count(f"axes: {{{axes}}}\nsuggestions: perhaps\n", body), off


@pytest.mark.parametrize("entrance", ["by_app", "by_backfill"])
@pytest.mark.parametrize(("axes", "body"), CASES)
def test_suggestions_cost_a_new_issue_one_request_at_most(
    entrance: str, axes: str, body: str, request: pytest.FixtureRequest
) -> None:
    on, off = on_and_off(request.getfixturevalue(entrance), axes, body)
    assert len(on) - len(off) == (1 if body == PERHAPS else 0), (on, off)
    assert not any(line.endswith(("/suggestions", "/timeline")) for line in [*on, *off])


@pytest.mark.parametrize(("axes", "body"), CASES)
def test_the_action_remembers_nothing_and_asks_before_it_suggests(by_action: Count, axes: str, body: str) -> None:
    """One request more than was needed before suggestions, when a fresh issue's timeline was read too."""
    on, off = on_and_off(by_action, axes, body)
    assert len(on) - (len(off) + 1) == (1 if body == PERHAPS else -1), (on, off)
    assert sum(line.endswith("/suggestions") for line in on) == (body == PERHAPS)
    assert not any(line.endswith("/timeline") for line in [*on, *off])


def test_a_later_look_asks_once_about_what_is_pending(by_app: Count, warm: GitHub, bot: Bot) -> None:
    counted = []
    for config in (f"axes: {{{LABEL}}}\n", f"axes: {{{LABEL}}}\nsuggestions: perhaps\n"):
        by_app(config, PERHAPS)
        reference = max(warm.issues)
        warm.label(reference, "seen", PERSON)
        since = len(warm.requests)
        bot.deliver("issues", warm.payload("edited", reference))
        bot.settle()
        counted.append(requests(warm, since))
    off, on = counted
    assert len(on) == len(off) + 1 and sum(line.endswith("/suggestions") for line in on) == 1


def test_what_waits_is_suggested_at_a_later_look(by_app: Count, warm: GitHub, bot: Bot) -> None:
    by_app(f"axes: {{{TYPE}}}\nsuggestions: perhaps\n", PERHAPS)
    reference = max(warm.issues)
    assert [one["action"] for one in warm.pending(reference)] == ["add_label"]
    warm.label(reference, "seen", PERSON)
    bot.deliver("issues", warm.payload("edited", reference))
    bot.settle()
    assert [one["action"] for one in warm.pending(reference)] == ["add_label", "set_type"]


def test_a_touched_issue_keeps_its_history(warm: GitHub, bot: Bot) -> None:
    """The timeline is left unread only while nothing has happened: a label that somebody took off stays off."""
    warm.open("owner/repo#20", "It stops", SURE)
    warm.label("owner/repo#20", HANG, PERSON)
    warm.unlabel("owner/repo#20", HANG, PERSON)
    bot.deliver("issues", warm.payload("opened", "owner/repo#20"))
    bot.settle()
    assert warm.labels("owner/repo#20") == []
