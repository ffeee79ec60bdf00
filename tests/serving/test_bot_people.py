# ruff: noqa: F401, F811  # fixtures
"""Whose act is whose: what people did by hand, what they decided, and what a backfill did in a person's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import pytest
from rich.console import Console

from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage_serving.backfill.run import Backfill, BackfillOptions
from distriage_serving.bot.people import (
    CLOCKS_S,
    WRITTEN_WITHIN_S,
    Observed,
    is_decided,
    with_backfilled,
    with_decisions,
)
from distriage_serving.configuration.names import resolve
from distriage_serving.github.issue import ReadIssue, with_label_history
from distriage_serving.github.timeline import LabelEvent, Timeline
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.planning.types import IssueState
from distriage_serving.store import Backfilled, Review, triage_job

from support.bot import HANG, ISSUE, LEAK, OOM, OTHER_BOT, Bot, bot, github, make, store
from support.github import FOREVER, INSTALLATION, PERSON
from support.github_shapes import TIME
from support.plans import TAXONOMY, config
from support.verdicts import axis_verdict


@contextmanager
def in_the_name_of_a_person(bot: Bot) -> Iterator[Client]:
    """GitHub as her token sees it, at the time of GitHub's events."""
    bot.clock.now = epoch_s(TIME) + 100
    ours, bot.github.bot = bot.github.bot, PERSON
    bot.github.tokens["ghp_person"] = FOREVER
    yield Client("ghp_person", bot.github.url)
    bot.github.bot = ours


def test_what_a_dry_run_proposed_and_a_person_then_did_is_hers(bot: Bot, keyword_classifier: Classifier) -> None:
    with in_the_name_of_a_person(bot) as client:
        work = Backfill(client, bot.store, LocalJudge(keyword_classifier), Console(quiet=True))
        work.run("owner/repo", BackfillOptions(dry_run=True))
    bot.github.label(ISSUE, HANG, PERSON)
    bot.issue("labeled", PERSON)
    assert bot.reviews() == [("label", "hang", "maintainer", "hang")]


@pytest.fixture
def backfilled(bot: Bot, keyword_classifier: Classifier) -> Bot:
    """The issue was labelled by `distriage backfill` with a person's token."""
    with in_the_name_of_a_person(bot) as client:
        Backfill(client, bot.store, LocalJudge(keyword_classifier), Console(quiet=True)).run(
            "owner/repo", BackfillOptions()
        )
    assert bot.github.labels(ISSUE) == [HANG]
    return bot


def test_labels_of_a_backfill_confirm_nothing_though_a_person_set_them(backfilled: Bot) -> None:
    backfilled.issue("labeled", PERSON)
    assert backfilled.reviews() == [] and backfilled.stored().status == "open"
    backfilled.say("/triage wrong symptom=oom")
    assert backfilled.github.labels(ISSUE) == [OOM]


def test_what_that_person_does_by_hand_is_still_hers(backfilled: Bot, keyword_classifier: Classifier) -> None:
    backfilled.github.unlabel(ISSUE, HANG, PERSON)
    backfilled.issue("unlabeled", PERSON)
    assert backfilled.reviews() == [("unlabel", None, "maintainer", "hang")]
    backfilled.github.label(ISSUE, LEAK, PERSON)
    with in_the_name_of_a_person(backfilled) as client:
        work = Backfill(client, backfilled.store, LocalJudge(keyword_classifier), Console(quiet=True))
        work.run("owner/repo", BackfillOptions(again=True))
    assert ("label", "leak", "maintainer", "hang") in backfilled.reviews()


def take_off(bot: Bot, classifier: Classifier) -> list[str]:
    """The labels left after `distriage backfill --take-off` with a person's token."""
    with in_the_name_of_a_person(bot) as client:
        work = Backfill(client, bot.store, LocalJudge(classifier), Console(quiet=True))
        work.run("owner/repo", BackfillOptions(take_off=True))
    return bot.github.labels(ISSUE)


def test_a_roll_out_is_taken_back_and_that_is_no_review(backfilled: Bot, keyword_classifier: Classifier) -> None:
    assert take_off(backfilled, keyword_classifier) == []
    backfilled.github.files["owner/repo/.github/distriage.yml"] = "axes: {kind: true}\n"
    backfilled.issue("unlabeled", PERSON)
    assert HANG not in backfilled.github.labels(ISSUE) and backfilled.reviews() == []


