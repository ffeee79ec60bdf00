"""Issues, predictions, verdicts and repositories in the store, on SQLite and on PostgreSQL."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from databases import NOW, Clock

pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'distriage[serve]'")

from distriage_serving.store import Issue, IssueFilter, PersonVerdict, Prediction, Repository, Sort, Store, report_digest
from distriage_serving.store.issues import WEEK_S
from distriage_serving.store.needs import DOUBLING_S, needs
from distriage_serving.store.paging import in_order
from distriage_serving.store.schema import PredictionAxis
from sqlalchemy import event, select, text
from sqlalchemy.orm import defer
from sqlalchemy.orm.exc import DetachedInstanceError
from verdicts import axis_verdict, make_verdict

from distriage.errors import InputError

DAY_S = 86400.0
HOSTILE = "NUL \0, half a pair \ud800, <script>alert(1)</script>, \x1b[31m, \u202e'; DROP TABLE issues; --"
STORED = HOSTILE.replace("\0", "\ufffd").replace("\ud800", "\ufffd")


def issue(number: int = 1, **changes: object) -> Issue:
    values = {"repository": "Owner/Repo", "number": number, "title": "A hang", "body": "It hangs", "author": "octocat", "url": f"https://x/{number}"}
    return Issue(**{**values, "created_at": NOW, "updated_at": NOW, **changes})


def prediction(number: int = 1, repository: str = "owner/repo", made_at: float = NOW, *axes: object, **outcomes: str) -> Prediction:
    verdict = make_verdict(*axes, **outcomes)
    return Prediction(
        repository=repository, number=number, model="toy", taxonomy_version="1", digest=report_digest("A hang", "It hangs"), verdict=verdict, made_at=made_at
    )


def person(axis: str = "symptom", label: str | None = "runtime-hang", **changes: object) -> PersonVerdict:
    values = {"repository": "Owner/Repo", "number": 1, "axis": axis, "label": label, "predicted_label": "runtime-hang", "who": "ada", "how": "queue", "at": NOW}
    return PersonVerdict(**{**values, **changes})


# ---------------------------------------------------------------- issues and predictions


def test_an_issue_comes_back_as_it_was_saved_and_an_older_view_of_it_changes_nothing(store: Store) -> None:
    store.save_issue(issue(labels=["bug", HOSTILE], is_bot=True))
    saved = store.get_issue("OWNER/repo", 1)
    assert saved is not None
    assert (saved.repository, saved.title, saved.body, saved.labels, saved.is_bot, saved.status) == (
        "owner/repo", "A hang", "It hangs", ["bug", HOSTILE], True, "open"
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
    found = store.get_prediction(store.save_prediction(said))
    assert found is not None
    assert (found.verdict.environment, found.plan) == ({"os": HOSTILE}, said.plan)
    store.add_verdict(person(note=HOSTILE, who=HOSTILE))
    assert [(verdict.note, verdict.who) for verdict in store.verdicts()] == [(STORED, STORED)]
    assert store.count_issues(IssueFilter(repositories=[HOSTILE], labels={HOSTILE: HOSTILE})) == 0


def test_the_latest_prediction_belongs_to_the_issue_and_an_edit_keeps_it(store: Store, clock: Clock) -> None:
    store.save_issue(issue())
    first = store.save_prediction(prediction())
    second = store.save_prediction(prediction())
    store.save_issue(issue(title="Edited", updated_at=NOW + 1))
    latest = store.latest_prediction("Owner/Repo", 1)
    assert latest is not None
    assert first < latest.id == second
    assert latest.verdict == make_verdict()
    clock.now += 5
    store.mark_carried_out(second)
    carried_out = store.get_prediction(second)
    assert carried_out is not None
    assert (carried_out.carried_out_at, carried_out.week_at) == (NOW + 5, 1_699_833_600)  # Monday, 13 November 2023
    assert store.latest_prediction("owner/repo", 2) is None


def test_a_prediction_needs_its_issue(store: Store) -> None:
    with pytest.raises(LookupError, match=r"owner/repo#1: save the issue before"):
        store.save_prediction(prediction())


def test_need_is_impact_times_uncertainty_and_doubles_every_sixty_days() -> None:
    plain = make_verdict()
    assert needs(plain, NOW) == pytest.approx(needs(plain, NOW + DOUBLING_S) + 1)
    sure, unsure = axis_verdict("cause"), axis_verdict("cause").model_copy(update={"probability": 0.1})
    assert needs(make_verdict(unsure), NOW) > needs(make_verdict(sure), NOW)
    assert needs(make_verdict(axis_verdict("symptom", "incorrect-output")), NOW) > needs(make_verdict(axis_verdict("symptom", "import-failure")), NOW)
    assert needs(make_verdict(axis_verdict("kind", "question")), NOW) == pytest.approx(needs(plain, NOW) - 1)
    assert needs(None, NOW) > needs(make_verdict(axis_verdict("kind", "other")), NOW)


# ---------------------------------------------------------------- lists


def test_filters_and_orders(store: Store) -> None:
    store.save_issue(issue(1, created_at=NOW - 200 * DAY_S))
    store.save_issue(issue(2))
    store.save_issue(issue(3, state="closed"))
    store.save_issue(issue(4, repository="other/repo", created_at=NOW - DAY_S))
    store.save_prediction(prediction(1))
    store.save_prediction(prediction(2, "owner/repo", NOW, axis_verdict("stage", "inference"), symptom="suggest"))

    def numbers(filter: IssueFilter, sort: Sort = "needs") -> list[int]:  # noqa: A002
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
    store.add_verdict(person(number=2))
    assert numbers(IssueFilter()) == [1, 4]
    assert numbers(IssueFilter(status="accepted")) == [2]
    [(first, said), *_] = store.list_issues().items
    assert said is not None and said.verdict == make_verdict()
    with pytest.raises(DetachedInstanceError):
        _ = first.body


def test_counts_by_week_take_the_latest_prediction_only(store: Store) -> None:
    for number in (1, 2):
        store.save_issue(issue(number))
    store.save_prediction(prediction(1, "owner/repo", NOW - WEEK_S))
    store.save_prediction(prediction(1, stage="suggest"))
    store.save_prediction(prediction(2))
    stage = [count for count in store.axis_counts(NOW - 2 * WEEK_S) if count.axis == "stage"]
    assert [(count.label, count.outcome, count.count) for count in stage] == [("training-evaluation", "apply", 1), ("training-evaluation", "suggest", 1)]
    assert store.axis_counts(NOW + 1) == store.axis_counts(0, []) == []


@pytest.fixture
def many(store: Store) -> Iterator[Store]:
    """10,000 issues in two repositories, each with a prediction of one axis."""
    sure = make_verdict()
    with store._session(writes=True) as session:
        seen = {"title": "t", "body": "b", "author": "a", "url": "u", "state": "open", "is_bot": False, "labels": [], "updated_at": NOW, "digest": "d"}
        issues = [
            {"repository": f"o/r{n % 2}", "number": n, "created_at": NOW - n % 997, "needs": n * 7919 % 1000 / 8, "status": "open", "prediction_id": n, **seen}
            for n in range(1, 10_001)
        ]
        session.execute(Issue.__table__.insert(), issues)
        said = {"model": "toy", "taxonomy_version": "1", "digest": "d", "verdict": sure, "plan": None, "made_at": NOW, "week_at": 0}
        session.execute(Prediction.__table__.insert(), [{"id": n, "repository": f"o/r{n % 2}", "number": n, **said} for n in range(1, 10_001)])
        axes = [{"prediction_id": n, "axis": "stage", "label": "inference", "probability": 0.5, "outcome": "apply"} for n in range(1, 10_001)]
        session.execute(PredictionAxis.__table__.insert(), axes)
        session.execute(text("ANALYZE"))
    yield store


def test_paging_over_ten_thousand_issues_reads_an_index_and_misses_none(many: Store) -> None:
    seen: list[tuple[float, str, int]] = []
    after = None
    while True:
        page = many.list_issues(after=after, limit=2500)
        seen += [(item.needs, item.repository, item.number) for item, _ in page.items]
        after = page.next
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 10_000
    assert [key[0] for key in seen] == sorted((key[0] for key in seen), reverse=True)
    middle = many.list_issues(limit=5000).next
    for sort, wanted, place in (
        ("needs", IssueFilter(), None),
        ("needs", IssueFilter(), middle),
        ("newest", IssueFilter(), None),
        ("oldest", IssueFilter(), None),
        ("needs", IssueFilter(repositories=["o/r1"]), None),
    ):
        plan = explain(many, wanted, sort, place)
        index = "issues_created" if sort != "needs" else "issues_of_repository" if wanted.repositories else "issues_needs"
        assert index in plan, plan
        assert "TEMP B-TREE" not in plan and "Sort" not in plan and "Seq Scan on issues" not in plan, plan


def explain(store: Store, wanted: IssueFilter, sort: Sort, after: str | None) -> str:
    """The plan of the statement that `list_issues` runs, as the database gives it."""
    statements: list[tuple[str, object]] = []

    def note(_c: object, _d: object, statement: str, parameters: object, *_: object) -> None:
        statements.append((statement, parameters))

    event.listen(store._engine, "before_cursor_execute", note)
    try:
        store.list_issues(wanted, sort, after, 50)
        event.remove(store._engine, "before_cursor_execute", note)
        [(statement, parameters)] = [given for given in statements if given[0].startswith("SELECT")]
        prefix = "EXPLAIN QUERY PLAN" if store._engine.dialect.name == "sqlite" else "EXPLAIN"
        with store._session(writes=False) as session:
            return "\n".join(str(row) for row in session.connection().exec_driver_sql(f"{prefix} {statement}", parameters))
    finally:
        if event.contains(store._engine, "before_cursor_execute", note):
            event.remove(store._engine, "before_cursor_execute", note)


@pytest.mark.parametrize(
    "place",
    [
        "not base64 é",
        "AAAA",
        "e30",
        ["oldest", 1.0, "o/r", 1],
        ["needs", 1.0, "o/r"],
        ["needs", "1", "o/r", 1],
        ["needs", float("nan"), "o/r", 1],
        ["needs", 1.0, "o/r", 2**63],
        [[[]]],
    ],
    ids=str,
)
def test_a_cursor_that_no_page_gave_is_refused(place: object) -> None:
    token = place if isinstance(place, str) else base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
    with pytest.raises(InputError, match="expected the `next` of a page sorted by 'needs'"):
        in_order(select(Issue, Prediction).options(defer(Issue.body)), "needs", token)


# ---------------------------------------------------------------- verdicts


def test_the_status_follows_the_latest_standing_verdict_on_each_axis(store: Store, clock: Clock) -> None:
    store.save_issue(issue())

    def status() -> str:
        found = store.get_issue("owner/repo", 1)
        assert found is not None
        return found.status

    [accepted] = store.add_verdict(person())
    assert status() == "accepted"
    [corrected] = store.add_verdict(person(label="setup-hang", at=NOW + 1))
    assert status() == "corrected"
    assert [verdict.id for verdict in store.undo_verdict(corrected)] == [corrected]
    assert status() == "accepted"
    assert store.undo_verdict(corrected) == []
    dismissed = store.add_verdict(person(label=None, at=NOW + 2), person("kind", None, at=NOW + 2))
    assert status() == "dismissed"
    clock.now += 10
    store.undo_verdict(accepted, *dismissed)
    assert status() == "open"
    assert store.verdicts() == []
    assert [(verdict.id, verdict.undone_at) for verdict in store.verdicts(undone=True)] == [
        (accepted, NOW + 10), (corrected, NOW), *((id_, NOW + 10) for id_ in dismissed)
    ]  # fmt: skip


def test_an_event_seen_twice_is_one_verdict(store: Store) -> None:
    first = store.add_verdict(person(how="unlabel", label=None))
    assert store.add_verdict(person(how="unlabel", label=None)) == first
    assert store.add_verdict(person(how="unlabel", label=None, who="eve")) != first
    assert len(store.verdicts()) == 2


def test_verdicts_are_found_by_time_repository_and_issue_and_outlive_the_issue(store: Store, clock: Clock) -> None:
    store.save_issue(issue(state="deleted"))
    store.save_prediction(prediction())
    store.add_verdict(person(), person(number=2, at=NOW + 1), person(repository="other/repo", at=NOW + 2))
    assert [verdict.number for verdict in store.verdicts(NOW + 1)] == [2, 1]
    assert [verdict.number for verdict in store.verdicts(repositories=["Owner/repo"])] == [1, 2]
    assert [verdict.number for verdict in store.verdicts(issue=("Owner/repo", 2))] == [2]
    assert store.verdicts(repositories=[]) == []
    clock.now += 100
    assert store.purge(50) == 1
    assert store.get_issue("owner/repo", 1) is None
    assert store.axis_counts(0) == []
    assert len(store.verdicts()) == 3


# ---------------------------------------------------------------- repositories


def test_repositories_are_replaced_listed_and_disabled(store: Store) -> None:
    for name in ("Owner/B", "owner/a"):
        store.save_repository(Repository(name=name, display_name=name, seen_at=NOW, installation_id=7, config={"mode": "precise"}))
    store.save_repository(Repository(name="owner/b", display_name="Owner/B", seen_at=NOW + 1, installation_id=7, config_error="line 3: unknown key"))
    found = store.get_repository("OWNER/b")
    assert found is not None
    assert (found.name, found.display_name, found.seen_at, found.config, found.config_error) == ("owner/b", "Owner/B", NOW + 1, None, "line 3: unknown key")
    store.disable_repositories(7, ["Owner/A"])
    assert [repository.name for repository in store.list_repositories(enabled=True)] == ["owner/b"]
    store.disable_repositories(7)
    assert [repository.name for repository in store.list_repositories(enabled=False, installation_id=7)] == ["owner/a", "owner/b"]
    assert store.list_repositories(installation_id=8) == []
