# ruff: noqa: F401, F811  # fixtures
"""Issues that go away, limits, failures, and installations that end."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

import pytest

from distriage.base.errors import InputError, NotFoundError, RateLimitError
from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage_serving.bot import kinds, worker
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import WORK, App
from distriage_serving.github.executor import why_refused
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.logs import JsonFormatter
from distriage_serving.store import Job, decide_job, poll_job
from distriage_serving.store.work import pace

from support import faults
from support.app_key import APP_ID, app_key
from support.bot import BODY, COMMENTED, HANG, ISSUE, TITLE, Bot, Hasty, Make, bot, github, make, store
from support.faults import Fault, Trouble
from support.github import INSTALLATION, GitHub


@pytest.mark.parametrize(("how", "state"), [("gone", "deleted"), ("moved", "transferred"), ("absent", "deleted")])
def test_an_issue_that_went_away_before_it_was_read_is_left_alone(bot: Bot, how: str, state: str) -> None:
    bot.issue("opened")
    bot.github.written.clear()
    bot.deliver("issues", bot.github.payload("reopened", ISSUE))
    if how == "gone":
        bot.github.gone.add(ISSUE)
    elif how == "moved":
        bot.github.open("owner/elsewhere#7", TITLE, BODY)
        bot.github.moved[ISSUE] = "owner/elsewhere#7"
    else:
        del bot.github.issues[ISSUE]
    bot.settle()
    kept = bot.store.get_issue("owner/repo", 1)
    assert bot.writes() == [] and bot.job().state == "ignored" and kept is not None and kept.state == state


@pytest.mark.parametrize("status", [404, 410])
def test_an_issue_that_goes_away_while_it_is_labelled_ends_quietly(bot: Bot, status: int) -> None:
    bot.github.troubles.append(Trouble(r"^POST .*/issues/1/labels$", faults.status(status)))
    bot.issue("opened")
    assert bot.job().state == "done" and "deleted" in str(bot.job().last_error)


def test_a_locked_issue_is_labelled_without_a_comment(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED
    bot.github.issues[ISSUE]["locked"] = True
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG] and bot.github.comments(ISSUE) == []


@pytest.mark.parametrize(
    ("action", "state"), [("closed", "closed"), ("deleted", "deleted"), ("transferred", "transferred")]
)
def test_events_of_the_end_of_an_issue_are_noted(bot: Bot, action: str, state: str) -> None:
    bot.issue("opened")
    bot.issue(action)
    kept = bot.store.get_issue("owner/repo", 1)
    assert kept is not None and kept.state == state


def test_a_rate_limit_defers_visibly_for_as_long_as_github_says_and_the_whole_installation_waits(bot: Bot) -> None:
    bot.github.open("owner/repo#2", TITLE, BODY)
    bot.github.troubles.append(Trouble(r"^POST .*/labels$", faults.secondary_limit(120)))
    for reference in (ISSUE, "owner/repo#2"):
        bot.deliver("issues", bot.github.payload("opened", reference))
    while bot.worker.step():
        pass
    waiting = bot.store.list_work(Job, "waiting")
    for job in waiting:
        assert job.due_at is not None and job.due_at - bot.clock() > 110 and job.attempts == 0
    assert {job.issue: job.last_error for job in waiting} == {
        1: "GitHub's rate limit is reached; it ends in 120 s",
        2: "GitHub asked this installation to wait",
    }
    assert len([path for _, path in bot.writes()]) == 1
    bot.settle(130)
    assert bot.github.labels(ISSUE) == bot.github.labels("owner/repo#2") == [HANG]


def test_a_rate_limit_without_a_time_is_waited_for_longer_from_job_to_job(bot: Bot) -> None:
    bot.github.troubles.append(Trouble(r"^GET .*/issues/1$", faults.secondary_limit(None), times=2))
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    waits = []
    for _ in range(2):
        while bot.worker.step():
            pass
        waits.append(bot.store.limits(INSTALLATION).ends_at() - bot.clock())
        bot.clock.now += waits[-1]
    assert waits == [60, 120]
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG]


def test_other_workers_and_processes_wait_too_where_github_asked_one_to(
    bot: Bot, keyword_classifier: Classifier
) -> None:
    bot.github.troubles.append(Trouble(r"^GET .*/issues/1$", faults.secondary_limit(120)))
    bot.issue("opened")
    bot.clock.now -= 100
    before = len(bot.github.requests)
    app, judge = App(APP_ID, app_key(), bot.github.url), LocalJudge(keyword_classifier)
    other = Worker(bot.store, app, judge, threading.Event(), Timing(debounce_s=30))
    bot.github.open("owner/repo#2", TITLE, BODY)
    bot.deliver("issues", bot.github.payload("opened", "owner/repo#2"))
    while other.step():
        pass
    assert len(bot.github.requests) == before
    bot.settle(130)
    assert bot.github.labels(ISSUE) == bot.github.labels("owner/repo#2") == [HANG]


@pytest.mark.parametrize("wait_s", [5, 120])
def test_work_under_way_waits_too_where_github_asked_another_to(bot: Bot, wait_s: int) -> None:
    app, waits = App(APP_ID, app_key(), bot.github.url), list[float]()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        ends_at = bot.store.limits(1).ends_at()  # the others see it meanwhile
        assert ends_at > bot.clock()
        bot.clock.now = ends_at

    one, other = (app.installation_client(1, limits=bot.store.limits(1)) for _ in range(2))
    one._sleep = other._sleep = sleep
    bot.github.troubles.append(Trouble("^GET /repos/owner/repo$", faults.secondary_limit(wait_s)))
    before = len(bot.github.requests)
    with suppress(RateLimitError):
        one.json("/repos/owner/repo")
    bot.clock.now = time.time()
    with suppress(RateLimitError):
        other.json("/repos/owner/repo")
    answered = 2 if wait_s < WORK.max_wait_s else 0
    assert (len(waits), len(bot.github.requests) - before) == (answered, 1 + answered)


def test_writes_are_paced_over_all_workers_and_what_waits_says_so(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pace.LIMITS == ((60, 80), (3600, 500))
    monkeypatch.setattr(pace, "LIMITS", ((60, 5), (3600, 8)))
    assert [bot.store.take_write(installation) for installation in (INSTALLATION, 2)] == [
        None,
        None,
    ]  # by another worker
    start = bot.clock()
    for number in (1, 2, 3):
        bot.github.open(f"owner/repo#{number}", TITLE, BODY)
        bot.deliver("issues", bot.github.payload("opened", f"owner/repo#{number}"))
    bot.settle(0)
    bot.store.put_job(decide_job(IssueReference("owner/repo", 3), INSTALLATION))  # a person need not wait
    bot.settle(0)
    assert bot.github.labels("owner/repo#3") == [HANG]
    (job,) = (job for job in bot.store.list_work(Job, "waiting") if job.kind == "triage")
    assert "paced" in str(job.last_error) and (job.due_at, job.attempts) == (start + 60, 0)
    assert bot.store.limits(INSTALLATION).ends_at() == 0  # reading goes on
    bot.settle(60)
    assert bot.github.labels("owner/repo#3") == [HANG]
    bot.github.open("owner/repo#4", TITLE, BODY)
    bot.github.open("owner/repo#5", TITLE, BODY)
    for number in (4, 5):
        bot.deliver("issues", bot.github.payload("opened", f"owner/repo#{number}"))
    bot.settle(100)
    (job,) = (job for job in bot.store.list_work(Job, "waiting") if job.kind == "triage")
    assert job.due_at == start + 3600
    bot.settle(3600)
    assert bot.github.labels("owner/repo#5") == [HANG]


def test_a_backlog_reads_nothing_on_github_while_writes_are_paced(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pace, "LIMITS", ((60, 5),))
    caplog.set_level(logging.INFO)
    for number in range(1, 10):
        bot.github.open(f"owner/repo#{number}", TITLE, BODY)
        bot.deliver("issues", bot.github.payload("opened", f"owner/repo#{number}"))
    bot.settle(50)
    (deferred,) = (one for one in caplog.records if one.getMessage() == "job_deferred")
    assert vars(deferred)["fields"]["reason"] == "paced"
    assert [bot.github.labels(f"owner/repo#{number}") for number in (3, 4)] == [[HANG], []]
    read = len(bot.github.requests)
    bot.settle(9)
    assert len(bot.github.requests) == read
    bot.store.put_job(decide_job(IssueReference("owner/repo", 9), INSTALLATION))
    bot.store.put_job(poll_job("owner/repo", INSTALLATION))
    bot.settle(0)
    assert bot.github.labels("owner/repo#9") == [HANG], "a person need not wait"
    assert "poll" not in {job.kind for job in bot.store.list_work(Job, "waiting")}, "nor what only reads"
    for _ in range(3):
        bot.settle(61)
    assert all(bot.github.labels(f"owner/repo#{number}") == [HANG] for number in range(1, 10))


FAULTS = [
    Trouble(r"^GET .*/issues/1$", Fault(500), times=7),
    Trouble(r"^POST .*/issues/1/labels$", Fault(502), after=True, times=7),
    Trouble(r"^POST .*/issues/1/comments$", Fault(502), after=True),
    Trouble(r"^POST .*/issues/1/comments$", reset=True, times=7),
    Trouble(r"^POST .*/issues/1/comments$", after=True, reset=True),
    Trouble(r"^POST .*/access_tokens$", Fault(500), times=7),
    Trouble(r"^GET .*/timeline", Fault(401)),
]


@pytest.mark.parametrize(
    "trouble", FAULTS, ids=lambda trouble: f"{trouble.request}-{trouble.fault.status if trouble.fault else 'reset'}"
)
def test_after_a_failure_it_is_done_later_and_once(make: Make, trouble: Trouble) -> None:
    bot = make(Hasty)
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED
    bot.github.troubles.append(
        Trouble(trouble.request, trouble.fault, trouble.after, trouble.reset, times=trouble.times)
    )
    bot.issue("opened")
    for _ in range(9):
        bot.settle(4000)
    assert bot.github.labels(ISSUE) == [HANG] and len(bot.github.comments(ISSUE)) == 1
    assert bot.store.counts()["jobs"]["dead"] == 0


def test_what_fails_again_and_again_becomes_a_dead_letter_that_can_be_replayed(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    bot = make(Hasty)
    bot.github.troubles.append(Trouble(r"^GET .*/issues/1$", Fault(500), times=1000))
    bot.issue("opened")
    for _ in range(12):
        bot.settle(5000)
    (dead,) = bot.store.dead(Job)
    assert "GitHub fails (500)" in str(dead.last_error) and bot.github.labels(ISSUE) == []
    put_off = [record for record in caplog.records if record.message == "put_off"]
    assert {record.fields["github_status"] for record in put_off} == {500}  # type: ignore[attr-defined]
    bot.github.troubles.clear()
    assert bot.store.replay(Job, dead.id)
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG] and bot.store.dead(Job) == []


def test_an_error_that_nobody_foresaw_is_tried_again_and_keeps_the_report_s_text_to_itself(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def choke(*_: object) -> None:
        raise ValueError(f"cannot digest {TITLE}")

    monkeypatch.setattr(kinds, "triage", choke)
    bot.issue("opened")
    (job,) = (job for job in bot.store.list_work(Job, "waiting") if job.kind == "triage")
    assert str(job.last_error).startswith("ValueError at test_bot_failures.py:") and TITLE not in str(
        job.last_error
    ) + "".join(map(JsonFormatter().format, caplog.records))
    monkeypatch.undo()
    bot.settle(4000)
    assert bot.github.labels(ISSUE) == [HANG]


def test_a_worker_that_lost_its_lease_writes_nothing_more(make: Make) -> None:
    bot = make(lease_s=30)
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    bot.worker.step()
    (job,) = bot.store.lease(Job, "dead worker", 30)
    bot.clock.now += 31
    bot.settle()  # another one took over
    assert bot.github.labels(ISSUE) == [HANG]
    with pytest.raises(Exception, match="not leased"):
        bot.store.finish(job)


def test_a_long_job_is_no_thread_that_is_stuck(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bot, seen = make(lease_s=0.3), []

    def long(*_: object) -> Done:
        time.sleep(1.0)
        seen.append(bot.worker.is_stuck())
        return Done()

    monkeypatch.setattr(worker, "STUCK_AFTER_S", 0.3)
    monkeypatch.setattr(kinds, "triage", long)
    bot.issue("opened")
    monkeypatch.setattr(worker, "LONGEST_JOB_S", 0.2)  # one that no job takes
    bot.clock.now += 100
    bot.issue("edited")
    assert seen == [False, True]


def test_an_app_that_was_uninstalled_leaves_nothing_to_do(bot: Bot) -> None:
    repositories = [{"full_name": "Owner/Repo"}, {"full_name": "owner/other"}]
    bot.github.repositories.add("owner/other")
    bot.deliver(
        "installation", {"action": "created", "installation": {"id": INSTALLATION}, "repositories": repositories}
    )
    bot.settle()
    assert [repository.name for repository in bot.store.list_repositories(enabled=True)] == [
        "owner/other",
        "owner/repo",
    ]
    removed = {
        "action": "removed",
        "installation": {"id": INSTALLATION},
        "repositories_removed": [{"full_name": "Owner/Other"}],
    }
    bot.github.repositories.clear()
    bot.deliver("installation_repositories", removed)
    bot.settle()
    assert [repository.name for repository in bot.store.list_repositories(enabled=True)] == ["owner/repo"]
    bot.github.installations.clear()
    bot.deliver("installation", {"action": "deleted", "installation": {"id": INSTALLATION}})
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    bot.settle()
    assert bot.store.list_repositories(enabled=True) == [] and bot.writes() == []
    assert bot.store.counts()["jobs"]["dead"] == 0


def test_an_app_that_was_suspended_leaves_nothing_to_do(bot: Bot) -> None:
    suspended = faults.message("This installation has been suspended", 403)
    bot.github.troubles.append(Trouble(r"^POST .*/access_tokens$", suspended, times=9))
    bot.issue("opened")
    done = bot.job()
    assert (done.kind, done.state) == ("triage", "ignored") and "suspended" in str(done.last_error)


def test_an_app_that_was_uninstalled_is_said_to_be(github: GitHub) -> None:
    github.installations.clear()
    with pytest.raises(NotFoundError) as refused:
        App(APP_ID, app_key(), github.url).token(INSTALLATION)
    assert why_refused(refused.value).startswith("the App is no longer installed there (")


def test_a_report_that_is_given_up_is_dead_and_says_so(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    why = "owner/repo#1 takes more than 10 s of computing time to read"

    def too_long(*_: object) -> Done:
        raise InputError(why)

    monkeypatch.setattr(kinds, "triage", too_long)
    bot.issue("opened")
    (dead,) = bot.store.dead(Job)
    assert (dead.last_error, dead.attempts) == (why, 1)
    assert "job_given_up" in [record.message for record in caplog.records]
