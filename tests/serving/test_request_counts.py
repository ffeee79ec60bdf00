# ruff: noqa: F401, F811  # fixtures
"""How many requests an issue costs with suggestions, against the same issue without them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console
from sqlalchemy import Engine, event

from distriage.classifier import Classifier
from distriage.github import forms
from distriage.github.client import Client
from distriage_serving.action.run import Inputs, run_action
from distriage_serving.backfill.run import Backfill, BackfillOptions
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
KINDS = [("opened", axes) for axes in (LABEL, TYPE, FIELD)]
KINDS += [("labelled", LABEL), ("edited", TYPE), ("reopened", FIELD)]
CASES = [(kind, axes, body) for kind, axes in KINDS for body in (SURE, PERHAPS)]
ISSUES = 3

Count = Callable[[str, str, str], list[str]]  # configuration, kind of issue, report -> requests about it


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
    asked = [one for one in github.requests[since:] if one.data != {"query": "{viewer{login}}"}]
    lines = [f"{request.method} {request.path.partition('?')[0]}" for request in asked]
    return [line for line in lines if "/app" not in line and not line.endswith("/user")]


def open_issue(github: GitHub, reference: str, kind: str, body: str) -> str:
    """Open an issue, labelled by its form, or with a history; the action of its latest event."""
    github.open(reference, "It stops", body, ("seen",) if kind != "opened" else ())
    if kind in {"edited", "reopened"}:
        github.unlabel(reference, "seen", PERSON)
        github.comment(reference, "Which version?", PERSON)
    if kind == "reopened":
        github.edit(reference, {"state": "closed", "state_reason": "completed"}, PERSON)
        github.edit(reference, {"state": "open"}, PERSON)
    return kind if kind != "labelled" else "opened"


@pytest.fixture
def by_app(warm: GitHub, bot: Bot) -> Count:
    bot.store.save_repository("owner/repo", no_suggestions_until=0.0)
    numbers = iter(range(2, 10))

    def count(config: str, kind: str, body: str) -> list[str]:
        warm.files["owner/repo/.github/distriage.yml"] = config
        forms.form_lines(Client(warm.token, warm.url), "owner/repo")
        reference, since = f"owner/repo#{next(numbers)}", len(warm.requests)
        action = open_issue(warm, reference, kind, body)
        bot.deliver("issues", warm.payload(action, reference))
        bot.settle()
        return requests(warm, since)

    return count


@pytest.fixture
def by_backfill(warm: GitHub, keyword_classifier: Classifier, tmp_path: Path) -> Count:
    def count(config: str, kind: str, body: str) -> list[str]:
        warm.files["owner/repo/.github/distriage.yml"] = config
        warm.timelines.clear()
        for number in range(1, ISSUES + 1):
            open_issue(warm, f"owner/repo#{number}", kind, body)
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
def by_action(
    warm: GitHub, keyword_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Count]:
    """Counts for a run by an event, a re-run, which gets the first run's event, or one by hand, which gets none."""
    monkeypatch.setenv("GITHUB_API_URL", warm.url)
    numbers = iter(range(2, 10))

    def count(how: str, config: str, kind: str, body: str) -> list[str]:
        warm.files["owner/repo/.github/distriage.yml"] = config
        forms.forget_forms(Client(warm.token, warm.url), "owner/repo")  # each run is a process of its own
        number, event = str(next(numbers)), tmp_path / "event.json"
        reference, since = f"owner/repo#{number}", len(warm.requests)
        warm.open(reference, "Before it was edited", "?")
        opened = warm.payload("opened", reference)
        action = open_issue(warm, reference, kind, body)
        told = {"event": warm.payload(action, reference), "rerun": opened, "hand": {"inputs": {"issue": number}}}
        event.write_text(json.dumps(told[how]), encoding="utf-8")
        inputs = Inputs(
            token=warm.token,
            repository="owner/repo",
            event_path=str(event),
            issue_number=number if how == "hand" else "",
            model=str(keyword_bundle),
            login="bot",
        )
        assert run_action(inputs, strict="true") == 0
        return requests(warm, since)

    return lambda how: partial(count, how)


