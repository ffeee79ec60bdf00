"""Repositories that were deleted on GitHub, and what has their names and numbers later, on both databases."""

from __future__ import annotations

import pytest

from distriage.base.references import IssueReference
from distriage_serving.store import SNOOZE, Act, IssueFilter, Lifecycle, PastRow, Store

from support.databases import NOW, Clock
from support.stored_issues import TAXONOMY, issue, person, prediction

FIRST = IssueReference("owner/repo", 1)
LATER = NOW + 1000
DAY_S = 86400


def decided(store: Store) -> None:
    """A repository whose first issue a person dismissed and snoozed; its second is closed."""
    store.save_repository("owner/repo", installation_id=7)
    store.save_issue(issue())
    store.save_issue(issue(2, state="closed"))
    store.save_verdict(prediction(symptom="apply"), TAXONOMY)
    store.add_reviews(person(label=None, at=NOW + 1))
    store.add_act(Act(repository="owner/repo", number=1, what=SNOOZE, who="ada", at=NOW + 1, until=LATER + 9))


def test_of_a_deleted_repository_nothing_waits_and_all_issues_go_in_time(store: Store, clock: Clock) -> None:
    decided(store)
    store.save_repository("by/stander", installation_id=7)
    store.save_issue(issue(repository="by/stander"))
    clock.now += 50
    assert store.delete_repository("Owner/Repo")
    assert [row.name for row in store.list_repositories(enabled=True)] == ["by/stander"]
    assert [item.repository for item, _ in store.list_issues(IssueFilter(status=None)).items] == ["by/stander"]
    assert store.purge(1) == 0
    clock.now += 2
    assert store.purge(1) == 2 and store.get_issue("owner/repo", 1) is None
    assert store.count_issues(IssueFilter(state=None)) == 1 and len(store.reviews()) == 1
    assert not store.delete_repository("un/known")


def test_of_a_repository_that_the_app_left_nothing_waits_and_all_issues_go_in_time(store: Store, clock: Clock) -> None:
    decided(store)
    store.save_repository("by/stander", installation_id=8)
    for number in (1, 2):
        store.save_issue(issue(number, repository="by/stander"))
    store.disable_repositories(7)
    store.forget_left(100)
    assert [item.repository for item, _ in store.list_issues(IssueFilter(status=None)).items] == ["by/stander"] * 2
    assert store.figures()["issues_waiting"] == {(): 2}
    assert store.count_issues(IssueFilter(status=None, state=None)) == 4
    clock.now += 90
    store.enable_repositories(7, ["owner/repo"])  # back in time
    store.forget_left(100)
    assert store.count_issues(IssueFilter(status=None)) == 3
    store.disable_repositories(7)
    for gone in (False, True):
        assert (store.get_issue("owner/repo", 1) is None) is gone
        store.forget_left(100)
        clock.now += 101
        store.forget_left(100)
    assert store.count_issues(IssueFilter(state=None)) == 2 and len(store.reviews()) == 1


def test_past_issues_of_a_deleted_repository_are_forgotten(store: Store) -> None:
    times = {"filed_at": NOW, "updated_at": NOW + 9}
    for name in ("owner/repo", "by/stander"):
        store.begin_past(name, "m")
        said = {"title": "T", "url": "u", "state": "open", "closed_by": "", "digest": "d", "fingerprint": b"1"}
        row = PastRow(repository=name, number=1, **said, **times)
        store.put_past("m", row)
    before = store.past_repository("owner/repo")
    assert before is not None and not store.delete_repository("owner/repo")
    after = store.past_repository("owner/repo")
    assert after is not None and after.begun_at_revision == after.revision > before.revision
    assert store.past_digests("owner/repo") == {} and store.past_digests("by/stander") == {1: "d"}
    row.repository, row.updated_at = "owner/repo", NOW  # filed anew, as seen before the deletion was
    store.put_past("m", row)
    assert store.past_digests("owner/repo") == {1: "d"}


def test_an_issue_of_the_same_number_begins_anew(store: Store, clock: Clock) -> None:
    decided(store)
    clock.now = LATER + 60  # the deletion is heard of after the new issue was filed
    store.delete_repository("owner/repo")
    store.enable_repositories(7, ["owner/repo"])
    store.save_issue(issue(title="Another", created_at=LATER, updated_at=LATER))
    new = store.get_issue("owner/repo", 1)
    assert new is not None and (new.title, new.state, new.status, new.verdict_id) == ("Another", "open", "open", None)
    assert store.latest_verdict("owner/repo", 1) is None and store.labelled_digest("owner/repo", 1) is None
    store.save_verdict(prediction(symptom="apply"), TAXONOMY)
    assert store.reviews(issue=FIRST, undone=True) == [] == store.acts(FIRST)
    assert store.reviews_of([("owner/repo", 1)]) == {} and store.reviews() == []  # nor exported with another text
    assert [item.number for item, _ in store.list_issues(IssueFilter(awake_at=LATER, outcome="apply")).items] == [1]
    store.add_reviews(person(at=LATER))
    assert [review.at for review in store.reviews(issue=FIRST)] == [LATER]
    found = store.get_issue("owner/repo", 1)
    assert found is not None and found.status == "accepted"