def test_what_a_person_set_or_decided_on_is_not_taken_back(backfilled: Bot, keyword_classifier: Classifier) -> None:
    backfilled.github.label(ISSUE, LEAK, PERSON)
    backfilled.say("/triage wrong symptom hang")
    assert take_off(backfilled, keyword_classifier) == [HANG, LEAK]
    backfilled.say("/triage undo")
    assert take_off(backfilled, keyword_classifier) == [LEAK]


def test_what_the_app_set_is_taken_back_too(bot: Bot, keyword_classifier: Classifier) -> None:
    bot.github.label(ISSUE, "stale", OTHER_BOT)
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == ["stale", HANG]
    assert take_off(bot, keyword_classifier) == ["stale"]


def test_taking_the_bot_s_label_off_after_deciding_on_another_keeps_the_decision(bot: Bot) -> None:
    bot.issue("opened")
    decision = Review(
        repository="owner/repo", number=1, axis="symptom", label="oom", who="x", how="queue", at=epoch_s(TIME)
    )
    bot.store.add_reviews(decision)
    bot.github.unlabel(ISSUE, HANG, PERSON)
    bot.store.put_job(triage_job(IssueReference("owner/repo", 1), INSTALLATION))
    bot.settle()
    assert bot.github.labels(ISSUE) == [OOM]
    assert bot.reviews() == [("queue", "oom", "x", None)]


