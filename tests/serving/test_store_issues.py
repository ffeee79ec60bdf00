"""Issues and predictions as the store keeps them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from distriage.answer.verdict import FirstReading
from distriage.base.references import IssueReference
from distriage.base.types import Outcome
from distriage_serving.bot.asking.questions import hear
from distriage_serving.bot.asking.thread import news_of
from distriage_serving.store import (
    Act,
    Backfilled,
    IssueFilter,
    Store,
    report_digest,
)
from distriage_serving.store.priority import DOUBLING_S, priority, unread_priority
from distriage_serving.store.schema import values_of

from support.databases import NOW, Clock
from support.stored_issues import TAXONOMY, issue, person, prediction
from support.verdicts import axis_verdict, make_verdict

HOSTILE = "NUL \0, half a pair \ud800, <script>alert(1)</script>, \x1b[31m, \u202e'; DROP TABLE issues; --"
STORED = HOSTILE.replace("\0", "\ufffd").replace("\ud800", "\ufffd")


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


def test_a_look_is_kept_beside_what_events_told_since_it_read(store: Store) -> None:
    one, filed = IssueReference("owner/repo", 1), {"labels": ["bug"], "comments": 1, "assignee": "ada"}
    store.save_issue(issue())
    store.note_thread(one, 2, NOW + 11, NOW + 11, assignee="")
    store.save_issue(issue(body="Rewritten", updated_at=NOW + 10, **filed))
    seen = store.get_issue("owner/repo", 1)
    assert seen is not None and (seen.body, seen.labels, seen.digest) == (
        "Rewritten",
        ["bug"],
        report_digest("A hang", "Rewritten"),
    )
    assert (seen.comments, seen.assignee, seen.updated_at) == (2, "", NOW + 11)
    store.set_state(one, "closed", NOW + 20)
    store.save_issue(issue(body="Again", updated_at=NOW + 19))
    store.save_issue(issue(body="Seen late", updated_at=NOW + 18))
    seen = store.get_issue("owner/repo", 1)
    assert seen is not None and (seen.body, seen.state) == ("Again", "closed")
    store.save_issue(issue(updated_at=NOW + 21, comments=3))
    seen = store.get_issue("owner/repo", 1)
    assert seen is not None and (seen.body, seen.state, seen.comments) == ("It hangs", "open", 3)


def assigned(store: Store, *logins: str, after_s: float) -> str:
    """Who takes the issue, once an event has told who does on GitHub."""
    payload = {
        "action": "assigned",
        "issue": {"number": 1, "assignees": [{"login": login} for login in logins], "user": {"login": "x"}},
        "repository": {"full_name": "Owner/Repo"},
        "sender": {"login": "a-bot", "type": "Bot"},
    }
    payload["issue"]["updated_at"] = datetime.fromtimestamp(NOW + after_s, UTC).isoformat()  # type: ignore[index]
    news = news_of("issues", payload)
    assert news is not None
    hear(store, news, 7, 0.0)
    return taken_by(store)


def taken_by(store: Store) -> str:
    found = store.get_issue("owner/repo", 1)
    assert found is not None
    return found.assignee


def test_who_takes_an_issue_on_github_is_noted_from_the_latest_event_or_look(store: Store) -> None:
    store.save_issue(issue(assignee="ada"))
    assert assigned(store, "Mara", "x", after_s=1) == "mara"
    assert assigned(store, after_s=5) == ""
    assert assigned(store, "Mara", after_s=2) == ""  # heard late
    assert assigned(store, "eve", after_s=6) == "eve"
    news = {"number": 1, "updated_at": "2023-11-14T23:00:00Z"}
    told = news_of("issues", {"action": "labeled", "issue": news, "repository": {"full_name": "owner/repo"}})
    assert told is not None and told.assignee is None
    hear(store, told, 7, 0.0)
    assert taken_by(store) == "eve"
    store.save_issue(issue(updated_at=NOW + 5000))
    assert taken_by(store) == ""


def test_an_assignment_in_the_queue_stands_until_github_knows_it(store: Store) -> None:
    store.save_issue(issue())
    store.add_act(act := Act(repository="owner/repo", number=1, what="assign", who="x", at=NOW, assignee="mara"))
    assert assigned(store, "eve", after_s=1) == "mara"
    store.save_issue(issue(updated_at=NOW + 2))
    assert taken_by(store) == "mara"
    store.note_act(act, carried_out=True)
    assert assigned(store, "mara", "eve", after_s=3) == "mara"
    store.undo_act(act)
    assert assigned(store, "mara", after_s=4) == ""
    store.note_act(act, carried_out=False)
    assert assigned(store, "eve", after_s=5) == "eve"
    store.add_act(here := Act(repository="owner/repo", number=1, what="assign", who="x", at=NOW, assignee="admin:zoe"))
    store.note_act(here, carried_out=False, refused="only here")
    store.save_issue(issue(updated_at=NOW + 6))
    assert taken_by(store) == "admin:zoe"
    assert assigned(store, "eve", after_s=7) == "eve"


def test_hostile_text_is_stored_and_what_no_database_holds_becomes_a_replacement_character(store: Store) -> None:
    store.save_issue(issue(title=HOSTILE, body=HOSTILE * 1000, author=HOSTILE))
    saved = store.get_issue("owner/repo", 1)
    assert saved is not None
    assert (saved.title, saved.body, saved.author) == (STORED, STORED * 1000, STORED)
    assert saved.digest == report_digest(HOSTILE, HOSTILE * 1000) == report_digest(saved.title, saved.body)
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
    store.note_outcome(second, [], None, [], complete=True)
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


def test_issues_of_one_number_in_two_repositories_have_nothing_in_common(store: Store) -> None:
    one, other = (IssueReference(name, 1) for name in ("owner/repo", "other/repo"))
    for reference in (one, other):
        store.save_issue(issue(repository=reference.repository))
    before = store.get_issue("other/repo", 1)
    kept = store.save_verdict(prediction(), TAXONOMY)
    noted = Backfilled("hang", added=True, who="ada", at=NOW)
    store.set_plan(kept, {"backfilled": [asdict(noted)]})
    store.note_outcome(kept, [], None, [], complete=True)
    store.hold(one, held=True)
    store.add_reviews(person())
    store.set_state(one, "closed", NOW + 1)
    store.add_act(Act(repository="owner/repo", number=1, what="snooze", who="ada", at=NOW, until=NOW + 60))
    after = store.get_issue("other/repo", 1)
    assert before is not None and after is not None and values_of(after) == values_of(before)
    assert store.latest_verdict("other/repo", 1) is store.labelled_digest("other/repo", 1) is None
    assert store.latest_verdict("owner/repo", 1) is not None and store.labelled_digest("owner/repo", 1) is not None
    assert (store.backfilled(one), store.backfilled(other)) == ([noted], [])
    assert (store.held_issues("owner/repo"), store.held_issues("other/repo")) == ([one], [])
    assert [store.issue_states(name)[1][0] for name in ("owner/repo", "other/repo")] == ["closed", "open"]
    assert store.reviews(issue=other) == [] == store.acts(other)
    assert store.count_issues(IssueFilter(awake_at=NOW)) == 1
    store.add_act(Act(repository="owner/repo", number=1, what="completed", who="ada", at=NOW))
    assert [act.what for act in store.acts(one)] == ["completed", "snooze"]