def on_and_off(count: Count, kind: str, axes: str, body: str) -> tuple[list[str], list[str]]:
    off = count(f"axes: {{{axes}}}\n", kind, body)
    return count(f"axes: {{{axes}}}\nsuggestions: perhaps\n", kind, body), off


def before_suggestions(off: list[str]) -> int:
    """How many requests it took when each issue and its timeline were read, and the Action read two configurations one
    by one, and no forms.
    """
    needed_today = sum(line.startswith("GET") and bool(re.search(r"/issues/\d+(/timeline)?$", line)) for line in off)
    return len(off) - needed_today + 2 + ("POST /graphql" in off)


@pytest.mark.parametrize("entrance", ["by_app", "by_backfill", "event", "rerun", "hand"])
@pytest.mark.parametrize(("kind", "axes", "body"), CASES)
def test_suggestions_cost_an_issue_one_request_at_most(
    entrance: str, kind: str, axes: str, body: str, request: pytest.FixtureRequest
) -> None:
    asks_first = not entrance.startswith("by_")  # it remembers nothing from run to run, so it asks before it suggests
    entered = request.getfixturevalue("by_action")(entrance) if asks_first else request.getfixturevalue(entrance)
    on, off = on_and_off(entered, kind, axes, body)
    assert len(off) <= before_suggestions(off), off
    assert len(on) <= before_suggestions(off) + (body == PERHAPS), (on, off)
    assert len(on) - len(off) == (body == PERHAPS) * (2 if asks_first else 1), (on, off)
    assert sum(line.endswith("/suggestions") for line in on) == (asks_first and body == PERHAPS)
    assert kind != "opened" or not any(line.endswith("/timeline") for line in [*on, *off])


def test_a_later_look_asks_once_about_what_is_pending(by_app: Count, warm: GitHub, bot: Bot) -> None:
    counted = []
    for config in (f"axes: {{{LABEL}}}\n", f"axes: {{{LABEL}}}\nsuggestions: perhaps\n"):
        by_app(config, "opened", PERHAPS)
        reference = max(warm.issues)
        warm.label(reference, "seen", PERSON)
        since = len(warm.requests)
        bot.deliver("issues", warm.payload("edited", reference))
        bot.settle()
        counted.append(requests(warm, since))
    off, on = counted
    assert len(on) == len(off) + 1 and sum(line.endswith("/suggestions") for line in on) == 1


def test_what_waits_is_suggested_at_a_later_look(by_app: Count, warm: GitHub, bot: Bot) -> None:
    by_app(f"axes: {{{TYPE}}}\nsuggestions: perhaps\n", "opened", PERHAPS)
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


def test_the_store_is_asked_about_a_new_issue_in_few_statements(warm: GitHub, bot: Bot) -> None:
    """Where past issues are kept; most of the App's time apart from the model's goes into them."""
    warm.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true}\nname-duplicates: true\n"
    bot.store.begin_past("owner/repo", "toy")
    counts = Counter[str]()
    with ExitStack() as listening:
        for name in ("begin", "before_cursor_execute"):

            def count(*_: object, name: str = name) -> None:
                counts[name] += 1

            event.listen(Engine, name, count)
            listening.callback(event.remove, Engine, name, count)
        for number in (2, 3):  # the first one notes the configuration
            counts.clear()
            warm.open(f"owner/repo#{number}", "It stops", SURE)
            bot.deliver("issues", warm.payload("opened", f"owner/repo#{number}"))
            bot.settle()
    assert len(bot.store.past_digests("owner/repo")) == 2
    assert counts["begin"] <= 24 and counts["before_cursor_execute"] <= 75, counts
