"""Jobs by key and issue, transactions, and several processes on one database."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Literal

import pytest
from sqlalchemy import select

from distriage.base.references import IssueReference
from distriage_serving.store import (
    CommandArgument,
    Delivery,
    Job,
    NewJob,
    ReaderAnswer,
    Store,
    close_job,
    command_job,
    decide_job,
    report_digest,
)
from distriage_serving.store.work.pace import BOTS_SHARE, LIMITS, Write

from support import store_worker
from support.crash_worker import forkserver
from support.databases import NOW, Clock
from support.stored_issues import issue
from support.work_items import delivery, put

HOSTILE_LINE = "/triage \0 <b>"


def asked(line: str) -> CommandArgument:
    """A command."""
    return CommandArgument(comment=1, who="x", at=1.0, lines=[line])


def test_a_waiting_job_of_the_same_key_takes_over_what_is_new(store: Store, clock: Clock) -> None:
    first = put(store, due_at=NOW + 20, argument=asked("/triage"))
    merged = put(store, due_at=NOW + 40, argument=asked(HOSTILE_LINE))
    assert (merged.id, merged.due_at, merged.argument) == (first.id, NOW + 40, asked(HOSTILE_LINE).model_dump())
    clock.now = NOW + 20
    assert store.lease(Job, "a", 60) == []
    clock.now = NOW + 40
    [job] = store.lease(Job, "a", 60)
    assert (job.id, job.argument) == (first.id, asked(HOSTILE_LINE).model_dump())
    put(store, due_at=clock.now)
    assert store.counts()["jobs"]["waiting"] == 1


def test_a_waiting_job_is_brought_forward_by_one_that_is_due_earlier(store: Store) -> None:
    """As by `/triage`, which waits for no further edit."""
    put(store, due_at=NOW + 30)
    assert put(store).due_at == NOW


def test_a_job_of_a_key_that_is_under_way_runs_after_it(store: Store) -> None:
    put(store)
    [running] = store.lease(Job, "a", 60)
    queued = put(store)
    assert queued.id != running.id
    assert put(store).id == queued.id
    assert store.lease(Job, "b", 60, 10) == []
    store.finish(running)
    assert [job.id for job in store.lease(Job, "b", 60, 10)] == [queued.id]


def test_jobs_of_one_issue_run_one_at_a_time_in_the_order_of_their_times(store: Store, clock: Clock) -> None:
    put(store, 1, "triage", due_at=NOW + 20)
    put(store, 1, "verdict")
    put(store, 1, "command")
    put(store, 2, "triage")
    [command, other] = store.lease(Job, "a", 60, 10)  # a person waits for it
    assert (command.kind, other.issue) == ("command", 2)
    clock.now += 30
    assert store.lease(Job, "b", 60, 10) == []
    store.finish(command)
    [verdict] = store.lease(Job, "b", 60, 10)
    assert verdict.kind == "verdict"
    store.finish(verdict)
    assert [job.kind for job in store.lease(Job, "b", 60, 10)] == ["triage"]


def test_what_a_person_did_goes_ahead_of_the_bots_own_work(store: Store, clock: Clock) -> None:
    issue = IssueReference("Owner/Repo", 2)
    for number in (1, 2, 3):
        put(store, number, "triage")
    for new in (close_job(issue, 7), decide_job(IssueReference("owner/repo", 3), 7)):
        store.put_job(new, NOW + 10)  # time to undo
    assert [job.issue for job in store.lease(Job, "a", 60)] == [1]
    clock.now += 20
    taken = [job for _ in range(2) for job in store.lease(Job, "a", 60)]
    assert [(job.issue, job.kind) for job in taken] == [(2, "close"), (3, "decide")]
    assert store.jobs_of_people([("owner/repo", 2)]).keys() == {("owner/repo", 2, "close")}
    assert store.lease(Job, "a", 60, 10) == []  # the rest is of the same issues
    store.finish(taken[0])
    assert [job.issue for job in store.lease(Job, "a", 60, 10)] == [2]
    assert store.jobs_of_people([("owner/repo", 2)]) == {}


def command(store: Store, number: int) -> Job:
    """Ask for a command of a comment of this number."""
    argument = CommandArgument(comment=number, who="x", at=NOW + number, lines=["/triage"])
    return store.put_job(command_job(IssueReference("owner/repo", 1), 7, argument))


def test_commands_of_one_issue_keep_their_order_where_one_fails_for_a_while(store: Store, clock: Clock) -> None:
    first, second = command(store, 1), command(store, 2)
    put(store, 1, "triage", due_at=NOW + 5)
    put(store, 2, "triage", due_at=NOW + 20)
    [failed] = store.lease(Job, "a", 60)
    assert failed.id == first.id
    store.retry(failed, NOW + 10, "502 Bad Gateway")
    assert store.lease(Job, "a", 60, 10) == []
    clock.now += 20  # all are due: the failed one is in front of the other, and the rest has nothing to do with them
    order = []
    while found := store.lease(Job, "a", 60):
        order += [(job.issue, job.kind, job.id) for job in found]
        store.finish(found[0])
    assert [id_ for _, _, id_ in order[:2]] == [first.id, second.id] and order[2][:2] == (1, "triage")
    assert [issue for issue, *_ in order] == [1, 1, 1, 2]


@pytest.mark.parametrize("ending", ["done", "dead"])
def test_a_command_that_is_over_holds_up_nothing(store: Store, ending: Literal["done", "dead"]) -> None:
    command(store, 1)
    second = command(store, 2)
    [first] = store.lease(Job, "a", 60)
    assert store.lease(Job, "b", 60, 10) == []
    store.finish(first, ending)
    assert [job.id for job in store.lease(Job, "b", 60)] == [second.id]


def test_a_job_that_waits_for_another_of_its_issue_keeps_nobody_from_the_next_issue(store: Store) -> None:
    put(store, 1, "triage")
    store.lease(Job, "a", 60)
    put(store, 1, "verdict")
    put(store, 2, "triage")
    assert [job.issue for job in store.lease(Job, "b", 60)] == [2]


def test_an_expired_job_is_taken_over_before_the_rest_of_its_issue(store: Store, clock: Clock) -> None:
    put(store, 1, "triage")
    [lost] = store.lease(Job, "a", 60)
    put(store, 1, "verdict")
    clock.now += 60
    [taken] = store.lease(Job, "b", 60, 10)
    assert (taken.id, taken.kind) == (lost.id, "triage")


def test_a_failed_job_leaves_its_work_to_a_newer_one_of_its_key_and_its_back_off_too(store: Store) -> None:
    put(store)
    [running] = store.lease(Job, "a", 60)
    newer = put(store)
    assert store.retry(running, NOW + 90, "rate limit") == "ignored"
    [waiting] = store.list_work(Job, "waiting")
    assert (waiting.id, waiting.due_at, waiting.last_error) == (newer.id, NOW + 90, "rate limit")
    assert put(store, due_at=NOW + 1).due_at == NOW + 90
    assert put(store, due_at=NOW + 100).due_at == NOW + 100


def test_a_dead_job_is_not_replayed_beside_a_newer_one_of_its_key(store: Store) -> None:
    dead = put(store)
    [running] = store.lease(Job, "a", 60)
    store.finish(running, "dead", "410 Gone")
    newer = put(store)
    assert store.replay(Job, dead.id) is True
    assert {job.id: job.state for job in store.list_work(Job)} == {dead.id: "ignored", newer.id: "waiting"}


def test_jobs_without_an_issue_queue_by_key(store: Store) -> None:
    for sha in ("a", "b"):
        store.put_job(NewJob(f"check:{sha}", "check", "owner/repo"))
    assert len(store.lease(Job, "a", 60, 10)) == 2


def test_a_transaction_is_undone_as_a_whole_and_nested_ones_belong_to_the_outer_one(store: Store) -> None:
    store.add_delivery(delivery())
    [item] = store.lease(Delivery, "a", 60)
    with pytest.raises(ZeroDivisionError), store.transaction():
        with store.transaction():
            put(store)
        store.finish(item)
        raise ZeroDivisionError
    assert store.list_work(Job) == []
    with store.transaction():
        put(store)
        store.finish(item)
    assert store.counts()["jobs"]["waiting"] == store.counts()["deliveries"]["done"] == 1


def test_a_superseded_job_inside_a_transaction_does_not_break_it(store: Store) -> None:
    put(store)
    [running] = store.lease(Job, "a", 60)
    put(store)
    with store.transaction():
        assert store.retry(running, NOW, "x") == "ignored"
        store.add_delivery(delivery())
    assert store.counts()["deliveries"]["waiting"] == 1


def test_a_worker_killed_in_the_middle_of_a_transaction_leaves_nothing_half_done(store_url: str) -> None:
    clock = Clock()
    with Store.open(store_url, clock) as store:
        store.add_delivery(delivery())
    worker = forkserver().Process(target=store_worker.killed, args=(store_url,))
    worker.start()
    worker.join(180)
    assert worker.exitcode == -signal.SIGKILL
    with Store.open(store_url, clock) as store:
        assert store.list_work(Job) == []
        [left] = store.list_work(Delivery)
        assert (left.state, left.lease_owner) == ("leased", "killed")
        assert left.due_at is not None
        clock.now = left.due_at
        assert [item.id for item in store.lease(Delivery, "b", 60)] == ["d1"]


@pytest.mark.slow
def test_two_processes_never_take_the_same_item(store_url: str) -> None:
    with Store.open(store_url) as store:
        with store.transaction():
            for number in range(30):
                store.add_delivery(delivery(f"d{number}"))
                put(store, number % 6, "triage" if number < 6 else f"command{number}")
        workers = []
        for _ in range(2):
            ours, theirs = forkserver().Pipe()
            workers.append((forkserver().Process(target=store_worker.drain, args=(store_url, theirs)), ours))
            workers[-1][0].start()
            theirs.close()  # else we would wait for ever for one that died
        assert [ours.recv() for _, ours in workers] == ["open", "open"]
        for _, ours in workers:
            ours.send("begin")
        taken = Counter(item for _, ours in workers for item in ours.recv())
        for worker, _ in workers:
            worker.join(180)
            assert worker.exitcode == 0
        assert set(taken.values()) == {1}
        assert len([item for item in taken if item.startswith("Delivery")]) == 30
        assert {item.attempts for item in store.list_work(Delivery)} == {1}
        jobs = store.list_work(Job)
        assert {job.attempts for job in jobs if job.state == "done"} == {1}
        # A worker that finds nothing due ends, though others still hold jobs of lanes with more of them; the last
        # one to finish takes the rest.
        assert {job.state for job in jobs} == {"done"}


def test_purge_keeps_what_is_waiting_dead_or_recent(store: Store, clock: Clock) -> None:
    for id_, state in (("old", "done"), ("dead", "dead"), ("ignored", "ignored")):
        store.add_delivery(delivery(id_))
        [item] = store.lease(Delivery, "a", 60)
        store.finish(item, state)
    put(store)
    clock.now += 100
    store.add_delivery(delivery("waiting"))
    store.add_delivery(delivery("recent", state="ignored"))
    assert store.purge(50) == 2
    assert {item.id for item in store.list_work(Delivery)} == {"dead", "waiting", "recent"}
    assert store.counts()["jobs"]["waiting"] == 1


def test_the_bots_own_writes_leave_a_part_of_the_pace_to_people(store: Store, clock: Clock) -> None:
    for span_s, most in LIMITS:
        own = 0
        while store.take_write(1, BOTS_SHARE) is None:
            own += 1
            clock.now += span_s / most
        assert own <= most * BOTS_SHARE
        assert store.take_write(1) is None
        clock.now += 3600


def test_pace_looks_at_one_installation_s_writes_alone(store: Store, clock: Clock) -> None:
    for installation_id in (1, 2):
        store.take_write(installation_id)
    clock.now += 3601
    store.take_write(1)
    with store._session(writes=False) as session:
        left = session.execute(select(Write.installation_id, Write.at).order_by(Write.at)).all()
    assert [tuple(row) for row in left] == [(2, clock.now - 3601), (1, clock.now)]
    store.purge(0)
    with store._session(writes=False) as session:
        assert list(session.scalars(select(Write.installation_id))) == [1]


def test_purge_keeps_a_second_reader_s_answers_about_reports_that_are_there(store: Store, clock: Clock) -> None:
    store.save_issue(issue())
    there = report_digest("A hang", "It hangs")
    for digest in (there, "gone"):
        store.save_reader_answer(
            ReaderAnswer(digest=digest, model="m", reader="r", shares={}, note=None, made_at=clock())
        )
    assert store.purge(50) == 0
    clock.now += 100
    assert store.purge(50) == 1
    assert store.get_reader_answer(there, "m", "r") is not None and store.get_reader_answer("gone", "m", "r") is None


def test_a_list_of_deliveries_comes_without_their_payloads(store: Store) -> None:
    store.add_delivery(delivery())
    (listed,) = store.list_work(Delivery)
    assert listed.id == "d1" and "payload" not in vars(listed)


def test_of_two_rate_limits_of_an_installation_the_later_one_holds_until_it_ends(store: Store, clock: Clock) -> None:
    limits, others = store.limits(1), store.limits(2)
    assert limits.ends_at() == 0
    for seconds in (9.5, 60.25, 30):
        limits.reached(clock() + seconds)
    assert (store.limits(1).ends_at(), others.ends_at()) == (clock() + 60.25, 0)
    clock.now += 60.25
    assert limits.ends_at() == 0
    limits.reached(clock() + 1)
    assert limits.ends_at() == clock() + 1


def test_a_rate_limit_without_a_time_grows_from_job_to_job_and_not_by_two_at_once(store: Store, clock: Clock) -> None:
    first, other = store.limits(1), store.limits(1)
    assert first.reached(None) == other.reached(None) == first.ends_at() == clock() + 60
    clock.now += 60
    assert (other.reached(None), store.limits(2).reached(None)) == (clock() + 120, clock() + 60)
    clock.now += 120 + 121
    assert first.reached(None) == clock() + 60
