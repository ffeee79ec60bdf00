# ruff: noqa: F401, F811  # fixtures
"""Suggestions on GitHub: made, approved, dismissed, polled; in the bot."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from rich.console import Console

from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage_serving.backfill.run import Backfill, BackfillOptions
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.queue.charts.figures import precision
from distriage_serving.queue.decisions import Decisions, IssueDecision
from distriage_serving.queue.history import NOBODY
from distriage_serving.queue.login.sessions import Session
from distriage_serving.store import Store, reconcile_job, sweep_job
from distriage_serving.store.review_records import review_records

from support import faults
from support.bot import HANG, ISSUE, LEAK, OOM, Bot, Make, bot, github, make, store
from support.faults import Trouble
from support.github import PERSON, GitHub

PERHAPS = "It ends with a timeout after ten minutes of training."  # the toy model hears: perhaps a hang
SURE = "It hangs, hangs and hangs."
CONFIG = "axes: {symptom: true}\nsuggestions: perhaps\n"


@pytest.fixture
def suggesting(github: GitHub) -> GitHub:
    github.files["owner/repo/.github/distriage.yml"] = CONFIG
    github.suggesting.add("owner/repo")
    github.issues[ISSUE] |= {"title": "It stops", "body": PERHAPS}
    return github


def suggested(bot: Bot) -> list[tuple[str, str]]:
    return [(row.value, row.state) for row in bot.store.suggestions(IssueReference("owner/repo", 1))]


def asked(github: GitHub) -> int:
    return sum("/suggestions" in request.path and request.method == "GET" for request in github.requests)


def test_a_perhaps_becomes_a_pending_suggestion_with_its_reason(suggesting: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    (made,) = suggesting.pending(ISSUE)
    assert (made["action"], made["confidence"]) == ("add_label", "LOW")
    assert made["rationale"] == (
        "Symptom hang, most of all by the line “It ends with a timeout after ten minutes of training.” "
        "(labels this sure were right in 50% of held-out reports)."
    )
    assert suggesting.labels(ISSUE) == [] and suggested(bot) == [(HANG, "pending")]
    assert asked(suggesting) == 1  # whether the repository takes any


def test_a_sure_label_is_set_with_its_reason(suggesting: GitHub, bot: Bot) -> None:
    suggesting.issues[ISSUE]["body"] = f"Here is what I see.\n{SURE}\nThat is all."
    bot.issue("opened")
    assert suggesting.labels(ISSUE) == [HANG] and suggesting.pending(ISSUE) == []
    (sent,) = [write.body["labels"] for write in suggesting.written if write.path.endswith("/1/labels")]
    assert sent == [{"name": HANG, "rationale": sent[0]["rationale"], "confidence": "high"}]
    assert "“It hangs, hangs and hangs.”" in sent[0]["rationale"]
    assert asked(suggesting) == 0


@pytest.mark.parametrize("shown", ["the person", "the bot"])
def test_an_approval_is_a_review_and_nothing_is_written_again(suggesting: GitHub, bot: Bot, shown: str) -> None:
    suggesting.approver = suggesting.bot if shown == "the bot" else None
    bot.issue("opened")
    before = bot.writes()
    suggesting.decide(ISSUE, suggesting.pending(ISSUE)[0]["id"], PERSON, approve=True)
    bot.issue("labeled", PERSON)
    assert bot.reviews() == [("approve", "hang", "maintainer", "hang")]
    assert suggesting.labels(ISSUE) == [HANG] and bot.writes() == before
    seen = asked(suggesting)
    bot.issue("edited")
    assert asked(suggesting) == seen and len(bot.reviews()) == 1 and bot.writes() == before
    suggesting.unlabel(ISSUE, HANG, PERSON)
    bot.issue("unlabeled", PERSON)
    assert bot.reviews()[-1] == ("unlabel", None, "maintainer", "hang")
    assert suggesting.pending(ISSUE) == [] and suggesting.labels(ISSUE) == []


def test_a_dismissal_is_a_review_and_final(suggesting: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    suggesting.decide(ISSUE, suggesting.pending(ISSUE)[0]["id"], PERSON, approve=False)
    for body in (PERHAPS, f"{PERHAPS} Again.", SURE):
        suggesting.issues[ISSUE]["body"] = body
        bot.issue("edited")
        assert suggesting.pending(ISSUE) == [] and suggesting.labels(ISSUE) == []
    assert bot.reviews() == [("dismiss", None, "maintainer", "hang")]
    assert suggested(bot) == [(HANG, "dismissed")] and bot.stored().status == "dismissed"


@pytest.mark.parametrize("takes_reasons", [True, False])
def test_where_the_feature_is_off_labels_are_set_as_without_it(
    suggesting: GitHub, bot: Bot, takes_reasons: bool
) -> None:
    suggesting.suggesting.clear()
    suggesting.takes_reasons = takes_reasons
    bot.issue("opened")
    assert suggesting.labels(ISSUE) == [] and suggested(bot) == []
    assert "takes no suggestions" in (bot.job().last_error or "")
    for number in range(2, 5):
        suggesting.open(f"owner/repo#{number}", "It hangs", SURE)
        bot.deliver("issues", suggesting.payload("opened", f"owner/repo#{number}"))
        bot.settle()
        assert suggesting.labels(f"owner/repo#{number}") == [HANG] and bot.job().last_error is None
    assert asked(suggesting) == 1


def test_where_reasons_are_refused_the_label_is_set_and_they_are_not_sent_again(suggesting: GitHub, bot: Bot) -> None:
    suggesting.suggesting.clear()
    suggesting.takes_reasons = False
    suggesting.issues[ISSUE]["body"] = SURE
    bot.issue("opened")
    assert suggesting.labels(ISSUE) == [HANG] and "takes no suggestions" in (bot.job().last_error or "")
    suggesting.open("owner/repo#2", "It hangs", SURE)
    bot.deliver("issues", suggesting.payload("opened", "owner/repo#2"))
    bot.settle()
    sent = [write.body["labels"] for write in suggesting.written if write.path.endswith("/2/labels")]
    assert sent == [[HANG]]


def test_a_label_that_github_sets_instead_of_suggesting_it_is_taken_off(suggesting: GitHub, bot: Bot) -> None:
    bot.store.save_repository("owner/repo", no_suggestions_until=0.0)  # it took them yesterday
    suggesting.suggesting.clear()
    bot.issue("opened")
    assert suggesting.labels(ISSUE) == []
    assert "takes no suggestions" in (bot.job().last_error or "")


def test_all_suggests_what_is_sure_too(suggesting: GitHub, bot: Bot) -> None:
    suggesting.files["owner/repo/.github/distriage.yml"] = CONFIG.replace("perhaps", "all")
    suggesting.issues[ISSUE]["body"] = SURE
    bot.issue("opened")
    assert suggesting.labels(ISSUE) == [] and [one["confidence"] for one in suggesting.pending(ISSUE)] == ["HIGH"]


def test_a_label_that_a_person_took_off_is_not_suggested(suggesting: GitHub, bot: Bot) -> None:
    suggesting.label(ISSUE, HANG, suggesting.bot)
    suggesting.unlabel(ISSUE, HANG, PERSON)
    bot.issue("edited")
    assert suggesting.suggestions == {} and asked(suggesting) == 0


def test_a_rewritten_report_takes_its_suggestion_back_or_approves_it(suggesting: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    suggesting.issues[ISSUE]["body"] = SURE
    bot.issue("edited")
    assert suggesting.labels(ISSUE) == [HANG]
    assert [one["state"] for one in suggesting.suggestions[ISSUE]] == ["approved"] and bot.reviews() == []


def test_an_outdated_suggestion_is_taken_back(suggesting: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    suggesting.issues[ISSUE]["body"] = "The memory is exhausted, exhausted, exhausted."
    bot.issue("edited")
    assert suggesting.labels(ISSUE) == [OOM]
    assert [one["state"] for one in suggesting.suggestions[ISSUE]] == ["dismissed"] and bot.reviews() == []


@pytest.mark.parametrize(("label", "state", "labels"), [("hang", "approved", [HANG]), ("leak", "dismissed", [LEAK])])
def test_a_decision_elsewhere_approves_or_dismisses_on_github(
    suggesting: GitHub, bot: Bot, label: str, state: str, labels: list[str]
) -> None:
    bot.issue("opened")
    bot.say(f"/triage wrong symptom={label}")
    assert [one["state"] for one in suggesting.suggestions[ISSUE]] == [state]
    assert suggesting.labels(ISSUE) == labels
    assert bot.reviews() == [("command", label, "maintainer", "hang")]
    bot.issue("edited")
    assert len(suggesting.suggestions[ISSUE]) == 1 and len(bot.reviews()) == 1


def test_what_a_decision_ended_is_suggested_again_once_the_decision_is_taken_back(suggesting: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom")
    bot.say("/triage undo")
    assert [one["state"] for one in suggesting.suggestions[ISSUE]] == ["dismissed", "pending"]


@pytest.mark.parametrize(("label", "state"), [("hang", "approved"), (None, "dismissed")])
def test_a_decision_in_the_queue_approves_or_dismisses_on_github(
    suggesting: GitHub, bot: Bot, label: str | None, state: str
) -> None:
    bot.issue("opened")
    stored = bot.store.latest_verdict("owner/repo", 1)
    assert stored is not None
    bot.clock.now += 1
    session = Session("mia", ("owner/repo",))
    decision = IssueDecision(stored, NOBODY, {"symptom": label})
    assert Decisions(bot.store, session).decide([decision]) == []
    bot.settle()
    assert [one["state"] for one in suggesting.suggestions[ISSUE]] == [state]
    assert suggesting.labels(ISSUE) == ([HANG] if label else [])
    assert bot.reviews() == [("queue", label, "mia", "hang")]
    bot.issue("edited")
    assert len(suggesting.suggestions[ISSUE]) == 1 and len(bot.reviews()) == 1


@pytest.mark.parametrize(
    ("troubles", "state"),
    [
        ([Trouble("POST .*/approve$", faults.status(422))], "pending"),
        ([Trouble("POST .*/approve$", faults.integration())], "pending"),
        ([Trouble("POST .*/approve$", faults.server_error(502), after=True)], "approved"),
    ],
)
def test_an_approval_counts_once_github_has_made_it(
    suggesting: GitHub, bot: Bot, troubles: list[Trouble], state: str
) -> None:
    bot.issue("opened")
    suggesting.troubles += troubles
    bot.say("/triage wrong symptom=hang")
    done = [HANG] if state == "approved" else []
    assert suggested(bot) == [(HANG, state)] and bot.stored().labels == suggesting.labels(ISSUE) == done
    suggesting.troubles.clear()
    bot.issue("edited")
    assert suggested(bot) == [(HANG, "approved")] and suggesting.labels(ISSUE) == [HANG]
    assert len(suggesting.suggestions[ISSUE]) == 1 and len(bot.reviews()) == 1


def test_a_dismissal_is_exported_and_counts_in_the_charts(suggesting: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    suggesting.decide(ISSUE, suggesting.pending(ISSUE)[0]["id"], PERSON, approve=False)
    bot.issue("edited")
    ((record,), _) = review_records(bot.store)
    assert (record.id, record.axis, record.label, record.predicted_label, record.how, record.who) == (
        "owner/repo#1",
        "symptom",
        None,
        "hang",
        "dismiss",
        "maintainer",
    )
    ((label, judged),) = precision(bot.store.reviews(), "symptom")
    assert (label, judged.hits, judged.n) == ("hang", 0, 1)


# ---------------------------------------------------------------- the comparison


def compare(bot: Bot) -> int:
    """Compare the repository with GitHub; how many lists of suggestions were asked for."""
    before = asked(bot.github)
    bot.store.put_job(reconcile_job("owner/repo", 1))
    bot.settle(1.0)
    return asked(bot.github) - before


def test_a_dismissal_and_an_approval_that_nobody_told_of_are_found(suggesting: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    suggesting.decide(ISSUE, suggesting.pending(ISSUE)[0]["id"], PERSON, approve=False)
    assert compare(bot) == 0
    assert sweep(bot) == 1 and bot.reviews() == [("dismiss", None, "maintainer", "hang")]
    assert compare(bot) == 0 == sweep(bot)
    suggesting.open("owner/repo#2", "It stops", PERHAPS)
    bot.deliver("issues", suggesting.payload("opened", "owner/repo#2"))
    bot.settle()
    suggesting.decide("owner/repo#2", suggesting.pending("owner/repo#2")[0]["id"], PERSON, approve=True)
    bot.clock.now += 3600.0
    assert sweep(bot) == 1
    (review,) = bot.store.reviews(issue=IssueReference("owner/repo", 2))
    assert (review.how, review.who, review.label) == ("approve", "maintainer", "hang")
    row = bot.store.get_issue("owner/repo", 2)
    assert row is not None and row.labels == [HANG]


def sweep(bot: Bot) -> int:
    """Ten minutes later; how many lists of suggestions were asked for."""
    before = asked(bot.github)
    bot.clock.now += 600.0
    bot.store.put_job(sweep_job())
    bot.settle(1.0)
    return asked(bot.github) - before


def test_a_repository_is_asked_about_one_issue_an_hour_and_those_that_changed(suggesting: GitHub, bot: Bot) -> None:
    for number in range(1, 9):
        reference = f"owner/repo#{number}"
        suggesting.open(reference, "It stops", PERHAPS)
        bot.deliver("issues", suggesting.payload("opened", reference))
    bot.settle()
    assert sum(len(suggesting.pending(f"owner/repo#{number}")) for number in range(1, 9)) == 8
    asked_at = []
    while len(asked_at) < 8:
        if sweep(bot):
            asked_at.append(bot.clock())
    assert min(after - before for before, after in pairwise(asked_at)) >= 3600.0
    assert compare(bot) == 0
    numbers = Counter(request.path.split("/")[5] for request in suggesting.requests if "/suggestions" in request.path)
    assert len(numbers) == 8  # the longest ago first
    for number in (3, 4, 5):
        at = datetime.fromtimestamp(bot.clock() + 5, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        suggesting.issues[f"owner/repo#{number}"]["updated_at"] = at
    assert compare(bot) == 3
    assert [name for request in suggesting.requests if (name := request.path).startswith("/user/")] == []


def test_a_dry_run_lists_suggestions_and_sends_none(
    suggesting: GitHub, store: Store, keyword_classifier: Classifier
) -> None:
    suggesting.tokens[suggesting.token] = math.inf
    client = Client(suggesting.token, suggesting.url, sleep=lambda _: None)
    work = Backfill(client, store, LocalJudge(keyword_classifier), Console(quiet=True))
    work.run("owner/repo", BackfillOptions(dry_run=True))
    assert [str(one.change) for one in work.report.proposals] == [f"suggested: {HANG}"]
    assert (
        suggesting.suggestions == {}
        and asked(suggesting) == 0
        and store.suggestions(IssueReference("owner/repo", 1)) == []
    )
