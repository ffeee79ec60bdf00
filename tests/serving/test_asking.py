# ruff: noqa: F401, F811  # fixtures
"""A question to an issue's author: written, waited for, answered, taken back, refused."""

from __future__ import annotations

import pytest

from distriage.base.references import IssueReference
from distriage_serving.store import ASK, NOBODY_WAITS, Act, IssueFilter, Store, ask_job, reconcile_job

from support import faults
from support.bot import HANG, ISSUE, Bot, Make, bot, github, make, store
from support.faults import Trouble
from support.github import PERSON, GitHub
from support.github_shapes import account

AUTHOR = account("octocat", 583231)
REFERENCE = IssueReference("owner/repo", 1)
MEMBER = {"author_association": "MEMBER"}


@pytest.fixture
def asked(bot: Bot) -> Bot:
    """An issue whose author was asked, and has not answered."""
    bot.github.issues[ISSUE] |= {"title": "It fails", "body": "One worker drops its connection."}
    bot.issue("opened")
    ask(bot)
    bot.settle(30.0)
    return bot


def ask(bot: Bot, text: str = "Which version?") -> Act:
    bot.clock.now += 1
    bot.store.add_act(Act(repository="owner/repo", number=1, what=ASK, who="mia", at=bot.clock.now, text=text))
    bot.store.put_job(ask_job(REFERENCE, 1), bot.clock.now + 10)
    return bot.store.acts(REFERENCE)[0]


def questions(bot: Bot) -> list[str]:
    return [text.partition("\n")[2] for text in bot.github.comments(ISSUE) if "distriage:ask" in text]


def listed(bot: Bot) -> bool:
    return bot.store.count_issues(IssueFilter(awake_at=bot.clock())) == 1


def test_a_question_is_written_once_and_the_issue_waits_for_its_author(asked: Bot) -> None:
    (act,) = asked.store.acts(REFERENCE)
    assert questions(asked) == ["Which version?"] and act.carried_out and act.awaits_answer
    assert not listed(asked) and asked.store.count_issues(IssueFilter(asked=True)) == 1
    asked.store.put_job(ask_job(REFERENCE, 1))
    asked.settle()
    assert len(questions(asked)) == 1


def test_the_answer_brings_it_back_read_anew(asked: Bot) -> None:
    before = asked.store.latest_verdict("owner/repo", 1)
    asked.say("It hangs, hangs and hangs.", AUTHOR)
    (act,) = asked.store.acts(REFERENCE)
    assert listed(asked) and act.answer == "It hangs, hangs and hangs." and asked.github.labels(ISSUE) == [HANG]
    after = asked.store.latest_verdict("owner/repo", 1)
    assert before is not None and after is not None and after.id != before.id and after.digest == before.digest
    assert asked.stored().body == "One worker drops its connection."  # the report stays as filed


def test_an_answer_that_nobody_told_of_is_found_by_the_comparison(asked: Bot) -> None:
    asked.github.comment(ISSUE, "It hangs, hangs and hangs.", AUTHOR)
    asked.github.issues[ISSUE]["comments"] = 2
    asked.store.put_job(reconcile_job("owner/repo", 1))
    asked.settle()
    assert listed(asked) and asked.github.labels(ISSUE) == [HANG]


def test_another_persons_comment_is_no_answer(asked: Bot) -> None:
    asked.say("Me too.", account("else", 11))
    assert not listed(asked) and asked.stored().comments >= 1


def test_taken_back_in_time_it_is_never_written_and_later_deleted(bot: Bot) -> None:
    bot.issue("opened")
    bot.store.undo_act(ask(bot))
    bot.settle(30.0)
    assert questions(bot) == [] and listed(bot)
    again = ask(bot)
    bot.settle(30.0)
    assert questions(bot) == ["Which version?"]
    bot.store.undo_act(again)
    bot.store.put_job(ask_job(REFERENCE, 1))
    bot.settle()
    assert questions(bot) == [] and listed(bot)


def test_a_refusal_brings_it_back_with_githubs_reason(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.issues[ISSUE]["locked"] = True
    ask(bot)
    assert not listed(bot)  # pending
    bot.settle(30.0)
    (act,) = bot.store.acts(REFERENCE)
    assert listed(bot) and not act.carried_out and "403" in (act.refused or "")
    assert bot.store.refused_acts([("owner/repo", 1)]) != {}


def test_how_long_an_author_waits_for_a_maintainer(bot: Bot) -> None:
    bot.issue("opened")
    filed_at = bot.stored().created_at
    assert bot.stored().waits_since == filed_at
    comment = bot.github.comment(ISSUE, "We look at it.", PERSON) | MEMBER
    bot.deliver("issue_comment", bot.github.payload("created", ISSUE, PERSON, comment=comment))
    bot.settle()
    assert bot.stored().waits_since == NOBODY_WAITS
    bot.say("Any news?", AUTHOR)
    assert filed_at < bot.stored().waits_since < NOBODY_WAITS
    assert [issue.number for issue, _ in bot.store.list_issues(IssueFilter(), "waiting").items] == [1]
