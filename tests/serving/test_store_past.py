"""The past issues in the store, on both databases."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import Any

from distriage.base.references import IssueReference
from distriage_serving.store import PastRow, PastState, Store

from support.databases import NOW, Clock
from support.waiting import WAIT_S

PLACE = "Owner/Repo"


def row(number: int, **changes: Any) -> PastRow:
    values = {
        "repository": PLACE,
        "title": "T",
        "url": "u",
        "state": "open",
        "closed_by": "",
        "filed_at": NOW,
        "updated_at": NOW,
    }
    return PastRow(number=number, **{**values, "digest": "d", "fingerprint": b"\0\xff", **changes})


def told(number: int, state: Any, after_s: float, reason: str = "") -> PastState:
    return PastState(IssueReference(PLACE, number), state, NOW + after_s, reason)


def revision(store: Store, name: str = PLACE) -> int:
    known = store.past_repository(name)
    assert known is not None
    return known.revision


def kept(store: Store, number: int) -> tuple[str, str]:
    (found,) = [row for row in store.past_rows(PLACE, 0) if row.number == number]
    return found.state, found.closed_by


def test_what_changed_since_a_revision_is_found(store: Store) -> None:
    store.put_past("m", row(1))
    assert store.past_repository(PLACE) is None and store.past_rows(PLACE, 0) == []  # nobody asked to keep them
    store.begin_past(PLACE, "m")
    store.put_past("m", row(1), row(2))
    store.put_past("another", row(3))
    first = revision(store)
    assert store.past_digests(PLACE) == {1: "d", 2: "d"} and store.past_digests(PLACE, 2) == {2: "d"}
    assert store.past_rows("owner/repo", 0)[0].fingerprint == b"\0\xff"
    assert [item.number for item in store.past_rows(PLACE, 0, 1)] == [2]
    store.put_past("m", row(2, title="New", digest="e", updated_at=NOW + 1))
    assert [(item.number, item.title) for item in store.past_rows(PLACE, first)] == [(2, "New")]
    assert store.past_rows(PLACE, revision(store)) == []


def test_a_change_or_an_original_says_more_than_githubs_reason(store: Store) -> None:
    store.begin_past(PLACE, "m")
    store.put_past("m", row(1), row(2), row(3))
    store.settle_past(PLACE, {1, 9}, "#40")
    store.settle_past(PLACE, {2, 3}, "duplicate of #1")
    store.set_past_states(told(1, "open", 5), told(2, "closed", 5, "duplicate"), told(3, "closed", 5, "not_planned"))
    store.set_past_states(told(1, "closed", 9, "completed"))
    assert [kept(store, number)[1] for number in (1, 2, 3)] == ["#40", "duplicate of #1", "not_planned"]
    before = revision(store)
    store.set_past_states(replace(told(1, "closed", 9, "completed"), more={"milestone": "2.0", "reactions": 3}))
    (changed,) = store.past_rows(PLACE, before)
    assert (changed.milestone, changed.reactions, changed.closed_at) == ("2.0", 3, NOW + 9)
    store.put_past("m", row(1, state="closed", digest="e", updated_at=NOW + 20))  # edited
    (edited,) = [item for item in store.past_rows(PLACE, before) if item.number == 1]
    assert (edited.closed_by, edited.milestone, edited.closed_at) == ("#40", "2.0", NOW + 9)
    store.set_past_states(told(1, "open", 30))
    assert kept(store, 1) == ("open", "")


def test_what_comes_late_changes_nothing_and_gone_is_gone(store: Store) -> None:
    store.begin_past(PLACE, "m")
    store.put_past("m", row(1), row(2))
    store.set_past_states(told(1, "closed", 10, "completed"), told(9, "closed", 10))
    assert kept(store, 1) == ("closed", "completed") and kept(store, 2) == ("open", "")
    before = revision(store)
    store.put_past("m", row(1, updated_at=NOW + 5))  # as seen before it was closed
    store.set_past_states(told(1, "open", 5))
    assert kept(store, 1) == ("closed", "completed") and store.past_rows(PLACE, before) == []
    store.put_past("m", row(1, state="closed", digest="e", updated_at=NOW + 20))  # edited; nobody says why it is closed
    assert kept(store, 1) == ("closed", "completed") and store.past_digests(PLACE)[1] == "e"
    store.set_past_states(told(1, "open", 30))
    assert kept(store, 1) == ("open", "")
    assert store.set_state(IssueReference(PLACE, 1), "deleted", NOW) is False  # not one of the queue's issues
    (gone,) = [item for item in store.past_rows(PLACE, before) if item.number == 1]
    assert (gone.title, gone.url, gone.digest, gone.fingerprint) == ("", "", "", None)
    store.put_past("m", row(1, updated_at=NOW + 30))
    store.set_past_states(told(1, "open", 40))
    assert store.past_digests(PLACE) == {2: "d"}


def test_another_model_begins_anew(store: Store) -> None:
    store.begin_past(PLACE, "m")
    store.put_past("m", row(1))
    store.begin_past(PLACE, "m")
    assert store.past_digests(PLACE) == {1: "d"}
    before = revision(store)
    store.begin_past(PLACE, "n")
    known = store.past_repository(PLACE)
    assert known is not None and (known.model, store.past_rows(PLACE, 0)) == ("n", [])
    assert known.begun_at_revision > before


def test_past_issues_move_with_their_repository(store: Store) -> None:
    store.save_repository(PLACE, enabled=True)
    store.begin_past(PLACE, "m")
    store.put_past("m", row(1))
    assert store.rename_repository(PLACE, "New/Name")
    assert store.past_repository(PLACE) is None and store.past_digests("new/name") == {1: "d"}
    store.save_repository(PLACE, enabled=True)
    store.begin_past(PLACE, "m")
    store.put_past("m", row(2))
    assert store.rename_repository(PLACE, "New/Name")
    assert store.past_repository(PLACE) is None and store.past_digests("new/name") == {1: "d"}


def test_past_issues_move_onto_the_name_of_a_repository_that_was_deleted(store: Store) -> None:
    for name in (PLACE, "New/Name"):
        store.save_repository(name, enabled=True)
        store.begin_past(name, "m")
    for number in range(3):
        store.put_past("m", row(7 + number, repository="New/Name"))
    store.delete_repository("New/Name")
    store.put_past("m", row(1))
    before = max(revision(store), revision(store, "New/Name"))
    assert store.rename_repository(PLACE, "New/Name")
    assert store.past_repository(PLACE) is None and store.past_digests("new/name") == {1: "d"}
    known = store.past_repository("New/Name")
    assert known is not None and known.begun_at_revision == known.revision > before  # no index of before is served
    store.put_past("m", row(2, repository="New/Name"))
    assert [item.number for item in store.past_rows("new/name", known.revision)] == [2]


def test_a_repository_without_past_issues_leaves_those_of_its_new_name(store: Store) -> None:
    store.save_repository(PLACE, enabled=True)
    store.begin_past("New/Name", "m")
    before = revision(store, "New/Name")
    assert store.rename_repository(PLACE, "New/Name") and revision(store, "New/Name") == before


def test_whoever_has_a_name_next_has_larger_revisions(store: Store, clock: Clock) -> None:
    for name in (PLACE, "an/other"):
        store.save_repository(name, enabled=True)
        store.begin_past(name, "m")
    for number in range(9):
        store.put_past("m", row(number))
    first = revision(store)
    assert store.rename_repository(PLACE, "New/Name")
    clock.now += 1
    assert store.rename_repository("an/other", PLACE)
    second = store.past_repository(PLACE)
    assert second is not None and second.begun_at_revision > first
    assert store.rename_repository(PLACE, "an/other")
    clock.now += 1
    store.begin_past(PLACE, "m")
    third = store.past_repository(PLACE)
    assert third is not None and third.begun_at_revision > second.revision


def test_who_notes_a_state_waits_for_another_who_notes_a_reason(store: Store) -> None:
    """On PostgreSQL; SQLite has one writer."""
    store.begin_past(PLACE, "m")
    store.put_past("m", row(1))
    closing = Thread(target=lambda: store.set_state(IssueReference(PLACE, 1), "closed", NOW + 5, "completed"))
    with store.transaction():
        store.settle_past(PLACE, {1}, "#34")  # the pull request's delivery; the other thread has the issue's
        closing.start()
        closing.join(0.5)
    closing.join(WAIT_S)
    assert kept(store, 1) == ("closed", "#34")
