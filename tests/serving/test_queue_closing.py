# ruff: noqa: F401, F811  # fixtures
"""Closing, marking as a duplicate and snoozing in the queue, and the undo of each."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pytest

from distriage.base.errors import TransferredError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.bot.reconcile import bring_in_step
from distriage_serving.github.closing import close, reopen
from distriage_serving.queue.listing import moment
from distriage_serving.store import Act, Issue, IssueFilter, Job, Store, SuggestionRow

from support.databases import Clock
from support.github import BOT, PERSON, GitHub
from support.queue_server import Queue, csrf, log_in, visitor
from support.queue_site import admin, site, stranger

ISSUE = "owner/repo#1"


def act(client: httpx.Client, number: int, **fields: str) -> httpx.Response:
    token = csrf(client.get("/queue"))
    return client.post(f"/queue/owner/repo/{number}/act", data={"csrf": token, **fields})


def state(site: Queue, number: int) -> str:
    issue = site.store.get_issue("owner/repo", number)
    assert issue is not None
    acts = site.store.acts(issue.reference)
    return "closing" if any(act.is_pending and act.undone_at is None for act in acts) else issue.state


# ---------------------------------------------------------------- the queue


def test_a_duplicate_is_closed_by_a_click_and_opened_again_by_undo(site: Queue, admin: httpx.Client) -> None:
    site.add(1, "hangs")
    assert act(admin, 1, what="duplicate", of=" #12 ").status_code == 303
    assert state(site, 1) == "closing"
    page = admin.get("/queue").text
    assert "To be closed as a duplicate of #12: Owner/Repo#1" in page and "/queue/owner/repo/1?" not in page
    (job,) = [job for job in site.store.list_work(Job) if job.kind == "close" and job.issue == 1]
    assert job.due_at is not None and job.due_at >= job.created_at + 9  # an undo within this time costs no write
    back = admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
    assert back.headers["location"] == "/queue/owner/repo/1" and state(site, 1) == "open"
    assert "To be closed as a duplicate of #12</span>" in admin.get("/queue/owner/repo/1").text
    assert (
        admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))}).headers["location"]
        == "/queue?undone=nothing"
    )


@pytest.mark.parametrize("of", ["Owner/Repo#12", "https://github.com/owner/repo/issues/12#issuecomment-1"])
def test_the_other_issue_is_named_as_people_paste_it(site: Queue, admin: httpx.Client, of: str) -> None:
    site.add(11, "hangs")
    assert act(admin, 11, what="duplicate", of=of).status_code == 303
    (marked,) = [one for one in site.store.acts(IssueReference("owner/repo", 11)) if one.undone_at is None]
    assert marked.duplicate_of == 12
    admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})


def test_the_banner_says_what_github_refused_or_did_meanwhile(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(12, "hangs")
    act(admin, 12, what="ask", text="Which version?")
    site.store.refuse_acts(IssueReference("owner/repo", 12), "locked", site.store.clock())
    admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
    assert "Undone: asking the author of Owner/Repo#12, which GitHub had refused" in admin.get("/queue").text
    data = {"csrf": csrf(admin.get("/queue")), "action": "dismiss", "verdict": verdict_id}
    site.store.set_state(IssueReference("owner/repo", 12), "closed", time.time())
    admin.post("/queue/owner/repo/12", data=data)
    assert "Dismissed: Owner/Repo#12; it is closed on GitHub" in admin.get("/queue").text


def test_a_snoozed_issue_is_out_of_the_list_and_found_where_one_looks_for_it(site: Queue, admin: httpx.Client) -> None:
    site.add(2, "sleeper hangs")
    act(admin, 2, what="snooze", days="7")
    assert "sleeper" not in admin.get("/queue").text and state(site, 2) == "open"
    (snooze,) = site.store.acts(IssueReference("owner/repo", 2))
    assert snooze.until == pytest.approx(site.store.clock() + 7 * 86400, abs=600)
    assert f"Snoozed until {moment(snooze.until)}</span>" in admin.get("/queue/owner/repo/2").text
    for query in ("status=snoozed", "status=any"):
        assert "sleeper" in admin.get(f"/queue?{query}").text
    admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
    assert "sleeper" in admin.get("/queue").text and "sleeper" not in admin.get("/queue?status=snoozed").text


def test_what_was_done_last_is_undone_first(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(3, "exhausted timeout")
    site.add(4, "hangs")
    token = csrf(admin.get("/queue"))
    act(admin, 4, what="completed")
    admin.post("/queue/bulk", data={"csrf": token, "action": "dismiss", "issue": f"owner/repo#3@{verdict_id}"})
    admin.post("/queue/undo", data={"csrf": token})
    assert site.status(3) == "open" and state(site, 4) == "closing"
    admin.post("/queue/undo", data={"csrf": token})
    assert state(site, 4) == "open"


@pytest.mark.parametrize(
    "fields",
    [
        {"what": "explode"},
        {"what": "duplicate", "of": "x"},
        {"what": "duplicate", "of": "5"},
        {"what": "duplicate", "of": "9" * 30},
        {"what": "snooze", "days": "99999"},
    ],
)
def test_what_no_form_holds_is_refused(site: Queue, admin: httpx.Client, fields: dict[str, str]) -> None:
    site.add(5, "hangs")
    assert act(admin, 5, **fields).status_code == 400 and site.store.acts(IssueReference("owner/repo", 5)) == []
    assert admin.post("/queue/owner/repo/5/act", data=fields).status_code == 403  # without the session's token


def test_nothing_is_closed_where_nobody_could_close_it_on_github(site: Queue, admin: httpx.Client) -> None:
    site.add(6, "hangs", state="closed")
    assert act(admin, 6, what="completed").status_code == 409
    site.add(7, "hangs")
    site.store.save_repository("owner/repo", enabled=False)
    try:
        assert act(admin, 7, what="completed").status_code == 409
        assert state(site, 7) == "open" and site.store.acts(IssueReference("owner/repo", 7)) == []
    finally:
        site.store.save_repository("owner/repo", enabled=True)


def test_what_waits_for_githubs_rate_limit_says_until_when(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(8, "hangs")
    act(admin, 8, what="completed")
    admin.post(
        "/queue/owner/repo/8", data={"csrf": csrf(admin.get("/queue")), "action": "dismiss", "verdict": verdict_id}
    )
    assert "to be closed; GitHub has not answered yet" in admin.get("/queue/owner/repo/8").text
    assert "not on GitHub yet" in admin.get("/queue?status=any").text
    clock, until = site.store.clock, site.store.clock() + 3000
    site.store.clock = lambda: until - 2000
    try:
        while found := site.store.lease(Job, "a", 60):
            site.store.defer(found[0], until, "paced")
    finally:
        site.store.clock = clock
    page = admin.get("/queue/owner/repo/8").text
    said = f"waits for GitHub&#39;s rate limit until {moment(until)}"
    assert page.count(said) == 3, "the closing, in the head and among the acts, and the decision"


@pytest.mark.parametrize("carried_out", [True, False])
def test_what_was_closed_where_the_app_is_no_more_holds_up_no_other_undo(
    site: Queue, admin: httpx.Client, carried_out: bool
) -> None:
    first, second = (50, 51) if carried_out else (52, 53)
    for number in (first, second):
        site.add(number, "hangs")
        act(admin, number, what="completed")
    (closed,) = site.store.acts(IssueReference("owner/repo", second))
    site.store.note_act(closed, carried_out=carried_out)
    if carried_out:
        site.store.set_state(closed.reference, "closed", closed.at)
    site.store.save_repository("owner/repo", enabled=False)
    before = len(site.store.list_work(Job))
    try:
        undone = admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
        assert undone.status_code == 303
        page = admin.get(undone.headers["location"]).text
        assert ("undone here, but not on GitHub" in page) is carried_out and ", undone" in page
        assert state(site, second) == ("closed" if carried_out else "open")  # as on GitHub
        assert len(site.store.list_work(Job)) == before
    finally:
        site.store.save_repository("owner/repo", enabled=True)
    admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
    assert state(site, first) == "open"


def test_of_two_people_who_close_an_issue_at_once_one_does(site: Queue, admin: httpx.Client) -> None:
    with visitor(site) as other:
        log_in(other)
        for number in range(20, 30):
            site.add(number, "hangs")
            data = [{"csrf": csrf(client.get("/queue")), "what": "completed"} for client in (admin, other)]
            send = partial(httpx.Client.post, url=f"/queue/owner/repo/{number}/act")
            with ThreadPoolExecutor() as pool:
                sent = [pool.submit(send, client, data=each) for client, each in zip((admin, other), data, strict=True)]
                statuses = sorted(answer.result().status_code for answer in sent)
            assert statuses == [303, 409] and len(site.store.acts(IssueReference("owner/repo", number))) == 1


def test_undo_takes_back_what_its_page_names_once(site: Queue, admin: httpx.Client) -> None:
    for number, title in ((40, "hangs"), (41, "exhausted"), (42, "segfault")):
        site.add(number, title)
    act(admin, 40, what="completed")
    page = admin.get("/queue").text
    named = {"csrf": csrf(admin.get("/queue")), "at": page.partition('name="at" value="')[2].partition('"')[0]}
    act(admin, 41, what="completed")  # in another tab
    for _ in range(2):
        admin.post("/queue/undo", data=named)
    assert (state(site, 40), state(site, 41)) == ("open", "closing")
    assert admin.post("/queue/undo", data={**named, "at": "x"}).status_code == 400
    for strange in ("nan", "inf", "-1e999"):
        assert admin.post("/queue/undo", data={**named, "at": strange}).headers["location"] == "/queue?undone=nothing"
    assert state(site, 41) == "closing"


# ---------------------------------------------------------------- GitHub


def row(what: str, **more: int) -> Act:
    return Act(repository="owner/repo", number=1, what=what, who="mara", at=1.0, **more)


@pytest.fixture
def job() -> Job:
    return Job(key="k", lane="l", kind="close", repository="owner/repo", issue=1, created_at=1.0)


def test_github_is_brought_in_step_and_twice_is_as_once(github: GitHub, sqlite_store: Store, job: Job) -> None:
    github.open(ISSUE, "A hang", "It hangs.")
    client = Client(github.token, github.url, login=BOT["login"])
    sqlite_store.add_act(row("duplicate", duplicate_of=12))
    assert bring_in_step(client, sqlite_store, job).note == "closed"
    issue = github.issues[ISSUE]
    assert (issue["state"], issue["state_reason"], github.labels(ISSUE)) == ("closed", "duplicate", ["duplicate"])
    assert [comment.splitlines()[1] for comment in github.comments(ISSUE)] == ["Duplicate of #12"]
    (standing,) = sqlite_store.acts(IssueReference("owner/repo", 1))
    sqlite_store.note_act(standing, carried_out=False)  # the worker died before it could note it
    bring_in_step(client, sqlite_store, job)
    assert len(github.comments(ISSUE)) == 1
    sqlite_store.undo_act(standing)
    assert bring_in_step(client, sqlite_store, job).note == "reopened"
    assert (issue["state"], github.labels(ISSUE), github.comments(ISSUE)) == ("open", [], [])
    assert bring_in_step(client, sqlite_store, job).nothing_to_do


def test_a_locked_issue_is_closed_as_a_duplicate_without_a_comment(
    github: GitHub, sqlite_store: Store, job: Job
) -> None:
    github.open(ISSUE, "A hang", "It hangs.", locked=True)
    sqlite_store.add_act(row("duplicate", duplicate_of=12))
    assert bring_in_step(Client(github.token, github.url, login=BOT["login"]), sqlite_store, job).note == (
        "closed, POST /repos/owner/repo/issues/1/comments: GitHub refused (403): "
        "Unable to create comment because issue is locked."
    )
    assert (github.issues[ISSUE]["state"], github.labels(ISSUE), github.comments(ISSUE)) == (
        "closed",
        ["duplicate"],
        [],
    )


def test_what_was_taken_back_in_time_is_never_written(github: GitHub, sqlite_store: Store, job: Job) -> None:
    github.open(ISSUE, "A hang", "It hangs.")
    sqlite_store.add_act(row("not_planned"))
    sqlite_store.undo_act(sqlite_store.acts(IssueReference("owner/repo", 1))[0])
    assert bring_in_step(Client(github.token, github.url), sqlite_store, job).nothing_to_do
    assert github.written == []


def test_what_somebody_closed_meanwhile_keeps_its_reason(
    github: GitHub, site: Queue, admin: httpx.Client, job: Job
) -> None:
    site.add(62, "hangs")
    github.open("owner/repo#62", "A hang", "It hangs.")
    act(admin, 62, what="completed")
    github.edit("owner/repo#62", {"state": "closed", "state_reason": "not_planned"}, PERSON)
    site.store.set_state(IssueReference("owner/repo", 62), "closed", site.store.clock(), "not_planned")  # by its event
    job.issue, why = 62, "somebody closed it on GitHub before"
    assert bring_in_step(Client(github.token, github.url, login=BOT["login"]), site.store, job).note == why
    assert github.written == [] and github.issues["owner/repo#62"]["state_reason"] == "not_planned"
    assert state(site, 62) == "closed"
    assert f"Not closed as completed ({why}): Owner/Repo#62" in admin.get("/queue").text


def test_undo_leaves_what_a_person_set_before_or_closed_later(github: GitHub) -> None:
    client, issue = Client(github.token, github.url, login=BOT["login"]), IssueReference("owner/repo", 1)
    github.open(ISSUE, "A hang", "It hangs.", labels=("duplicate",))
    close(client, issue, "duplicate", 12)
    github.edit(ISSUE, {"state": "open"}, PERSON)
    github.edit(ISSUE, {"state": "closed", "state_reason": "completed"}, PERSON)
    reopen(client, issue, was_duplicate=True)
    assert (github.issues[ISSUE]["state"], github.labels(ISSUE)) == ("closed", ["duplicate"])
    assert github.comments(ISSUE) == []  # the comment was ours


def test_an_issue_that_somebody_closed_again_is_not_open_after_undo(
    github: GitHub, sqlite_store: Store, job: Job
) -> None:
    github.open(ISSUE, "A hang", "It hangs.")
    client = Client(github.token, github.url, login=BOT["login"])
    issue = Issue(
        repository="owner/repo", number=1, title="t", body="b", author="a", url="u", created_at=1.0, updated_at=1.0
    )
    sqlite_store.save_issue(issue)
    sqlite_store.add_act(row("completed"))
    bring_in_step(client, sqlite_store, job)
    github.edit(ISSUE, {"state": "open"}, PERSON)
    github.edit(ISSUE, {"state": "closed", "state_reason": "completed"}, PERSON)
    sqlite_store.undo_act(sqlite_store.acts(IssueReference("owner/repo", 1))[0])
    bring_in_step(client, sqlite_store, job)
    found = sqlite_store.get_issue("owner/repo", 1)
    assert found is not None and found.state == github.issues[ISSUE]["state"] == "closed"


@pytest.mark.parametrize("number", [12, None])
def test_closing_in_a_renamed_repository_says_that_it_moved(github: GitHub, number: int | None) -> None:
    client, issue = Client(github.token, github.url, login=BOT["login"]), IssueReference("owner/repo", 1)
    github.open(ISSUE, "A hang", "It hangs.")
    close(client, issue, "completed", number)
    github.rename("owner/repo", "owner/new")
    with pytest.raises(TransferredError, match="moved to another place"):
        close(client, issue, "completed", number)
    with pytest.raises(TransferredError, match="moved to another place"):
        reopen(client, issue, was_duplicate=number is not None)


# ---------------------------------------------------------------- the store


def test_a_snooze_ends_and_acts_move_with_their_repository(store: Store, clock: Clock) -> None:
    now = clock()
    issue = Issue(
        repository="owner/repo", number=1, title="t", body="b", author="a", url="u", created_at=now, updated_at=now
    )
    store.save_issue(issue)
    store.add_act(Act(repository="Owner/Repo", number=1, what="snooze", who="mara", at=now, until=now + 60))
    assert store.count_issues(IssueFilter(awake_at=now)) == 0 == store.count_issues(IssueFilter(snoozed_at=now + 60))
    assert store.count_issues(IssueFilter(snoozed_at=now)) == 1 == store.count_issues(IssueFilter(awake_at=now + 60))
    (newest,) = store.last_acts("mara", now - 1)
    assert newest.what == "snooze"
    assert store.last_acts("tobias", 0) == store.last_acts("mara", now + 1) == []
    assert store.last_acts("mara", 0, ["owner/other"]) == [] and store.last_acts("mara", 0, ["Owner/Repo"]) == [newest]
    store.save_repository("owner/repo", display_name="Owner/Repo", installation_id=7)
    assert store.rename_repository("owner/repo", "owner/new")
    assert [moved.until for moved in store.acts(IssueReference("owner/new", 1))] == [now + 60]
    store.undo_act(newest)
    assert store.last_acts("mara", 0) == [] and store.count_issues(IssueFilter(awake_at=now)) == 1


def test_suggestions_on_github_are_shown_with_what_became_of_them(site: Queue, admin: httpx.Client) -> None:
    site.add(61, "hangs")
    for value, state, who in (("symptom: hang", "dismissed", "mia<b>"), ("symptom: oom", "pending", None)):
        row = SuggestionRow(repository="owner/repo", number=61, action="add_label", value=value, at=site.store.clock())
        site.store.begin_suggestions([row])
        site.store.note_suggestion(row, state=state, who=who, decided_at=site.store.clock() if who else None)
    page = admin.get("/queue/owner/repo/61").text
    assert "dismissed by mia&lt;b&gt;" in page and "waits for a person there" in page and "symptom: oom" in page
