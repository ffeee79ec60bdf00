"""Deliveries: stored once, handed out once, retried, dead, replayed."""

from __future__ import annotations

import pytest

from distriage_serving.store import MAX_ATTEMPTS, Delivery, Job, LeaseLostError, Store

from support.databases import NOW, Clock
from support.work_items import delivery, put


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


def test_what_was_given_up_can_be_put_away_and_goes_in_time(store: Store, clock: Clock) -> None:
    for number in (1, 2):
        store.add_delivery(delivery(f"d{number}"))
        put(store, number)
    for item in (*store.lease(Delivery, "a", 60, 2), *store.lease(Job, "a", 60, 2)):
        store.finish(item, "dead", "403 Forbidden")
    [job, _] = store.dead(Job)
    clock.now += 100
    assert store.drop(Delivery, "d1") and store.drop(Job, job.id)
    assert not store.drop(Delivery, "d1") and not store.drop(Delivery, "none") and not store.replay(Job, job.id)
    assert [item.last_error for item in store.list_work(Delivery, "ignored")] == ["403 Forbidden"]
    assert store.add_delivery(delivery("d1")) is False and store.lease(Delivery, "a", 60) == []
    assert store.purge(100) == 0
    clock.now += 101
    assert store.purge(100) == 2
    counts = store.counts()
    assert counts["deliveries"]["dead"] == counts["jobs"]["dead"] == 1


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


def test_who_answers_for_one_item_leaves_all_others_alone(store: Store) -> None:
    for id_ in ("d1", "d2"):
        store.add_delivery(delivery(id_))
    one, other = store.lease(Delivery, "a", 60, 2)
    store.finish(one)
    store.extend(other, 60)
    with pytest.raises(LeaseLostError):
        store.finish(put(store))  # which nobody has leased
    assert store.counts()["deliveries"]["leased"] == store.counts()["jobs"]["waiting"] == 1
