# ruff: noqa: F401, F811  # fixtures
"""A question to an issue's author: written, waited for, answered, taken back, refused."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from distriage.base.references import IssueReference
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.queue.rows import make_row
from distriage_serving.store import ASK, NOBODY_WAITS, Act, Issue, IssueFilter, Store, ask_job, reconcile_job

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


def test_an_answer_in_the_report_itself_brings_it_back(asked: Bot) -> None:
    asked.github.issues[ISSUE]["body"] += "\nIt hangs, hangs and hangs."
    asked.clock.now += 60
    asked.github.happened(ISSUE, "renamed", AUTHOR)  # GitHub's timeline does not tell of an edited body
    asked.issue("edited", AUTHOR)
    asked.settle()
    (act,) = asked.store.acts(REFERENCE)
    assert listed(asked) and not act.awaits_answer and act.answer == "" and asked.github.labels(ISSUE) == [HANG]


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
    filed_at, needs_answer = bot.stored().created_at, IssueFilter(needs_answer=True)
    assert bot.stored().waits_since == filed_at
    bot.say("It also happens with two GPUs.", AUTHOR)
    assert bot.store.count_issues(needs_answer) == 0  # nobody has answered yet: it waits to be triaged
    comment = bot.github.comment(ISSUE, "We look at it.", PERSON) | MEMBER
    bot.deliver("issue_comment", bot.github.payload("created", ISSUE, PERSON, comment=comment))
    bot.settle()
    assert bot.stored().waits_since == NOBODY_WAITS and bot.store.count_issues(needs_answer) == 0
    bot.say("Any news?", AUTHOR)
    assert bot.store.count_issues(needs_answer) == 1
    assert filed_at < bot.stored().waits_since < NOBODY_WAITS
    assert [issue.number for issue, _ in bot.store.list_issues(IssueFilter(), "waiting").items] == [1]


def test_a_comment_heard_before_the_closing_hides_it_not(bot: Bot) -> None:
    bot.issue("opened")
    before = dict(bot.github.issues[ISSUE])
    bot.github.edit(ISSUE, {"state": "closed", "state_reason": "completed"}, PERSON)
    closed = bot.github.payload("closed", ISSUE, PERSON)
    comment = bot.github.comment(ISSUE, "Thanks.", AUTHOR)
    after = dict(bot.github.issues[ISSUE])
    assert before["updated_at"] < after["updated_at"]
    closed["issue"] = {**after, "updated_at": before["updated_at"]}
    bot.deliver("issue_comment", bot.github.payload("created", ISSUE, AUTHOR, comment=comment))
    bot.deliver("issues", closed)
    bot.settle()
    assert bot.stored().state == "closed"


@pytest.mark.parametrize(
    ("comments", "active_s", "waits_s", "said"),
    [
        (0, 0, None, ""),
        (1, 9000, None, "1 comment"),
        (1200, 60, None, "1,200 comments, active 1 minute ago"),
        (2, 60, 3600, "2 comments, author waits 1 hour"),
        (2, 60, 5, "2 comments, author waits less than a minute"),
    ],
)
def test_a_row_says_how_the_thread_stands(
    bot: Bot, comments: int, active_s: float, waits_s: float | None, said: str
) -> None:
    bot.issue("opened")
    issue, now = bot.stored(), bot.stored().created_at + 9000
    issue.comments, issue.updated_at = comments, now - active_s
    issue.waits_since = NOBODY_WAITS if waits_s is None else now - waits_s
    assert make_row(issue, None, (), default_taxonomy(), "owner/repo", "", now).thread == said


def test_who_files_and_maintains_waits_for_nobody(bot: Bot) -> None:
    bot.github.issues[ISSUE] |= MEMBER
    bot.issue("opened")
    assert bot.stored().waits_since == NOBODY_WAITS
    comment = bot.github.comment(ISSUE, "More of it.", AUTHOR) | MEMBER
    bot.deliver("issue_comment", bot.github.payload("created", ISSUE, AUTHOR, comment=comment))
    bot.settle()
    assert bot.store.count_issues(IssueFilter(needs_answer=True)) == 0


def test_threads_of_an_earlier_version_are_counted_by_the_comparison(bot: Bot) -> None:
    bot.issue("opened")
    with bot.store._session(writes=True) as session:
        session.execute(update(Issue).values(comments=-1, waits_since=NOBODY_WAITS))
    read_before = len(bot.github.requests)
    bot.store.put_job(reconcile_job("owner/repo", 1))
    bot.settle()
    assert (bot.stored().comments, bot.stored().waits_since) == (0, bot.stored().created_at)
    assert not any(request.path.endswith("/timeline") for request in bot.github.requests[read_before:])
