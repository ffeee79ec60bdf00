"""Inbox and outbox of the store, on SQLite and on PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from distriage_serving.store import MAX_ATTEMPTS, CommandArgument, Delivery, Job, LeaseLostError, NewJob, Store

from support.checkout import REPOSITORY
from support.databases import NOW, Clock

WORKER = REPOSITORY / "tests" / "support" / "store_worker.py"


def delivery(id: str = "d1", **changes: object) -> Delivery:  # noqa: A002
    return Delivery(
        **{
            "id": id,
            "event": "issues",
            "action": "opened",
            "payload": "{}",
            "received_at": NOW,
            "repository": "Owner/Repo",
            "issue": 1,
            **changes,
        }
    )


HOSTILE_LINE = "/triage \0 <b>"


def asked(line: str) -> CommandArgument:
    """A command."""
    return CommandArgument(comment=1, who="x", at=1.0, lines=[line])


def put(
    store: Store,
    issue: int = 1,
    kind: str = "triage",
    due_at: float | None = None,
    argument: CommandArgument | None = None,
) -> Job:
    return store.put_job(
        NewJob(f"{kind}:owner/repo#{issue}", kind, "owner/repo", issue=issue, argument=argument), due_at
    )


# ---------------------------------------------------------------- inbox


def test_a_delivery_is_stored_once_and_handed_out_once(store: Store) -> None:
    assert store.add_delivery(delivery()) is True
    assert store.add_delivery(delivery(payload='{"other": 1}')) is False
    [leased] = store.lease(Delivery, "a", 60, 10)
    assert (leased.id, leased.payload, leased.repository, leased.state, leased.attempts, leased.due_at) == (
        "d1",
        "{}",
        "owner/repo",
        "leased",
        1,
        NOW + 60,
    )
    assert store.lease(Delivery, "b", 60, 10) == []
    store.finish(leased)
    assert store.add_delivery(delivery()) is False
    assert store.lease(Delivery, "a", 60) == []
    assert store.counts()["deliveries"] == {"waiting": 0, "leased": 0, "done": 1, "dead": 0, "ignored": 0}


def test_an_ignored_delivery_is_kept_and_never_due(store: Store) -> None:
    store.add_delivery(delivery(state="ignored"))
    assert store.lease(Delivery, "a", 60) == []
    [kept] = store.list_work(Delivery)
    assert (kept.state, kept.finished_at) == ("ignored", NOW)


def test_the_longest_due_comes_first(store: Store, clock: Clock) -> None:
    for number in (3, 1, 2):
        clock.now = NOW + number
        store.add_delivery(delivery(f"d{number}"))
    clock.now = NOW + 2
    assert [item.id for item in store.lease(Delivery, "a", 60, 10)] == ["d1", "d2"]


def test_an_expired_lease_is_taken_over_and_its_old_owner_can_do_nothing_more(store: Store, clock: Clock) -> None:
    store.add_delivery(delivery())
    [lost] = store.lease(Delivery, "a", 60)
    clock.now += 59
    store.extend(lost, 60)
    clock.now += 59
    assert store.lease(Delivery, "b", 60) == []
    clock.now += 1
    [taken] = store.lease(Delivery, "b", 60)
    assert (taken.lease_owner, taken.attempts) == ("b", 2)
    for call in (
        lambda: store.finish(lost),
        lambda: store.retry(lost, NOW, "x"),
        lambda: store.defer(lost, NOW, "x"),
        lambda: store.extend(lost, 1),
    ):
        with pytest.raises(LeaseLostError, match="deliveries d1: not leased to a any more"):
            call()
    store.finish(taken)
    with pytest.raises(LeaseLostError):
        store.finish(taken)


def test_a_worker_that_takes_its_own_expired_item_again_cannot_answer_for_the_first_lease(
    store: Store, clock: Clock
) -> None:
    store.add_delivery(delivery())
    [first] = store.lease(Delivery, "a", 60)
    clock.now += 60
    [second] = store.lease(Delivery, "a", 60)
    with pytest.raises(LeaseLostError):
        store.finish(first)
    store.finish(second)


def test_failures_are_retried_then_dead_then_replayed(store: Store, clock: Clock) -> None:
    store.add_delivery(delivery())
    for attempt in range(1, MAX_ATTEMPTS + 1):
        [item] = store.lease(Delivery, "a", 60)
        assert item.attempts == attempt
        assert store.retry(item, clock.now + 5, "502\nBad Gateway") == (
            "dead" if attempt == MAX_ATTEMPTS else "waiting"
        )
        assert store.lease(Delivery, "a", 60) == []
        clock.now += 5
    [dead] = store.dead(Delivery)
    assert (dead.state, dead.last_error, dead.finished_at) == ("dead", "502 Bad Gateway", clock.now - 5)
    assert store.replay(Delivery, "d2") is False
    assert store.replay(Delivery, "d1") is True
    assert store.replay(Delivery, "d1") is False
    [again] = store.lease(Delivery, "a", 60)
    assert (again.attempts, again.finished_at) == (1, None)


def test_a_redelivery_of_a_dead_one_makes_it_due(store: Store) -> None:
    store.add_delivery(delivery())
    [item] = store.lease(Delivery, "a", 60)
    store.finish(item, "dead", "no such installation")
    assert store.add_delivery(delivery()) is False
    assert [item.id for item in store.lease(Delivery, "a", 60)] == ["d1"]


def test_what_kills_its_worker_each_time_is_dead_in_the_end(store: Store, clock: Clock) -> None:
    store.add_delivery(delivery())
    for _ in range(MAX_ATTEMPTS):
        assert len(store.lease(Delivery, "a", 60)) == 1
        clock.now += 60
    assert store.lease(Delivery, "a", 60) == []
    [dead] = store.dead(Delivery)
    assert dead.last_error == "taken 10 times, and no worker lived to answer"


def test_a_deferral_is_no_attempt_and_says_why(store: Store, clock: Clock) -> None:
    put(store)
    for _ in range(MAX_ATTEMPTS + 1):
        [job] = store.lease(Job, "a", 60)
        assert job.attempts == 1
        assert store.defer(job, clock.now + 30, "80 writes in this minute") == "waiting"
        clock.now += 30
    assert [job.last_error for job in store.list_work(Job, "waiting")] == ["80 writes in this minute"]


# ---------------------------------------------------------------- outbox


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
    [verdict, other] = store.lease(Job, "a", 60, 10)
    assert (verdict.kind, other.issue) == ("verdict", 2)
    clock.now += 30
    assert store.lease(Job, "b", 60, 10) == []
    store.finish(verdict)
    [command] = store.lease(Job, "b", 60, 10)
    assert command.kind == "command"
    store.finish(command)
    assert [job.kind for job in store.lease(Job, "b", 60, 10)] == ["triage"]


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


# ---------------------------------------------------------------- transactions, processes


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


def test_a_worker_killed_in_the_middle_of_a_transaction_leaves_nothing_half_done(database_url: str) -> None:
    clock = Clock()
    with Store.open(database_url, clock) as store:
        store.add_delivery(delivery())
    done = subprocess.run(
        [sys.executable, WORKER, "killed", database_url], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == -9, done.stderr
    with Store.open(database_url, clock) as store:
        assert store.list_work(Job) == []
        [left] = store.list_work(Delivery)
        assert (left.state, left.lease_owner) == ("leased", "killed")
        assert left.due_at is not None
        clock.now = left.due_at
        assert [item.id for item in store.lease(Delivery, "b", 60)] == ["d1"]


@pytest.mark.slow
def test_two_processes_never_take_the_same_item(database_url: str) -> None:
    with Store.open(database_url) as store:
        with store.transaction():
            for number in range(30):
                store.add_delivery(delivery(f"d{number}"))
                put(store, number % 6, "triage" if number < 6 else f"command{number}")
        workers = [
            subprocess.Popen(
                [sys.executable, WORKER, "drain", database_url],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        for worker in workers:
            assert worker.stdout is not None and worker.stdout.readline() == "open\n"
        answers = []
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
        for worker in workers:
            out, err = worker.communicate(timeout=180)
            assert (worker.returncode, err) == (0, "")
            answers.append(out.splitlines())
        taken = Counter(line for lines in answers for line in lines)
        assert set(taken.values()) == {1}
        assert len([line for line in taken if line.startswith("Delivery")]) == 30
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