def test_the_same_is_so_once_the_earlier_issue_is_purged_or_was_never_said_to_be_deleted(
    store: Store, clock: Clock
) -> None:
    decided(store)
    store.save_issue(issue(created_at=LATER, updated_at=LATER))
    store.save_verdict(prediction(symptom="apply"), TAXONOMY)
    assert store.get_issue("owner/repo", 1).status == "open"  # type: ignore[union-attr]
    store.delete_repository("owner/repo")
    clock.now += 1
    assert store.purge(0) == 2
    store.save_issue(issue(created_at=LATER, updated_at=LATER))
    store.save_verdict(prediction(symptom="apply"), TAXONOMY)
    assert store.reviews(issue=FIRST) == [] and store.get_issue("owner/repo", 1).status == "open"  # type: ignore[union-attr]


def test_a_repository_that_takes_the_name_of_a_deleted_one_keeps_its_issues(store: Store) -> None:
    store.save_repository("new/name", installation_id=7)
    store.save_issue(issue(repository="new/name", title="Of the deleted one"))
    store.delete_repository("new/name")
    store.save_repository("owner/repo", installation_id=7)
    store.save_issue(issue(title="Mine"))
    assert store.rename_repository("owner/repo", "new/name")
    kept = store.get_issue("new/name", 1)
    assert kept is not None and (kept.title, kept.state) == ("Mine", "open")


def test_a_repository_that_takes_the_name_of_a_deleted_one_inherits_nothing(store: Store, clock: Clock) -> None:
    decided(store)
    store.save_verdict(prediction(2), TAXONOMY)
    store.add_reviews(person(number=9))  # of an issue that is purged
    store.delete_repository("owner/repo")
    clock.now += 1
    store.save_repository("my/own", installation_id=7)
    store.save_issue(issue(repository="my/own", title="Mine", created_at=NOW - 9))
    store.add_reviews(mine := person("stage", repository="my/own"))
    assert store.rename_repository("my/own", "Owner/Repo")
    kept = store.get_issue("owner/repo", 1)
    assert kept is not None and (kept.title, kept.state, kept.status) == ("Mine", "open", "accepted")
    assert store.get_issue("owner/repo", 2) is None and store.latest_verdict("owner/repo", 1) is None
    assert [(review.number, review.axis) for review in store.reviews(undone=True)] == [(1, mine.axis)]
    assert store.acts(FIRST) == []


def test_of_a_repository_that_is_not_deleted_all_is_kept(store: Store) -> None:
    decided(store)
    store.save_repository("my/own", installation_id=7)
    store.save_issue(issue(3, repository="my/own"))
    for values in ({"enabled": True}, {"enabled": False}):  # seen under its new name before; or off it for a while
        store.save_repository("owner/repo", **values)
        store.save_repository("my/own", installation_id=7)
        assert store.rename_repository("my/own", "owner/repo")
        assert len(store.reviews()) == len(store.acts(FIRST)) == 1
        assert store.count_issues(IssueFilter(state=None, status=None)) == 3


def test_github_is_believed_when_it_shows_an_issue_that_was_said_to_be_deleted(store: Store, clock: Clock) -> None:
    store.save_repository("owner/repo", installation_id=7)
    store.save_issue(issue())
    clock.now = LATER
    store.delete_repository("owner/repo")  # heard of late: of the one before
    store.save_issue(issue(updated_at=NOW + 9))
    assert store.issue_states("owner/repo")[1][:2] == ("open", NOW + 9)
    store.save_issue(issue(state="closed", updated_at=NOW))
    assert store.issue_states("owner/repo")[1][0] == "open"


@pytest.mark.parametrize("state", ["deleted", "transferred"])
def test_an_issue_that_is_gone_stays_for_the_time_of_retention(store: Store, clock: Clock, state: Lifecycle) -> None:
    store.save_issue(issue())
    clock.now += 100 * DAY_S
    store.set_state(FIRST, state, NOW)  # GitHub's event has the issue's own last change
    assert store.purge(30 * DAY_S) == 0
    clock.now += 30 * DAY_S + 1
    assert store.purge(30 * DAY_S) == 1 and store.get_issue("owner/repo", 1) is None
