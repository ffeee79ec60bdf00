"""What people decided, and the repositories of it."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from distriage.base.references import IssueReference
from distriage.model.taxonomy import Requirement
from distriage.signs.kinds import Sign
from distriage_serving.store import Act, IssueFilter, Job, Lifecycle, Store, report_digest, triage_job
from distriage_serving.store.review_records import review_records

from support.databases import NOW, Clock
from support.stored_issues import TAXONOMY, issue, person, prediction
from support.verdicts import axis_verdict


def test_the_status_follows_the_latest_review_on_each_axis(store: Store, clock: Clock) -> None:
    store.save_issue(issue())

    def status() -> str:
        found = store.get_issue("owner/repo", 1)
        assert found is not None
        return found.status

    [accepted] = store.add_reviews(person())
    assert status() == "accepted"
    [corrected] = store.add_reviews(person(label="setup-hang", at=NOW + 1))
    assert status() == "corrected"
    assert [verdict.id for verdict in store.undo_reviews(corrected)] == [corrected]
    assert status() == "accepted"
    assert store.undo_reviews(corrected) == []
    dismissed = store.add_reviews(person(label=None, at=NOW + 2), person("kind", None, at=NOW + 2))
    assert status() == "dismissed"
    clock.now += 10
    store.undo_reviews(accepted, *dismissed)
    assert status() == "open"
    assert store.reviews() == []
    assert [(verdict.id, verdict.undone_at) for verdict in store.reviews(undone=True)] == [
        (accepted, NOW + 10), (corrected, NOW), *((id_, NOW + 10) for id_ in dismissed)
    ]  # fmt: skip


def test_an_issue_stays_open_until_every_axis_that_matters_is_reviewed(store: Store) -> None:
    """Taking one wrong label off is a review of that axis, not of the issue."""
    store.save_issue(issue())
    store.save_verdict(prediction(), TAXONOMY, ["stage", "symptom"])

    def status() -> str:
        found = store.get_issue("owner/repo", 1)
        assert found is not None
        return found.status

    store.add_reviews(person("stage", None, how="unlabel"))
    assert status() == "open"
    [symptom] = store.add_reviews(person("symptom", how="label"))
    assert status() == "corrected"
    store.undo_reviews(symptom)
    assert status() == "open"
    store.add_reviews(person("symptom", None, how="unlabel", at=NOW + 1))
    assert status() == "dismissed"
    store.save_verdict(prediction(), TAXONOMY, ["stage", "symptom", "cause"])  # the repository labels one more
    assert status() == "open"
    store.add_reviews(person("kind", "bug", at=NOW + 2))  # who goes through it in the queue has looked at it all
    assert status() == "corrected"


def test_what_two_people_say_at_the_same_moment_counts_in_the_order_of_their_times(store: Store) -> None:
    store.save_issue(issue())
    written = Event()

    def accept() -> None:
        written.wait()
        store.add_reviews(person(who="eve"))

    other = Thread(target=accept)
    other.start()
    with store.transaction():
        store.add_reviews(person(label=None, at=NOW + 1))
        written.set()
        other.join(1)  # it waits for the end of this transaction, or has written by then
    other.join()
    found = store.get_issue("owner/repo", 1)
    assert found is not None and found.status == "dismissed"


def test_an_axis_that_does_not_apply_needs_no_review(store: Store) -> None:
    store.save_issue(issue())
    store.save_verdict(prediction(symptom="apply", fix="not-applicable"), TAXONOMY, ["symptom", "fix"])
    store.add_reviews(person("symptom", how="label"))
    found = store.get_issue("owner/repo", 1)
    assert found is not None and found.status == "accepted"


def test_an_axis_whose_required_axis_is_ruled_out_is_ruled_out_too(store: Store) -> None:
    cause = TAXONOMY.axes["cause"].model_copy(update={"requires": Requirement("symptom", "runtime-hang")})
    chain = TAXONOMY.model_copy(update={"axes": {**TAXONOMY.axes, "cause": cause}})
    store.save_issue(issue())
    store.save_verdict(prediction(), chain)

    def with_cause() -> int:
        return store.count_issues(IssueFilter(status=None, labels={"cause": "rank-desynchronization"}))

    assert with_cause() == 1
    [question] = store.add_reviews(person("kind", "question"))
    assert with_cause() == 0
    store.undo_reviews(question)
    assert with_cause() == 1


def test_a_sign_is_found_and_needs_no_review(store: Store) -> None:
    store.save_issue(issue())
    stored = prediction(symptom="apply")
    signs = [Sign(name="regression", says="It worked.", line=None)]
    stored.verdict = stored.verdict.model_copy(update={"signs": signs})
    store.save_verdict(stored, TAXONOMY, labelled=[])  # so all axes matter
    store.add_reviews(*(person(axis, how="label") for axis in stored.verdict.axes))
    found = store.get_issue("owner/repo", 1)
    assert found is not None and found.status != "open"
    assert [store.count_issues(IssueFilter(status=None, sign=sign)) for sign in ("regression", "unreleased")] == [1, 0]


def test_an_event_seen_twice_is_one_verdict(store: Store) -> None:
    first = store.add_reviews(person(how="unlabel", label=None))
    assert store.add_reviews(person(how="unlabel", label=None)) == first
    assert store.add_reviews(person(how="unlabel", label=None, who="eve")) != first
    assert len(store.reviews()) == 2


def test_verdicts_are_found_by_time_repository_and_issue_and_outlive_the_issue(store: Store, clock: Clock) -> None:
    store.save_issue(issue(state="deleted"))
    store.save_verdict(prediction(), TAXONOMY)
    store.add_reviews(person(), person(number=2, at=NOW + 1), person(repository="other/repo", at=NOW + 2))
    assert [verdict.number for verdict in store.reviews(NOW + 1)] == [2, 1]
    assert [verdict.number for verdict in store.reviews(repositories=["Owner/repo"])] == [1, 2]
    assert [verdict.number for verdict in store.reviews(issue=IssueReference("Owner/repo", 2))] == [2]
    assert store.reviews(repositories=[]) == []
    clock.now += 100
    assert store.purge(50) == 1
    assert store.get_issue("owner/repo", 1) is None
    assert store.axis_counts(0) == []
    assert len(store.reviews()) == 3


def test_repositories_are_noted_listed_and_disabled(store: Store) -> None:
    for name in ("Owner/B", "owner/a"):
        store.save_repository(name, display_name=name, installation_id=7, config={"mode": "precise"}, enabled=True)
    store.save_repository("owner/b", config_error="line 3: unknown key")
    found = store.get_repository("OWNER/b")
    assert found is not None
    assert (found.name, found.display_name, found.config, found.config_error) == (
        "owner/b",
        "Owner/B",
        {"mode": "precise"},
        "line 3: unknown key",
    )
    store.disable_repositories(7, ["Owner/A"])
    assert [repository.name for repository in store.list_repositories(enabled=True)] == ["owner/b"]
    store.disable_repositories(7)
    assert [repository.name for repository in store.list_repositories(enabled=False, installation_id=7)] == [
        "owner/a",
        "owner/b",
    ]
    assert store.list_repositories(installation_id=8) == []


def test_a_renamed_repository_takes_everything_along(store: Store, clock: Clock) -> None:
    """Data under the new name is kept, the rest moves; a second call finds nothing to move."""
    store.save_repository("owner/repo", display_name="Owner/Repo", installation_id=7, config={"mode": "precise"})
    for number in (1, 2):
        store.save_issue(issue(number))
        store.save_verdict(prediction(number), TAXONOMY)
    store.add_reviews(person(), person(number=2, at=NOW + 1))
    store.save_issue(issue(2, repository="new/name", title="Seen under the new name"))
    store.add_reviews(person(number=2, repository="new/name", at=NOW + 1))  # the same event, seen there too
    for name in ("owner/repo", "new/name"):
        store.put_job(triage_job(IssueReference(name, 2), 7))
    store.put_job(triage_job(IssueReference("Owner/Repo", 1), 7), NOW + 60)
    assert store.rename_repository("Owner/Repo", "New/Name")
    found = store.get_repository("new/name")
    assert found is not None and (found.display_name, found.config) == ("New/Name", {"mode": "precise"})
    assert store.get_repository("owner/repo") is None and store.get_issue("owner/repo", 1) is None
    assert [review.repository for review in store.reviews()] == ["new/name"] * 2
    first, second = store.get_issue("new/name", 1), store.get_issue("new/name", 2)
    assert first is not None and second is not None and second.title == "Seen under the new name"
    assert first.status == "accepted" and store.latest_verdict("new/name", 1) is not None
    assert store.latest_verdict("new/name", 2) is not None
    waiting = {(job.key, job.lane, job.repository) for job in store.list_work(Job, "waiting")}
    assert waiting == {(f"triage:new/name#{n}", f"new/name#{n}", "new/name") for n in (1, 2)}
    assert len(store.list_work(Job, "ignored")) == 1
    assert not store.rename_repository("owner/repo", "new/name")
    assert store.rename_repository("new/name", "NEW/name")
    assert store.get_repository("new/name").display_name == "NEW/name"  # type: ignore[union-attr]
    clock.now += 1


def test_after_a_rename_the_reviews_of_both_names_count_and_the_same_one_once(store: Store) -> None:
    store.save_repository("owner/repo", installation_id=7)
    for number in (1, 2):
        for name in ("owner/repo", "new/name"):
            store.save_issue(issue(number, repository=name))
        store.add_reviews(person(number=number), person("stage", None, number=number))  # in one step
    store.add_reviews(person(at=NOW + 9), person(repository="new/name"))
    assert store.rename_repository("owner/repo", "new/name")
    said = sorted((review.number, review.axis, review.at) for review in store.reviews(repositories=["new/name"]))
    first = [(1, "stage", NOW), (1, "symptom", NOW), (1, "symptom", NOW + 9)]
    assert said == [*first, (2, "stage", NOW), (2, "symptom", NOW)]
    second = store.get_issue("new/name", 2)
    assert second is not None and second.status == "corrected"
    assert not store.rename_repository("un/known", "Un/Known")


def test_a_rename_leaves_other_repositories_as_they_are(store: Store) -> None:
    for name in ("owner/repo", "by/stander"):
        store.save_repository(name, installation_id=7)
        store.save_issue(issue(repository=name))
        store.save_verdict(prediction(repository=name), TAXONOMY)
        store.add_reviews(person(repository=name))
        store.add_act(Act(repository=name, number=1, what="snooze", who="ada", at=NOW))
        store.put_job(triage_job(IssueReference(name, 1), 7))
    assert store.rename_repository("owner/repo", "new/name")
    for name in ("new/name", "by/stander"):
        reference = IssueReference(name, 1)
        found = store.get_issue(name, 1)
        assert found is not None and found.status == "accepted" and store.latest_verdict(name, 1) is not None
        assert len(store.reviews(issue=reference)) == len(store.acts(reference)) == 1
    assert [row.name for row in store.list_repositories()] == ["by/stander", "new/name"]
    waiting = {(job.key, job.lane, job.repository) for job in store.list_work(Job, "waiting")}
    assert waiting == {(f"triage:{name}#1", f"{name}#1", name) for name in ("new/name", "by/stander")}


@pytest.mark.parametrize("state", ["closed", "deleted", "transferred"])
def test_a_late_event_does_not_win_unless_it_is_for_good(store: Store, state: Lifecycle) -> None:
    """A deleted or transferred issue stays so; an older closing loses."""
    store.save_issue(issue(updated_at=NOW))
    reference = IssueReference("Owner/Repo", 1)
    assert store.set_state(reference, state, NOW - 100) is (state != "closed")
    assert store.set_state(reference, "open", NOW + 1) is (state == "closed")
    assert not store.set_state(IssueReference("owner/repo", 9), state, NOW)
    store.save_issue(issue(2, updated_at=NOW))
    assert store.set_state(IssueReference("owner/repo", 2), state, NOW)


def test_the_reviews_of_many_issues_are_theirs_alone_each_once(store: Store) -> None:
    for repository in ("a/a", "b/b"):
        store.add_reviews(*(person(number=number, repository=repository) for number in range(1, 301)))
    taken_back = store.add_reviews(person(number=300, repository="b/b", at=NOW - 1))
    store.undo_reviews(*taken_back)
    keys = [("a/a", number) for number in range(1, 301, 2)] + [("b/b", number) for number in range(2, 301, 2)]
    found = store.reviews_of([*keys, ("a/a", 999)])
    assert found.keys() == set(keys) and store.reviews_of([]) == {}
    assert [row.id for row in found["b/b", 300]] == [*taken_back, found["b/b", 300][1].id]
    assert {len(rows) for key, rows in found.items() if key != ("b/b", 300)} == {1}


def test_the_last_decision_is_a_persons_own_in_the_queue_all_of_one_moment(store: Store) -> None:
    store.add_reviews(person(), person("kind", "bug", at=NOW + 1), person("symptom", None, at=NOW + 1))
    store.add_reviews(person(who="eve", at=NOW + 2), person(how="label", at=NOW + 3))
    taken_back = store.add_reviews(person(at=NOW + 4))
    store.undo_reviews(*taken_back)
    found = store.last_decision("ada", NOW)
    assert [(row.axis, row.at) for row in found] == [("kind", NOW + 1), ("symptom", NOW + 1)]
    assert [row.who for row in store.last_decision("eve", NOW, ["Owner/Repo"])] == ["eve"]
    assert store.last_decision("ada", NOW + 2) == [] == store.last_decision("ada", NOW, ["owner/other"])


def test_training_gets_only_labels_of_the_text_that_the_person_saw(store: Store) -> None:
    store.save_issue(issue())
    store.add_reviews(person(how="label", at=NOW))  # set before the model first read it
    verdict_id = store.save_verdict(prediction(), TAXONOMY)
    store.add_reviews(person("stage", "training", verdict_id=verdict_id, at=NOW + 1))
    assert [(record.axis, record.body) for record in review_records(store)[0]] == [
        ("symptom", "It hangs"), ("stage", "It hangs")
    ]  # fmt: skip
    store.save_issue(issue(body="It is a question", updated_at=NOW + 2))
    edited = prediction(made_at=NOW + 2)
    edited.digest = report_digest("A hang", "It is a question")
    verdict_id = store.save_verdict(edited, TAXONOMY)
    assert review_records(store) == ([], 2)
    store.add_reviews(person("kind", "question", verdict_id=verdict_id, at=NOW + 3))
    records, left_out = review_records(store)
    assert ([record.axis for record in records], left_out) == (["kind"], 2)


@pytest.mark.parametrize(
    ("outcome", "label", "status"),
    [
        ("apply", "runtime-hang", "accepted"),  # most edits change no label
        ("apply", "setup-hang", "open"),
        ("suggest", "setup-hang", "open"),
        ("abstain", "setup-hang", "accepted"),
        ("not-applicable", "runtime-hang", "open"),
    ],
)
def test_a_decided_issue_waits_again_if_the_model_says_otherwise_of_an_edited_report(
    store: Store, outcome: str, label: str, status: str
) -> None:
    def read(number: int, body: str, *said: object) -> int:
        stored = prediction(number, "owner/repo", NOW, *said)
        stored.digest = report_digest("A hang", body)
        return store.save_verdict(stored, TAXONOMY)

    def status_of(number: int) -> str:
        found = store.get_issue("owner/repo", number)
        assert found is not None
        return found.status

    for number in (1, 2):
        store.save_issue(issue(number))
        store.add_reviews(person(number=number, verdict_id=read(number, "It hangs")))
    now = axis_verdict("symptom", label, outcome)
    again = read(1, "It hangs no more", now)
    read(2, "It hangs", now)  # by another model
    assert (status_of(1), status_of(2)) == (status, "accepted")
    store.add_reviews(person(number=1, verdict_id=again, at=NOW + 9))
    assert status_of(1) == "accepted"
