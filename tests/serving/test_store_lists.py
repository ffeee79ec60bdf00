"""Lists of issues: filters, orders, pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.orm import defer
from sqlalchemy.orm.exc import DetachedInstanceError

from distriage.base.errors import InputError
from distriage_serving.store import (
    NOBODY_WAITS,
    Issue,
    IssueFilter,
    Sort,
    Store,
    StoredVerdict,
)
from distriage_serving.store.paging import in_order
from distriage_serving.store.verdicts import WEEK_S

from support.databases import NOW
from support.stored_issues import TAXONOMY, issue, person, prediction
from support.verdicts import axis_verdict, make_verdict

DAY_S = 86400.0


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


def test_filters_follow_the_decision_that_stands(store: Store) -> None:
    store.save_issue(issue())
    store.save_verdict(prediction(symptom="suggest"), TAXONOMY)

    def found(**wanted: object) -> bool:
        filtered = IssueFilter(status=None, **wanted)  # type: ignore[arg-type]
        count = store.count_issues(filtered)
        assert count == len(store.list_issues(filtered).items)
        return bool(count)

    def symptoms() -> list[str]:
        return [label for label in ("runtime-hang", "setup-hang", "") if found(labels={"symptom": label})]

    assert symptoms() == ["runtime-hang"] and found(outcome="suggest")
    ids = store.add_reviews(person(label="runtime-hang", at=NOW), person(label="setup-hang", how="label", at=NOW + 1))
    assert symptoms() == ["setup-hang"] and not found(outcome="suggest")
    assert found(labels={"stage": "training-evaluation"})  # nobody decided it
    store.save_verdict(prediction(symptom="suggest"), TAXONOMY)  # the model changes nobody's mind
    assert symptoms() == ["setup-hang"]
    store.undo_reviews(ids[1])
    assert symptoms() == ["runtime-hang"] and not found(outcome="suggest")
    store.undo_reviews(ids[0])
    assert symptoms() == ["runtime-hang"] and found(outcome="suggest")
    store.add_reviews(person(label=None, at=NOW + 2))
    assert "runtime-hang" not in symptoms() and "setup-hang" not in symptoms()
    store.save_repository("owner/repo", display_name="Owner/Repo", installation_id=7)
    store.rename_repository("owner/repo", "owner/new")
    assert "runtime-hang" not in symptoms()
    store.save_issue(issue(3, repository="owner/new"))
    store.save_verdict(prediction(3, "owner/new", cause="not-applicable"), TAXONOMY)
    assert not found(number=3, labels={"cause": "rank-desynchronization"})
    assert found(number=3, labels={"symptom": "runtime-hang"})
    [counted] = [count for count in store.axis_counts(0) if (count.axis, count.outcome) == ("symptom", "suggest")]
    assert (counted.label, counted.outcome) == ("runtime-hang", "suggest")  # charts are of the model


def test_a_kind_that_a_person_chose_leaves_out_the_axes_that_do_not_apply_to_it(store: Store) -> None:
    store.save_issue(issue())
    axes = ("distributed", "stage", "cause", "fix")
    store.save_verdict(prediction(**dict.fromkeys(axes, "abstain")), TAXONOMY)

    def found(**wanted: object) -> int:
        return store.count_issues(IssueFilter(status=None, **wanted))  # type: ignore[arg-type]

    hangs = {"symptom": "runtime-hang"}
    (kind,) = store.add_reviews(person("kind", "question"))
    assert not found(labels=hangs) and found(labels={"kind": "question", "symptom": ""})
    assert not found(outcome="apply") and found(outcome="abstain")  # nobody decided whether it is distributed
    store.add_reviews(person(label="setup-hang", how="label"))  # of another person, or before
    assert found(labels={"symptom": ""})
    store.save_verdict(prediction(), TAXONOMY)
    assert not found(labels=hangs) and found(labels={"distributed": "true", "symptom": ""})
    store.undo_reviews(kind)
    assert found(labels={"symptom": "setup-hang", "stage": "training-evaluation"}) and found(outcome="apply")
    store.add_reviews(person("kind", "bug", at=NOW + 1))
    assert found(labels={"symptom": "setup-hang", "stage": "training-evaluation"})


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


NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)"


@pytest.fixture
def many(store: Store) -> Iterator[Store]:
    """10,000 issues in two repositories, each with a prediction of one axis."""
    key = {"repository": "'o/r' || (n % 2)", "number": "n"}
    seen = {"title": "'t'", "body": "'b'", "author": "'a'", "url": "'u'", "labels": "'[]'", "digest": "'d'"}
    times = {"created_at": f"{NOW} - n % 997", "updated_at": f"{NOW}"}
    stands = {"state": "'open'", "status": "'open'", "priority": "n * 7919 % 1000 / 8.0", "held": "FALSE"}
    people = {"assignee": "''", "comments": "0", "waits_since": f"{NOBODY_WAITS}"}
    said = {
        "model": "'toy'",
        "taxonomy_version": "'1'",
        "digest": "'d'",
        "verdict": "CAST(:verdict AS TEXT)",
        "plan": "'null'",
    }
    axis = {
        "axis": "'stage'",
        "label": "'inference'",
        "probability": "0.5",
        "outcome": "'apply'",
        "labelled": "TRUE",
        "standing": "'inference'",
        "decided": "FALSE",
        "requires_axis": "''",
        "requires_label": "''",
    }
    rows: dict[str, dict[str, str]] = {
        "issues": {**key, **seen, **times, **stands, **people, "verdict_id": "n"},
        "verdicts": {"id": "n", **key, **said, "made_at": f"{NOW}", "week_at": "0"},
        "verdict_axes": {"verdict_id": "n", **axis},
    }
    axisless = make_verdict().model_copy(update={"axes": {}})  # each of 10,000 is read
    verdict = {"verdict": json.dumps(axisless.model_dump())}
    with store._session(writes=True) as session:
        for table, columns in rows.items():
            made = f"{NUMBERS} SELECT {', '.join(columns.values())} FROM numbers"
            session.execute(text(f"INSERT INTO {table} ({', '.join(columns)}) {made}"), verdict)
        session.execute(text("ANALYZE"))
    yield store


def test_paging_over_ten_thousand_issues_reads_an_index_and_misses_none(many: Store) -> None:
    seen: list[tuple[float, str, int]] = []
    after, middle = None, None
    while True:
        page = many.list_issues(after=after, limit=2500)
        seen += [(item.priority, item.repository, item.number) for item, _ in page.items]
        after = page.next
        if after is None:
            break
        middle = after if len(seen) == 5000 else middle
    assert len(seen) == len(set(seen)) == 10_000
    assert [key[0] for key in seen] == sorted((key[0] for key in seen), reverse=True)
    assert middle is not None
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


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)  # PostgreSQL chooses by the share of such issues
def test_filters_by_outcome_and_by_answers_read_an_index_of_their_own(many: Store) -> None:
    plan = explain(many, IssueFilter(outcome="suggest"), "priority", None)
    assert "verdict_axes_outcome (outcome=? AND decided=? AND verdict_id=?)" in plan, plan
    plan = explain(many, IssueFilter(status=None, needs_answer=True), "waiting", None)
    assert "issues_answered (state=? AND waits_since<?)" in plan and "TEMP B-TREE" not in plan, plan


def explain(store: Store, wanted: IssueFilter, sort: Sort, after: str | None) -> str:
    """The plan of the statement that `list_issues` runs, as the database gives it."""
    statements: list[tuple[str, object]] = []

    def note(_c: object, _d: object, statement: str, parameters: object, *_: object) -> None:
        statements.append((statement, parameters))

    event.listen(store._read_engine, "before_cursor_execute", note)
    try:
        store.list_issues(wanted, sort, after, 50)
        event.remove(store._read_engine, "before_cursor_execute", note)
        [(statement, parameters)] = [given for given in statements if given[0].startswith("SELECT")]
        prefix = "EXPLAIN QUERY PLAN" if store._engine.dialect.name == "sqlite" else "EXPLAIN"
        with store._session(writes=False) as session:
            return "\n".join(
                str(row) for row in session.connection().exec_driver_sql(f"{prefix} {statement}", parameters)
            )
    finally:
        if event.contains(store._read_engine, "before_cursor_execute", note):
            event.remove(store._read_engine, "before_cursor_execute", note)


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
        ["priority", 1.0, "o/r\0", 1],
        ["priority", 1.0, "\ud800", 1],
        [[[]]],
    ],
    ids=ascii,
)
def test_a_cursor_that_no_page_gave_is_refused(place: object) -> None:
    token = place if isinstance(place, str) else base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
    with pytest.raises(InputError, match="expected the `next` of a page sorted by 'priority'"):
        in_order(select(Issue, StoredVerdict).options(defer(Issue.body)), "priority", token)


def test_words_are_found_in_any_case_of_ascii_letters_and_taken_literally(store: Store) -> None:
    store.save_issue(issue(1, title="NCCL hängt 100%", body="LÄUFT nicht\0 a_b"))
    found = {
        word: store.count_issues(IssueFilter(words=[word]))
        for word in ("nccl", "HÄNGT", "HäNGT", "läuft", "lÄuft", "0%", "0_", "A_B", "aXb", "nicht\0", "\ud800", "/")
    }
    assert [word for word, count in found.items() if count] == [
        "nccl",
        "HäNGT",
        "lÄuft",
        "0%",
        "A_B",
        "nicht\0",
        "\ud800",
    ]
