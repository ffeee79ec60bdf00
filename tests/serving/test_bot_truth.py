# ruff: noqa: F401, F811  # fixtures
"""What the store says is what GitHub says, whatever came late, came not at all, or was broken for a while."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from distriage.base.references import IssueReference
from distriage_serving.bot import reconcile
from distriage_serving.bot.sweep import SWEEP_EVERY_S
from distriage_serving.store import IssueFilter, Job, sweep_job

from support import faults
from support.bot import BODY, CONFIG, HANG, ISSUE, LEAK, OOM, OTHER_BOT, TITLE, Bot, bot, github, make, store
from support.faults import Fault, Trouble, message
from support.github import INSTALLATION, PERSON

FILE = "owner/repo/.github/distriage.yml"
BROKEN = "axes:\n  symtom: true\n"
PUSHED = {
    "ref": "refs/heads/main",
    "repository": {"full_name": "owner/repo", "default_branch": "main"},
    "commits": [{"modified": [".github/distriage.yml"]}],
    "installation": {"id": INSTALLATION},
    "sender": PERSON,
}


def later(bot: Bot, seconds: int) -> None:
    """The issue changes on GitHub."""
    bot.github.issues[ISSUE]["updated_at"] = f"2024-05-01T10:{seconds // 60:02}:{seconds % 60:02}Z"


# ---------------------------------------------------------------- closed, deleted, late


@pytest.mark.parametrize("state", ["closed", "deleted", "transferred"])
@pytest.mark.parametrize("sender", [PERSON, OTHER_BOT])
def test_an_issue_that_anybody_ended_leaves_the_queue(bot: Bot, state: str, sender: dict[str, Any]) -> None:
    """GitHub's event ends the issue, no matter who sent it."""
    bot.issue("opened")
    assert bot.store.count_issues() == 1
    later(bot, 60)
    bot.issue(state, sender)
    assert bot.stored().state == state and bot.store.count_issues() == 0


def test_a_closing_that_comes_after_the_reopening_changes_nothing(bot: Bot) -> None:
    """The event's `updated_at` decides, not the order of arrival."""
    bot.issue("opened")
    later(bot, 60)
    closed = copy.deepcopy(bot.github.payload("closed", ISSUE))
    later(bot, 120)
    bot.issue("reopened")
    bot.deliver("issues", closed)
    bot.settle()
    assert bot.stored().state == "open"


def test_an_issue_that_a_bot_reopened_is_in_the_queue_again(bot: Bot) -> None:
    bot.issue("opened")
    later(bot, 60)
    bot.issue("closed", OTHER_BOT)
    later(bot, 120)
    bot.issue("reopened", OTHER_BOT)
    assert bot.stored().state == "open"


# ---------------------------------------------------------------- reconciliation


def reconciled(bot: Bot) -> None:
    """The next comparison with GitHub, and all that follows from it."""
    bot.clock.now += reconcile.EVERY_S + 1
    bot.store.put_job(sweep_job())
    bot.settle()


def test_what_was_missed_is_found(bot: Bot) -> None:
    bot.issue("opened")
    reconciled(bot)  # the first comparison: from now on what is new was missed
    for number in range(2, 6):
        bot.github.open(f"owner/repo#{number}", "It hangs", "hangs hangs hangs")
        bot.deliver("issues", bot.github.payload("opened", f"owner/repo#{number}"))
    bot.settle()
    assert bot.store.count_issues() == 5
    bot.github.issues["owner/repo#2"] |= {"state": "closed", "updated_at": "2024-05-02T10:00:00Z"}
    bot.github.gone.add("owner/repo#3")
    bot.github.add("other/place#7", "It hangs")
    bot.github.moved["owner/repo#4"] = "other/place#7"
    for number in (3, 4):
        bot.github.issues["owner/repo#" + str(number)]["state"] = "closed"  # so that the list leaves it out
    bot.github.issues[ISSUE] |= {"title": "It is out of memory", "body": "memory exhausted exhausted"}
    bot.github.issues[ISSUE]["updated_at"] = "2024-05-02T10:00:00Z"
    filed = bot.github.open("owner/repo#9", "It hangs", "hangs hangs hangs")
    filed["created_at"] = filed["updated_at"] = "2999-01-01T00:00:00Z"
    old = bot.github.open("owner/repo#8", "It hangs", "hangs hangs hangs")
    assert old["created_at"] < "2025"
    reconciled(bot)
    states = {number: found.state for number in range(1, 10) if (found := bot.store.get_issue("owner/repo", number))}
    assert states == {1: "open", 2: "closed", 3: "deleted", 4: "transferred", 5: "open", 9: "open"}
    assert bot.github.labels(ISSUE) == [OOM] and bot.github.labels("owner/repo#9") == [HANG]
    assert bot.github.labels("owner/repo#8") == []  # it was there before the App: `distriage backfill` takes it


