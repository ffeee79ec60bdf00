# ruff: noqa: F401, F811  # fixtures
"""What the bot does to an issue, and what it makes of what people do to it."""

from __future__ import annotations

import pytest

from distriage_serving.store import Delivery, Job

from support.bot import BODY, COMMENTED, CONFIG, HANG, ISSUE, LEAK, OOM, OTHER_BOT, TITLE, Bot, bot, github, make, store
from support.github import INSTALLATION, PERSON


def test_a_new_issue_is_labelled_and_what_was_said_is_kept(bot: Bot) -> None:
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG]
    kept = bot.store.get_issue("owner/repo", 1)
    said = bot.store.latest_verdict("owner/repo", 1)
    assert kept is not None and (kept.title, kept.body, kept.state) == (TITLE, BODY, "open")
    assert (
        said is not None
        and said.verdict.axes["symptom"].label == "hang"
        and said.plan["changes"] == [["label", HANG]]
        and said.carried_out_at is not None
    )
    assert bot.store.counts()["deliveries"]["done"] == 1
    repository = bot.store.get_repository("owner/repo")
    assert (
        repository is not None
        and repository.installation_id == INSTALLATION
        and repository.config == {"axes": {"symptom": {"enabled": True}}}
    )


def test_the_same_verdict_is_kept_once_and_another_one_beside_it(bot: Bot) -> None:
    kept = []
    for mode in ("", "", "mode: precise\n"):
        bot.github.files["owner/repo/.github/distriage.yml"] = mode + CONFIG
        bot.issue("reopened")
        kept.append(bot.stored().verdict_id)
    first, again, precise = kept
    assert first == again != precise


def test_there_is_one_comment_that_is_edited_later(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED
    bot.issue("opened")
    (first,) = bot.github.comments(ISSUE)
    assert "`hang`" in first
    bot.github.issues[ISSUE]["body"] = "segfault segfault segfault timeout"
    bot.github.issues[ISSUE]["title"] = "A segfault"
    bot.issue("edited")
    (second,) = bot.github.comments(ISSUE)
    assert "`crash`" in second and "`hang`" not in second
    bot.issue("reopened")
    assert bot.github.comments(ISSUE) == [second]
    assert [method for method, path in bot.writes() if "/comments" in path] == ["POST", "PATCH"]


def test_edits_are_looked_at_once_when_they_are_over(bot: Bot) -> None:
    for _ in range(5):
        bot.deliver("issues", bot.github.payload("edited", ISSUE))
        while bot.worker.step():
            pass
        bot.clock.now += 20
    assert bot.github.labels(ISSUE) == []
    bot.settle(10.5)
    assert bot.github.labels(ISSUE) == [HANG]
    assert len([job for job in bot.store.list_work(Job) if job.kind == "triage"]) == 1


@pytest.mark.parametrize("who", ["sender", "author"])
def test_bots_are_ignored(bot: Bot, who: str) -> None:
    if who == "author":
        bot.github.issues[ISSUE]["user"] = OTHER_BOT
    bot.issue("opened", OTHER_BOT if who == "sender" else PERSON)
    assert bot.writes() == [] and bot.store.list_work(Job) == []
    assert [delivery.state for delivery in bot.store.list_work(Delivery)] == ["ignored"]


def test_a_dry_run_writes_nothing(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED + "dry-run: true\n"
    bot.issue("opened")
    said = bot.store.latest_verdict("owner/repo", 1)
    assert bot.writes() == [] and said is not None and said.plan["dry_run"] and said.carried_out_at is None


def test_a_label_that_a_person_took_off_is_never_set_again_and_is_a_verdict(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, PERSON)
    for action in ("unlabeled", "edited", "reopened"):
        bot.issue(action)
        assert bot.github.labels(ISSUE) == []
    assert bot.reviews() == [("unlabel", None, "maintainer", "hang")]
    kept = bot.store.get_issue("owner/repo", 1)
    assert kept is not None and kept.status == "dismissed"


def test_a_label_that_a_person_set_is_kept_and_is_a_verdict(bot: Bot) -> None:
    bot.github.label(ISSUE, OOM, PERSON)
    bot.issue("opened")
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [OOM]
    assert bot.reviews() == [("label", "oom", "maintainer", "hang")]


def test_a_person_s_label_in_place_of_ours_makes_two_verdicts_and_a_change_of_mind_undoes_them(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, PERSON)
    bot.github.label(ISSUE, OOM, PERSON)
    bot.issue("labeled")
    assert bot.reviews() == [("unlabel", None, "maintainer", "hang"), ("label", "oom", "maintainer", "hang")]
    bot.github.unlabel(ISSUE, OOM, PERSON)
    bot.github.label(ISSUE, HANG, PERSON)
    bot.issue("labeled")
    assert bot.reviews() == [("label", "hang", "maintainer", "hang")]
    assert bot.github.labels(ISSUE) == [HANG]


def test_labels_of_other_bots_and_of_an_issue_form_are_nobody_s_verdict(bot: Bot) -> None:
    bot.github.issues[ISSUE]["created_at"] = "2024-05-01T10:01:41Z"  # the double's first event is of this second
    bot.github.label(ISSUE, OOM, bot.github.issues[ISSUE]["user"])
    bot.github.label(ISSUE, "bug", PERSON)
    bot.github.label(ISSUE, LEAK, OTHER_BOT)
    bot.github.unlabel(ISSUE, LEAK, OTHER_BOT)
    bot.issue("opened")
    assert bot.reviews(undone=True) == [] and sorted(bot.github.labels(ISSUE)) == ["bug", OOM]


def test_a_label_that_another_bot_took_off_is_not_set_again_and_is_nobody_s_review(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, OTHER_BOT)
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [] and bot.reviews(undone=True) == []


def test_sorting_old_issues_by_labels_does_not_wake_the_bot(bot: Bot) -> None:
    """They were there before the App, and a comment on each would mail people."""
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED
    bot.github.issues[ISSUE] |= {"created_at": "2024-03-01T10:00:00Z"}
    bot.github.label(ISSUE, "bug", PERSON)
    bot.issue("labeled")
    assert bot.writes() == [] and "backfill" in str(bot.store.list_work(Delivery)[0].last_error)
    bot.issue("edited")
    bot.github.label(ISSUE, OOM, PERSON)
    bot.issue("labeled")
    assert ("label", "oom", "maintainer", "hang") in bot.reviews()


def test_the_time_from_delivery_to_label_counts_what_the_delivery_waited(bot: Bot) -> None:
    seconds: list[float] = []
    bot.worker.on_labelled = seconds.append
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    bot.clock.now += 45  # no worker ran
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG] and seconds == [45]
    bot.issue("edited")  # nothing changes on GitHub
    assert seconds == [45]
