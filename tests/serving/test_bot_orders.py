# ruff: noqa: F401, F811  # fixtures
"""Commands in comments, and decisions in the queue."""

from __future__ import annotations

import json

import pytest

from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage_serving.store import Review, triage_job

from support import faults
from support.bot import CONFIG, HANG, ISSUE, LEAK, OOM, STRANGER, Bot, bot, github, make, store
from support.faults import Fault, Trouble
from support.github import INSTALLATION, PERSON


def now(bot: Bot) -> float:
    """The time of the last event on GitHub."""
    return epoch_s(bot.github.issues[ISSUE]["updated_at"])


def test_wrong_with_the_right_label_replaces_ours_and_undo_brings_it_back(bot: Bot) -> None:
    bot.issue("opened")
    first = bot.say("Hm.\n/triage wrong symptom=oom")
    assert bot.github.labels(ISSUE) == [OOM]
    assert bot.reviews() == [("command", "oom", "maintainer", "hang")]
    second = bot.say("/triage undo")
    assert bot.github.labels(ISSUE) == [HANG] and bot.reviews() == []
    assert bot.reviews(undone=True) == [("command", "oom", "maintainer", "hang")]
    assert bot.github.reactions == {first["id"]: ["+1"], second["id"]: ["+1"]}
    assert bot.github.comments(ISSUE) == ["Hm.\n/triage wrong symptom=oom", "/triage undo"]


