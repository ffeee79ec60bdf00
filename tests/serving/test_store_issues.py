"""Issues, predictions, verdicts and repositories in the store, on SQLite and on PostgreSQL."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.orm import defer
from sqlalchemy.orm.exc import DetachedInstanceError

from distriage.errors import InputError
from distriage.references import IssueReference
from distriage.taxonomy import default_taxonomy
from distriage.types import Outcome
from distriage.verdict import FirstReading
from distriage_serving.store import (
    Issue,
    IssueFilter,
    Job,
    Lifecycle,
    Review,
    Sort,
    Store,
    StoredVerdict,
    report_digest,
    triage_job,
)
from distriage_serving.store.issues import WEEK_S
from distriage_serving.store.paging import in_order
from distriage_serving.store.priority import DOUBLING_S, priority, unread_priority
from distriage_serving.store.schema import VerdictAxis

from support.databases import NOW, Clock
from support.verdicts import axis_verdict, make_verdict

TAXONOMY = default_taxonomy()

DAY_S = 86400.0
HOSTILE = "NUL \0, half a pair \ud800, <script>alert(1)</script>, \x1b[31m, \u202e'; DROP TABLE issues; --"
STORED = HOSTILE.replace("\0", "\ufffd").replace("\ud800", "\ufffd")


def issue(number: int = 1, **changes: object) -> Issue:
    values = {
        "repository": "Owner/Repo",
        "number": number,
        "title": "A hang",
        "body": "It hangs",
        "author": "octocat",
        "url": f"https://x/{number}",
    }
    return Issue(**{**values, "created_at": NOW, "updated_at": NOW, **changes})


def prediction(
    number: int = 1, repository: str = "owner/repo", made_at: float = NOW, *axes: object, **outcomes: str
) -> StoredVerdict:
    verdict = make_verdict(*axes, **outcomes)
    return StoredVerdict(
        repository=repository,
        number=number,
        model="toy",
        taxonomy_version="1",
        digest=report_digest("A hang", "It hangs"),
        verdict=verdict,
        made_at=made_at,
    )


def person(axis: str = "symptom", label: str | None = "runtime-hang", **changes: object) -> Review:
    values = {
        "repository": "Owner/Repo",
        "number": 1,
        "axis": axis,
        "label": label,
        "predicted_label": "runtime-hang",
        "who": "ada",
        "how": "queue",
        "at": NOW,
    }
    return Review(**{**values, **changes})


# ---------------------------------------------------------------- issues and predictions


def test_an_issue_comes_back_as_it_was_saved_and_an_older_view_of_it_changes_nothing(store: Store) -> None:
    store.save_issue(issue(labels=["bug", HOSTILE]))
    saved = store.get_issue("OWNER/repo", 1)
    assert saved is not None
    assert (saved.repository, saved.title, saved.body, saved.labels, saved.status) == (
        "owner/repo", "A hang", "It hangs", ["bug", HOSTILE], "open"
    )  # fmt: skip
    assert saved.digest == report_digest("A hang", "It hangs")
    store.save_issue(issue(title="Edited", updated_at=NOW + 1, state="closed"))
    store.save_issue(issue(title="Seen late", updated_at=NOW))
    edited = store.get_issue("owner/repo", 1)
    assert edited is not None
    assert (edited.title, edited.state, edited.digest) == ("Edited", "closed", report_digest("Edited", "It hangs"))
    assert store.get_issue("owner/repo", 2) is None


def test_hostile_text_is_stored_and_what_no_database_holds_becomes_a_replacement_character(store: Store) -> None:
    store.save_issue(issue(title=HOSTILE, body=HOSTILE * 1000, author=HOSTILE))
    saved = store.get_issue("owner/repo", 1)
    assert saved is not None
    assert (saved.title, saved.body, saved.author) == (STORED, STORED * 1000, STORED)
    said = prediction()
    said.verdict = said.verdict.model_copy(update={"environment": {"os": HOSTILE}})
    said.plan = {"labels": [HOSTILE], "left_out": [], "dry_run": False}
    store.save_verdict(said, TAXONOMY)
    found = store.latest_verdict("owner/repo", 1)
    assert found is not None
    assert (found.verdict.environment, found.plan) == ({"os": HOSTILE}, said.plan)
    store.add_reviews(person(who=HOSTILE))
    assert [review.who for review in store.reviews()] == [STORED]
    assert store.count_issues(IssueFilter(repositories=[HOSTILE], labels={HOSTILE: HOSTILE})) == 0


def test_the_latest_prediction_belongs_to_the_issue_and_an_edit_keeps_it(store: Store, clock: Clock) -> None:
    store.save_issue(issue())
    first = store.save_verdict(prediction(), TAXONOMY)
    second = store.save_verdict(prediction(), TAXONOMY)
    store.save_issue(issue(title="Edited", updated_at=NOW + 1))
    latest = store.latest_verdict("Owner/Repo", 1)
    assert latest is not None
    assert first < latest.id == second
    assert latest.verdict == make_verdict()
    clock.now += 5
    store.mark_carried_out(second)
    carried_out = store.latest_verdict("owner/repo", 1)
    assert carried_out is not None
    assert (carried_out.carried_out_at, carried_out.week_at) == (NOW + 5, 1_699_833_600)  # Monday, 13 November 2023
    assert store.latest_verdict("owner/repo", 2) is None


def test_a_prediction_needs_its_issue(store: Store) -> None:
    with pytest.raises(LookupError, match=r"owner/repo#1: save the issue before"):
        store.save_verdict(prediction(), TAXONOMY)


def test_need_is_impact_times_uncertainty_and_doubles_every_sixty_days() -> None:
    plain = make_verdict()
    assert priority(plain, NOW, TAXONOMY) == pytest.approx(priority(plain, NOW + DOUBLING_S, TAXONOMY) + 1)
    sure, unsure = axis_verdict("cause"), axis_verdict("cause").model_copy(update={"probability": 0.1})
    assert priority(make_verdict(unsure), NOW, TAXONOMY) > priority(make_verdict(sure), NOW, TAXONOMY)
    assert priority(make_verdict(axis_verdict("symptom", "incorrect-output")), NOW, TAXONOMY) > priority(
        make_verdict(axis_verdict("symptom", "import-failure")), NOW, TAXONOMY
    )
    assert priority(make_verdict(axis_verdict("kind", "question")), NOW, TAXONOMY) == pytest.approx(
        priority(plain, NOW, TAXONOMY) - 1
    )
    first = FirstReading(outcome=Outcome.SUGGEST, label="crash", probability=0.4)
    differs = axis_verdict("symptom").model_copy(update={"first_reading": first})
    least = make_verdict(differs, axis_verdict("kind", "question"))
    assert priority(least, NOW + 100 * DOUBLING_S, TAXONOMY) > priority(make_verdict(unsure), NOW, TAXONOMY)
    assert unread_priority(NOW) > priority(make_verdict(axis_verdict("kind", "other")), NOW, TAXONOMY)


# ---------------------------------------------------------------- lists


def test_filters_and_orders(store: Store) -> None:
    store.save_issue(issue(1, created_at=NOW - 200 * DAY_S))
    store.save_issue(issue(2))
    store.save_issue(issue(3, state="closed"))
    store.save_issue(issue(4, repository="other/repo", created_at=NOW - DAY_S))
    store.save_verdict(prediction(1), TAXONOMY)
    store.save_verdict(
        prediction(2, "owner/repo", NOW, axis_verdict("stage", "inference"), symptom="suggest"), TAXONOMY
    )

    def numbers(filter: IssueFilter, sort: Sort = "priority") -> list[int]:  # noqa: A002
        found = [item.number for item, _ in store.list_issues(filter, sort).items]
        assert store.count_issues(filter) == len(found)
        return found

    assert numbers(IssueFilter()) == [1, 4, 2]
    assert numbers(IssueFilter(), "newest") == [2, 4, 1]
    assert numbers(IssueFilter(), "oldest") == [1, 4, 2]
    assert numbers(IssueFilter(repositories=["Owner/REPO"])) == [1, 2]
    assert numbers(IssueFilter(repositories=["owner/repo", "other/repo"])) == [1, 4, 2]
    assert numbers(IssueFilter(repositories=[])) == []
    assert numbers(IssueFilter(state=None)) == [1, 4, 3, 2]
    assert numbers(IssueFilter(labels={"stage": "inference"})) == [2]
    assert numbers(IssueFilter(labels={"stage": "inference", "kind": "question"})) == []
    assert numbers(IssueFilter(outcome="suggest")) == [2]
    assert numbers(IssueFilter(number=4)) == [4] and numbers(IssueFilter(number=3)) == []
    store.add_reviews(person(number=2))
    assert numbers(IssueFilter()) == [1, 4]
    assert numbers(IssueFilter(status="accepted")) == [2]
    [(first, said), *_] = store.list_issues().items
    assert said is not None and said.verdict == make_verdict()
    with pytest.raises(DetachedInstanceError):
        _ = first.body


def test_counts_by_week_take_the_latest_prediction_only(store: Store) -> None:
    for number in (1, 2):
        store.save_issue(issue(number))
    store.save_verdict(prediction(1, "owner/repo", NOW - WEEK_S), TAXONOMY)
    store.save_verdict(prediction(1, stage="suggest"), TAXONOMY)
    store.save_verdict(prediction(2), TAXONOMY)
    stage = [count for count in store.axis_counts(NOW - 2 * WEEK_S) if count.axis == "stage"]
    assert [(count.label, count.outcome, count.count) for count in stage] == [
        ("training-evaluation", "apply", 1),
        ("training-evaluation", "suggest", 1),
    ]
    assert store.axis_counts(NOW + 1) == store.axis_counts(0, []) == []


@pytest.fixture
def many(store: Store) -> Iterator[Store]:
    """10,000 issues in two repositories, each with a prediction of one axis."""
    sure = make_verdict()
    with store._session(writes=True) as session:
        seen = {
            "title": "t",
            "body": "b",
            "author": "a",
            "url": "u",
            "state": "open",
            "labels": [],
            "updated_at": NOW,
            "digest": "d",
        }
        issues = [
            {
                "repository": f"o/r{n % 2}",
                "number": n,
                "created_at": NOW - n % 997,
                "priority": n * 7919 % 1000 / 8,
                "status": "open",
                "verdict_id": n,
                **seen,
            }
            for n in range(1, 10_001)
        ]
        session.execute(Issue.__table__.insert(), issues)
        said = {
            "model": "toy",
            "taxonomy_version": "1",
            "digest": "d",
            "verdict": sure,
            "plan": None,
            "made_at": NOW,
            "week_at": 0,
        }
        session.execute(
            StoredVerdict.__table__.insert(),
            [{"id": n, "repository": f"o/r{n % 2}", "number": n, **said} for n in range(1, 10_001)],
        )
        axes = [
            {"verdict_id": n, "axis": "stage", "label": "inference", "probability": 0.5, "outcome": "apply"}
            for n in range(1, 10_001)
        ]
        session.execute(VerdictAxis.__table__.insert(), axes)
        session.execute(text("ANALYZE"))
    yield store


def test_paging_over_ten_thousand_issues_reads_an_index_and_misses_none(many: Store) -> None:
    seen: list[tuple[float, str, int]] = []
    after = None
    while True:
        page = many.list_issues(after=after, limit=2500)
        seen += [(item.priority, item.repository, item.number) for item, _ in page.items]
        after = page.next
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 10_000
    assert [key[0] for key in seen] == sorted((key[0] for key in seen), reverse=True)
    middle = many.list_issues(limit=5000).next
    for sort, wanted, place in (
        ("priority", IssueFilter(), None),
        ("priority", IssueFilter(), middle),
        ("newest", IssueFilter(), None),
        ("oldest", IssueFilter(), None),
        ("priority", IssueFilter(repositories=["o/r1"]), None),
    ):
        plan = explain(many, wanted, sort, place)
        indexes = ["issues_created"] if sort != "priority" else ["issues_priority"]
        indexes += ["issues_of_repository"] if wanted.repositories else []
        assert any(index in plan for index in indexes), plan
        assert "TEMP B-TREE" not in plan and "Sort" not in plan and "Seq Scan on issues" not in plan, plan


def explain(store: Store, wanted: IssueFilter, sort: Sort, after: str | None) -> str:
    """The plan of the statement that `list_issues` runs, as the database gives it."""
    statements: list[tuple[str, object]] = []

    def note(_c: object, _d: object, statement: str, parameters: object, *_: object) -> None:
        statements.append((statement, parameters))

    event.listen(store._reading, "before_cursor_execute", note)
    try:
        store.list_issues(wanted, sort, after, 50)
        event.remove(store._reading, "before_cursor_execute", note)
        [(statement, parameters)] = [given for given in statements if given[0].startswith("SELECT")]
        prefix = "EXPLAIN QUERY PLAN" if store._engine.dialect.name == "sqlite" else "EXPLAIN"
        with store._session(writes=False) as session:
            return "\n".join(
                str(row) for row in session.connection().exec_driver_sql(f"{prefix} {statement}", parameters)
            )
    finally:
        if event.contains(store._reading, "before_cursor_execute", note):
            event.remove(store._reading, "before_cursor_execute", note)


@pytest.mark.parametrize(
    "place",
    [
        "not base64 é",
        "AAAA",
        "e30",
        ["oldest", 1.0, "o/r", 1],
        ["priority", 1.0, "o/r"],
        ["priority", "1", "o/r", 1],
        ["priority", float("nan"), "o/r", 1],
        ["priority", 1.0, "o/r", 2**63],
        [[[]]],
    ],
    ids=str,
)
def test_a_cursor_that_no_page_gave_is_refused(place: object) -> None:
    token = place if isinstance(place, str) else base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
    with pytest.raises(InputError, match="expected the `next` of a page sorted by 'priority'"):
        in_order(select(Issue, StoredVerdict).options(defer(Issue.body)), "priority", token)


# ---------------------------------------------------------------- verdicts


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
    """H4: taking one wrong label off is a review of that axis, not of the issue."""
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


# ---------------------------------------------------------------- repositories


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
    """M9. What is known under the new name is kept, the rest moves; a second time there is nothing left to move."""
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


@pytest.mark.parametrize("state", ["closed", "deleted", "transferred"])
def test_a_late_event_does_not_win_unless_it_is_for_good(store: Store, state: Lifecycle) -> None:
    """M3."""
    store.save_issue(issue(updated_at=NOW))
    reference = IssueReference("Owner/Repo", 1)
    assert store.set_state(reference, state, NOW - 100) is (state != "closed")
    assert store.set_state(reference, "open", NOW + 1) is (state == "closed")
    assert not store.set_state(IssueReference("owner/repo", 9), state, NOW)
    store.save_issue(issue(2, updated_at=NOW))
    assert store.set_state(IssueReference("owner/repo", 2), state, NOW)