def test_a_repository_is_compared_now_and_then_and_without_changes_nothing_is_written(bot: Bot) -> None:
    bot.issue("opened")
    reconciled(bot)
    before, writes = len(bot.github.requests), len(bot.writes())
    bot.store.put_job(sweep_job())
    bot.settle()
    listed = [
        request for request in bot.github.requests[before:] if request.path.startswith("/repos/owner/repo/issues?")
    ]
    assert listed == []
    reconciled(bot)
    assert len(bot.writes()) == writes
    assert [job.state for job in bot.store.list_work(Job) if job.kind == "triage"] == ["done"]


def test_an_open_issue_that_the_list_leaves_out_stays_open(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.troubles.append(Trouble(r"^GET /repos/owner/repo/issues\?", Fault(200, "[]")))
    reconciled(bot)
    assert bot.stored().state == "open"


def test_a_repository_that_shows_no_issues_is_not_asked_again_and_again(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.troubles.append(Trouble(r"^GET /repos/owner/repo/issues\?", faults.status(410), times=99))
    reconciled(bot)
    repository = bot.store.get_repository("owner/repo")
    assert repository is not None and repository.reconcile_refused_at is not None
    assert reconcile.due(bot.store, SWEEP_EVERY_S) == [] and bot.store.dead(Job) == []


# ---------------------------------------------------------------- a broken configuration


def test_a_broken_configuration_stops_labels_only_and_says_where(bot: Bot) -> None:
    """The issue is classified and stored; the fault is kept with its line."""
    bot.github.files[FILE] = BROKEN
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [] and bot.writes() == []
    assert bot.store.count_issues(IssueFilter(labels={"symptom": "hang"})) == 1
    repository = bot.store.get_repository("owner/repo")
    assert repository is not None and repository.config_error is not None
    assert repository.config_error.startswith(f"{FILE}:2: unknown axis `symtom`; did you mean `symptom`?")
    assert bot.store.dead(Job) == []


def test_a_label_that_is_missing_and_not_created_is_logged_once(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    bot.github.files[FILE] = "create-labels: false\naxes: {symptom: {labels: {hang: stuck}}}\n"
    bot.issue("opened")
    bot.issue("edited")
    assert [record.message for record in caplog.records].count("label_missing") == 1
    assert bot.github.labels(ISSUE) == []


@pytest.mark.parametrize("by", ["push", "event", "reconciliation", "organization"])
def test_repairing_it_brings_the_waiting_issues_back(bot: Bot, by: str) -> None:
    """Held labels are set, however the repair is noticed."""
    broken = "owner/.github/.github/distriage.yml" if by == "organization" else FILE
    bot.github.files[broken] = BROKEN
    bot.github.open("owner/repo#2", "It leaks", "memory grows grows")
    bot.issue("opened")
    bot.deliver("issues", bot.github.payload("opened", "owner/repo#2"))
    bot.settle()
    bot.github.files[broken] = CONFIG
    if by == "push":
        bot.deliver("push", PUSHED)
        bot.settle()
    elif by == "organization":
        bot.deliver("push", {**PUSHED, "repository": {"full_name": "owner/.github", "default_branch": "main"}})
        bot.settle()
    elif by == "event":
        bot.issue("edited")
    else:
        reconciled(bot)
    assert (bot.github.labels(ISSUE), bot.github.labels("owner/repo#2")) == ([HANG], [LEAK])
    repository = bot.store.get_repository("owner/repo")
    assert repository is not None and repository.config_error is None
    assert bot.store.held_issues("owner/repo") == []


def test_while_it_is_broken_the_last_good_configuration_says_how_sure_a_label_must_be(bot: Bot) -> None:
    bot.github.files[FILE] = "mode: precise\n" + CONFIG
    bot.issue("opened")
    bot.github.files[FILE] = BROKEN
    bot.issue("edited")
    stored = bot.store.latest_verdict("owner/repo", 1)
    assert stored is not None and stored.verdict.mode == "precise"


# ---------------------------------------------------------------- a renamed repository


@pytest.mark.parametrize("how", ["renamed", "transferred"])
def test_a_renamed_repository_keeps_its_backlog(bot: Bot, how: str) -> None:
    """Issues and verdicts move to the new name."""
    bot.issue("opened")
    bot.github.rename("owner/repo", new := "owner/name" if how == "renamed" else "new/repo")
    changes = {
        "renamed": {"repository": {"name": {"from": "repo"}}},
        "transferred": {"owner": {"from": {"user": {"login": "owner"}}}},
    }
    payload = {"action": how, "changes": changes[how], "repository": {"full_name": new}}
    bot.deliver("repository", {**payload, "installation": {"id": INSTALLATION}})
    bot.settle()
    assert bot.store.get_issue("owner/repo", 1) is None
    moved = bot.store.get_issue(new, 1)
    assert moved is not None and moved.state == "open" and bot.store.latest_verdict(new, 1) is not None


@pytest.mark.parametrize("noticed_by", ["job", "reconciliation"])
def test_a_rename_that_nobody_told_of_is_noticed(bot: Bot, noticed_by: str) -> None:
    """GitHub's redirect tells."""
    bot.issue("opened")
    bot.github.open("owner/repo#2", TITLE, BODY)
    bot.deliver("issues", bot.github.payload("opened", "owner/repo#2"))
    if noticed_by == "reconciliation":
        bot.settle()
    bot.github.rename("owner/repo", "new/name")
    if noticed_by == "job":
        bot.settle()
    else:
        reconciled(bot)
    assert bot.store.get_issue("owner/repo", 1) is None
    moved = bot.store.get_issue("new/name", 1)
    repository = bot.store.get_repository("new/name")
    assert moved is not None and moved.state == "open"
    assert repository is not None and repository.display_name == "new/name"
    assert bot.github.labels("new/name#2") == [HANG]  # what waited is done there


# ---------------------------------------------------------------- people


def test_one_name_for_two_labels_confirms_or_says_nothing(bot: Bot) -> None:
    """Newcomer 2.1: never a correction that nobody made."""
    bot.github.files[FILE] = "axes: {symptom: {labels: {hang: stuck, oom: stuck}}}\n"
    bot.github.label(ISSUE, "stuck", PERSON)
    bot.issue("opened")
    assert bot.reviews() == [("label", "hang", "maintainer", "hang")]
    bot.github.open("owner/repo#2", "It leaks", "memory grows grows")
    bot.github.label("owner/repo#2", "stuck", PERSON)
    bot.deliver("issues", bot.github.payload("opened", "owner/repo#2"))
    bot.settle()
    assert bot.store.reviews(issue=IssueReference("owner/repo", 2)) == []
    assert bot.store.latest_verdict("owner/repo", 2) is not None


def test_taking_one_wrong_label_off_leaves_the_issue_in_the_queue(bot: Bot) -> None:
    """It is done once every axis has a decision."""
    bot.github.files[FILE] = "axes: {symptom: true, fix: true}\n"
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, PERSON)
    later(bot, 60)
    bot.issue("unlabeled")
    assert bot.stored().status == "open" and bot.store.count_issues() == 1
    bot.say("/triage wrong fix")
    assert bot.stored().status == "dismissed"


def test_a_rewritten_report_is_looked_at_anew_where_only_the_bot_set_labels(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.issues[ISSUE] |= {"title": "Out of memory", "body": "memory exhausted exhausted"}
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [OOM]
    bot.github.unlabel(ISSUE, OOM, PERSON)
    bot.github.label(ISSUE, HANG, bot.github.bot)
    bot.github.issues[ISSUE] |= {"title": "It leaks", "body": "memory grows grows"}
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [HANG]  # a person has been at this axis


def test_an_issue_that_became_a_discussion_is_left_alone(bot: Bot) -> None:
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    bot.github.edit(ISSUE, {"state": "closed", "state_reason": "completed"}, PERSON)
    bot.github.happened(ISSUE, "converted_to_discussion", PERSON)
    bot.settle()
    assert bot.writes() == [] and bot.job().state == "done"


def test_an_archived_repository_is_named(bot: Bot) -> None:
    archived = message("Repository was archived so is read-only.", 403)
    bot.github.troubles.append(Trouble("^POST /repos", archived, times=9))
    bot.issue("opened")
    assert "the repository is archived" in str(bot.job().last_error) and "locked" not in str(bot.job().last_error)