def test_wrong_without_a_label_takes_ours_off_for_good_but_nobody_else_s(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom")
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == []
    bot.github.label(ISSUE, LEAK, PERSON)
    bot.say("/triage wrong")
    assert bot.github.labels(ISSUE) == [LEAK]
    assert ("command", None, "maintainer", "hang") in bot.reviews()


def test_undo_takes_back_one_decision_at_a_time(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom=oom fix=patch")
    bot.say("/triage wrong symptom=leak")
    bot.say("/triage undo")
    assert bot.github.labels(ISSUE) == [OOM]
    assert {verdict.axis for verdict in bot.store.reviews(issue=IssueReference("owner/repo", 1))} == {"symptom", "fix"}
    bot.say("/triage undo")
    assert bot.github.labels(ISSUE) == [HANG] and bot.reviews() == []
    third = bot.say("/triage undo")
    assert bot.github.reactions[third["id"]] == ["confused"]


def test_undo_beside_other_commands_takes_the_last_decision_back(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom=oom")
    bot.say("/triage wrong symptom=leak\n\n/triage undo")
    assert bot.reviews() == [("command", "oom", "maintainer", "hang")]
    bot.say("/triage wrong symptom=leak")
    bot.say("/triage undo\n\n/triage undo")
    assert bot.reviews() == [] and len(bot.reviews(undone=True)) == 2
    nothing_left = bot.say("/triage wrong symptom=leak\n\n/triage undo\n\n/triage undo")
    assert bot.github.reactions[nothing_left["id"]] == ["confused"] and bot.reviews() == []


@pytest.mark.parametrize(
    ("role", "may"),
    [("triage", True), ("write", True), ("maintain", True), ("admin", True), ("read", False), (None, False)],
)
def test_only_people_who_may_label_issues_can_command(bot: Bot, role: str | None, may: bool) -> None:
    bot.issue("opened")
    if role is not None:
        bot.github.roles["stranger"] = role
    bot.say("/triage wrong symptom=oom", STRANGER)
    assert bot.github.labels(ISSUE) == ([OOM] if may else [HANG])
    assert bool(bot.github.reactions) == may and bool(bot.reviews()) == may


def test_a_custom_role_that_builds_on_write_may_command(bot: Bot) -> None:
    bot.issue("opened")
    custom = {"permission": "write", "role_name": "release-manager", "user": STRANGER}
    bot.github.troubles.append(Trouble(r"/collaborators/stranger/permission$", Fault(200, json.dumps(custom))))
    bot.say("/triage wrong symptom=oom", STRANGER)
    assert bot.github.labels(ISSUE) == [OOM]


def test_undo_takes_a_decision_of_the_queue_back_and_leaves_what_was_set_by_hand(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true, fix: true}\n"
    bot.github.label(ISSUE, OOM, PERSON)
    bot.issue("opened")
    (decided,) = bot.store.add_reviews(
        Review(repository="owner/repo", number=1, axis="fix", label=None, who="ada", how="queue", at=now(bot))
    )
    bot.say("/triage undo")
    nothing_left = bot.say("/triage undo")
    assert [review.id for review in bot.store.reviews(undone=True) if review.undone_at is not None] == [decided]
    assert bot.reviews() == [("label", "oom", "maintainer", "hang")]
    assert bot.github.reactions[nothing_left["id"]] == ["confused"]


def test_undo_that_is_heard_late_takes_back_what_was_decided_when_it_was_written(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom=oom")
    comment = bot.github.comment(ISSUE, "/triage undo", PERSON)
    later = Review(repository="owner/repo", number=1, axis="fix", label=None, who="ada", how="queue", at=now(bot) + 1)
    bot.store.add_reviews(later)
    bot.deliver("issue_comment", bot.github.payload("created", ISSUE, PERSON, comment=comment))
    bot.settle()
    assert [review.axis for review in bot.store.reviews()] == ["fix"] and bot.github.labels(ISSUE) == [HANG]


def test_triage_looks_again(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = "axes: {fix: true}\n"
    bot.issue("opened")
    bot.github.files["owner/repo/.github/distriage.yml"] = CONFIG
    bot.say("/triage")
    assert sorted(bot.github.labels(ISSUE)) == ["fix: tuning", HANG]


def test_a_command_that_waits_goes_along_to_the_repository_s_new_name(bot: Bot) -> None:
    bot.issue("opened")
    comment = bot.github.comment(ISSUE, "/triage wrong symptom=oom", PERSON)
    bot.deliver("issue_comment", bot.github.payload("created", ISSUE, PERSON, comment=comment))
    bot.github.rename("owner/repo", "new/name")
    bot.settle()
    assert bot.github.labels("new/name#1") == [OOM]


def test_a_command_counts_on_a_locked_issue_too(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.troubles.append(Trouble(r"^POST .*/reactions$", faults.locked()))
    bot.say("/triage wrong symptom=oom")
    assert bot.github.labels(ISSUE) == [OOM]


def test_a_label_of_a_rewritten_report_that_could_not_be_taken_off_is_taken_off_later(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.issues[ISSUE] |= {"title": "Out of memory", "body": "memory exhausted exhausted"}
    bot.github.troubles.append(Trouble(r"^DELETE .*/labels/", faults.integration()))
    bot.issue("edited")
    assert HANG in bot.github.labels(ISSUE)
    bot.issue("reopened")
    assert bot.github.labels(ISSUE) == [OOM]


def test_a_decision_in_the_queue_is_written_back_and_taken_back(bot: Bot) -> None:
    bot.issue("opened")
    decided = Review(
        repository="owner/repo", number=1, axis="symptom", label="leak", who="queue-user", how="queue", at=bot.clock()
    )
    (verdict_id,) = bot.store.add_reviews(decided)
    bot.store.put_job(triage_job(IssueReference("owner/repo", 1), INSTALLATION))
    bot.settle()
    assert bot.github.labels(ISSUE) == [LEAK]
    bot.store.undo_reviews(verdict_id)
    bot.store.put_job(triage_job(IssueReference("owner/repo", 1), INSTALLATION))
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG]


def test_what_a_person_does_by_hand_after_a_command_holds(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom=oom")
    bot.github.unlabel(ISSUE, OOM, PERSON)
    bot.issue("unlabeled")
    assert bot.github.labels(ISSUE) == []


def test_our_label_of_an_axis_that_was_switched_off_goes_when_a_person_calls_it_wrong(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.files["owner/repo/.github/distriage.yml"] = "axes: {fix: true}\n"
    bot.issue("edited")
    assert HANG in bot.github.labels(ISSUE)
    bot.say("/triage wrong symptom")
    assert HANG not in bot.github.labels(ISSUE)
    bot.github.label(ISSUE, OOM, PERSON)
    bot.say("/triage wrong symptom leak")
    assert OOM in bot.github.labels(ISSUE) and LEAK not in bot.github.labels(ISSUE)


def test_a_decision_on_an_axis_that_is_off_keeps_the_right_label_and_those_of_other_axes(bot: Bot) -> None:
    shared = "symptom: {labels: {hang: both}}"
    bot.github.files["owner/repo/.github/distriage.yml"] = f"axes: {{{shared}}}\n"
    bot.issue("opened")
    bot.github.files["owner/repo/.github/distriage.yml"] = (
        "axes: {symptom: {enabled: false, labels: {hang: both}}, fix: {labels: {tuning: both}}}\n"
    )
    bot.say("/triage wrong symptom")
    assert "both" in bot.github.labels(ISSUE)
    bot.github.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: {enabled: false, labels: {hang: both}}}\n"
    bot.say("/triage wrong symptom hang")
    assert "both" in bot.github.labels(ISSUE)
    bot.say("/triage wrong symptom oom")
    assert "both" not in bot.github.labels(ISSUE) and OOM not in bot.github.labels(ISSUE)