def test_a_review_has_the_probability_of_the_label_that_it_is_about_or_none(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.label(ISSUE, LEAK, bot.github.bot)  # as of an earlier verdict
    for name in (HANG, LEAK):
        bot.github.unlabel(ISSUE, name, PERSON)
    bot.issue("unlabeled")
    said = bot.store.latest_verdict("owner/repo", 1)
    assert said is not None
    assert {review.predicted_label: review.probability for review in bot.store.reviews()} == {
        "hang": said.verdict.axes["symptom"].probability,
        "leak": None,
    }


@pytest.mark.parametrize(("off", "stays"), [(LEAK, "oom"), (OOM, "leak")])
def test_of_two_labels_of_one_second_the_one_that_stays_holds(bot: Bot, off: str, stays: str) -> None:
    for name in (OOM, LEAK):
        bot.github.label(ISSUE, name, PERSON)
    first, second = bot.github.timelines[ISSUE]
    second["created_at"] = first["created_at"]
    bot.issue("opened")
    bot.github.unlabel(ISSUE, off, PERSON)
    bot.issue("unlabeled")
    bot.issue("edited")
    assert bot.reviews() == [("label", stays, "maintainer", "hang")]


def test_the_last_command_about_an_axis_counts(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong\n\n/triage wrong symptom=oom")
    assert bot.github.labels(ISSUE) == [OOM]


def test_only_the_first_act_that_was_noted_and_soon_after_is_the_backfill_s() -> None:
    acts = [
        LabelEvent("Hang", True, "us", "mara", 100.0),  # noted
        LabelEvent("late", True, "us", "mara", 101.0 + WRITTEN_WITHIN_S),  # noted, too long before
        LabelEvent("hang", False, "us", "mara", 200.0),  # by hand
        LabelEvent("bot", False, "bot", "stale", 300.0),
        LabelEvent("Oom", True, "us", "mara", 100.0 - CLOCKS_S),  # noted by a clock that is ahead
    ]
    labels = frozenset({"late", "OOM", "else"})
    at = IssueState(issue=IssueReference("owner/repo", 1), title="", author="a", labels=labels, labels_by_us=labels)
    issue = ReadIssue(IssueReport("", ""), at, "", 0.0, 0.0, tuple(acts))
    noted = [Backfilled(name, True, "mara", at=100.0) for name in ("hang", "late", "oom")]
    found = with_backfilled(issue, noted, "mara")
    assert [event.by for event in found.label_events] == ["us", "person", "person", "bot", "us"]
    assert found.state.labels_by_us == {"OOM"}
    assert found.state.touched == {"late", "hang", "bot"} and found.state.removed == {"hang", "bot"}


@pytest.mark.parametrize("then", [(), ("other",)])
def test_what_the_backfill_alone_took_off_nobody_took_off(then: tuple[str, ...]) -> None:
    timeline = Timeline("mara")
    for kind, label in [("labeled", "Triage"), ("unlabeled", "Triage"), *(("labeled", name) for name in then)]:
        by_mara = {"login": "mara", "type": "User"}
        timeline.read({"event": kind, "label": {"name": label}, "actor": by_mara, "created_at": "1970-01-01T00:01:40Z"})
    state = IssueState(issue=IssueReference("owner/repo", 1), title="", author="a")
    issue = ReadIssue(IssueReport("", ""), state, "", 0.0, 0.0, tuple(timeline.label_events))
    issue = replace(issue, state=with_label_history(state, issue.label_events))
    assert issue.state.removed == {"Triage"}  # by hand, as far as the timeline tells
    noted = [Backfilled("triage", added, "mara", at=100.0) for added in (True, False)]
    found = with_backfilled(issue, noted, "mara").state
    assert found.removed == set() and found.touched == set(then)


def test_a_family_that_is_taken_off_was_not_the_label() -> None:
    seen = Observed("symptom", "unlabel", frozenset({None}), sure=True, who="mara", at=0.0)
    assert seen.review(axis_verdict("symptom")) == (None, "runtime-hang")


@pytest.mark.parametrize(
    ("axis", "label", "at", "decided"),
    [
        ("symptom", "native-crash", 50.0, True),
        ("symptom", "native-crash", 150.0, False),  # decided later
        ("symptom", "runtime-hang", 50.0, False),  # the label that was taken off
        ("stage", "build-import", 50.0, False),
    ],
)
def test_a_label_was_taken_off_by_a_decision_on_its_axis_before(
    axis: str, label: str, at: float, decided: bool
) -> None:
    seen = Observed("symptom", "unlabel", frozenset({"runtime-hang"}), sure=True, who="mara", at=100.0)
    review = Review(repository="owner/repo", number=1, axis=axis, label=label, who="x", how="queue", at=at)
    assert is_decided(seen, "runtime-hang", [review], resolve(config(), TAXONOMY)) is decided


def bare_issue(*events: LabelEvent) -> ReadIssue:
    state = IssueState(issue=IssueReference("owner/repo", 1), title="", author="a")
    return ReadIssue(IssueReport("", ""), state, "", 0.0, 0.0, events)


@pytest.mark.parametrize(("added", "by", "holds"), [(False, "person", False), (True, "us", True), (False, "us", True)])
def test_an_own_label_s_decision_falls_only_to_a_person_who_takes_it_off(
    added: bool, by: Literal["us", "person"], holds: bool
) -> None:
    issue = bare_issue(LabelEvent("docs", added, by, "mara", 100.0))
    review = Review(repository="owner/repo", number=1, axis="own:docs", label="docs", who="x", how="queue", at=50.0)
    assert ("own:docs" in with_decisions(issue, [review], resolve(config(), TAXONOMY)).decided) is holds


@pytest.mark.parametrize(
    ("axis", "how", "label", "decided"),
    [
        ("symptom", "label", "native-crash", {}),  # set by hand after the decision
        ("symptom", "unlabel", "runtime-hang", {"symptom": None}),
        ("symptom", "unlabel", "setup-hang", {"symptom": None}),  # it has the same name here
        ("symptom", "unlabel", "native-crash", {"symptom": "runtime-hang"}),
        ("stage", "label", "inference", {"symptom": "runtime-hang"}),
        ("gone", "queue", "x", {"symptom": "runtime-hang"}),  # of an axis that the taxonomy no longer has
    ],
)
def test_what_is_done_by_hand_after_a_decision(
    axis: str, how: Literal["label", "unlabel", "queue"], label: str, decided: dict[str, str | None]
) -> None:
    names = resolve(config("axes: {symptom: {labels: {runtime-hang: hang, setup-hang: Hang}}}"), TAXONOMY)
    where = {"repository": "owner/repo", "number": 1, "who": "x"}
    reviews = [
        Review(**where, axis="symptom", label="runtime-hang", how="command", at=50.0),
        Review(**where, axis=axis, label=None if how == "unlabel" else label, predicted_label=label, how=how, at=60.0),
    ]
    assert with_decisions(bare_issue(), reviews, names).decided == decided
