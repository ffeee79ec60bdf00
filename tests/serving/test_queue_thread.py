# ruff: noqa: F401, F811  # fixtures
"""An issue's thread, read from GitHub when a person opens it; a question to an author, and the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage_serving.github.app_auth import App
from distriage_serving.github.thread.reading import Thread
from distriage_serving.queue.login.desk import Desk
from distriage_serving.queue.thread.routes import MAX_CHARS
from distriage_serving.store import ASK, Act, Job

from support.app_key import APP_ID, app_key
from support.github import BOT, INSTALLATION, PERSON, GitHub
from support.queue_demo import add_issue
from support.queue_server import Queue, csrf
from support.queue_site import admin, site, stranger

HOSTILE = "<script>window.owned=1</script> \u202egnp.exe {{7*7}} </article><img src=x onerror=window.owned=1>"


@pytest.fixture
def github(site: Queue, app_github: GitHub) -> Iterator[GitHub]:
    """The GitHub that the queue's App asks."""
    state = site.server.app.state
    state.desk = replace(state.desk, app=App(APP_ID, app_key(), app_github.url))
    site.store.save_repository("owner/repo", installation_id=INSTALLATION)
    yield app_github
    state.desk = replace(state.desk, app=None)


def opened(admin: httpx.Client, number: int, *, part: bool = True) -> str:
    headers = {"HX-Request": "true"} if part else {}
    answer = admin.get(f"/queue/owner/repo/{number}/thread", headers=headers)
    assert answer.status_code == 200
    return answer.text


def test_the_last_comments_assignees_and_changes(site: Queue, admin: httpx.Client, github: GitHub) -> None:
    site.add(1, "hangs")
    github.open("owner/repo#1", "hangs", comments=12, assignees=[PERSON])
    for number in range(1, 11):
        github.comment("owner/repo#1", f"comment **{number}**.", PERSON)
    github.comment("owner/repo#1", HOSTILE + "x" * MAX_CHARS, PERSON)
    github.comment("owner/repo#1", "a robot", BOT)
    github.name_in_change("owner/repo#1", 5, HOSTILE, merged=True)
    page = opened(admin, 1)
    assert "<!doctype html>" not in page and "<script" not in page and "<img" not in page
    assert page.count('class="comment"') == 10 and "2 earlier comments on GitHub" in page
    assert "comment <strong>3</strong>." in page and "comment <strong>2</strong>." not in page
    assert page.count("The rest is on GitHub.") == 1 and page.count(">bot</span>") == 1
    assert f"Assigned: {PERSON['login']}" in page and ">merged</span>" in page and "U+202E" in page
    asked = len(github.requests)
    whole = opened(admin, 1, part=False)
    assert "<!doctype html>" in whole and "comment <strong>3</strong>." in whole
    assert len(github.requests) == asked  # it was kept


def test_without_the_app_the_page_says_where_the_thread_is(site: Queue, admin: httpx.Client, github: GitHub) -> None:
    site.add(2, "hangs")
    assert "data-thread" in admin.get("/queue/owner/repo/2").text
    for changes in ({"app": None}, {}):
        state = site.server.app.state
        state.desk = replace(state.desk, **changes)
        if not changes:
            site.store.save_repository("owner/repo", enabled=False)
        page = admin.get("/queue/owner/repo/2").text
        assert "data-thread" not in page and "the thread is only on GitHub" in page
        assert "the thread is only on GitHub" in opened(admin, 2)
    site.store.save_repository("owner/repo", enabled=True)
    assert github.requests == []


def test_a_github_that_does_not_answer_is_named(site: Queue, admin: httpx.Client, github: GitHub) -> None:
    site.add(3, "hangs")
    github.close()
    assert "GitHub does not show the thread now" in opened(admin, 3)
    assert admin.get("/queue/foreign/repo/3/thread").status_code == 404


def test_the_answer_stands_below_the_report_with_its_evidence(site: Queue, admin: httpx.Client) -> None:
    site.add(4, "It fails", "One worker.\r\nNothing else.\n```\nan open block")
    site.store.add_act(Act(repository="owner/repo", number=4, what=ASK, who="mia", at=site.store.clock(), text="?"))
    (act,) = site.store.acts(IssueReference("owner/repo", 4))
    site.store.note_act(act, carried_out=True)
    site.store.note_answer(act, f"{HOSTILE}\n\nAll memory is exhausted on every rank.", site.store.clock())
    page = admin.get("/queue/owner/repo/4?evidence=1").text
    _, _, answer = page.partition("The author’s answer")
    assert "exhausted on every rank.</mark>" in answer and "<script>window" not in page and "<img" not in page
    assert "One worker." not in answer


def ask(admin: httpx.Client, number: int, text: str, repository: str = "owner/repo") -> httpx.Response:
    fields = {"csrf": csrf(admin.get("/queue")), "what": ASK, "text": text}
    return admin.post(f"/queue/{repository}/{number}/act", data=fields)


def test_a_question_needs_a_text_the_app_and_an_author_who_was_not_asked(site: Queue, admin: httpx.Client) -> None:
    site.add(10, "It fails")
    site.add(10, "It fails", repository="owner/other")
    assert "text: 0 characters; expected 1 to 5,000" in ask(admin, 10, " \r\n ").text
    assert ask(admin, 10, "x" * 5001).status_code == 400
    assert ask(admin, 10, "Which\r\nversion?").status_code == 303
    again = ask(admin, 10, "Which one?")
    assert again.status_code == 409 and "the author was asked already and has not answered yet" in again.text
    assert [act.text for act in site.store.acts(IssueReference("owner/repo", 10))] == ["Which\nversion?"]
    (job,) = [job for job in site.store.list_work(Job) if job.kind == "ask" and job.issue == 10]
    assert job.due_at is not None and job.due_at >= site.store.clock() + 5
    site.store.save_repository("owner/other", enabled=False)
    assert "nobody could close the issue or ask there" in ask(admin, 10, "Which?", "owner/other").text
    site.store.save_repository("owner/other", enabled=True)


def test_many_authors_are_asked_each_for_the_rest(site: Queue, admin: httpx.Client) -> None:
    verdict = site.classifier.classify(IssueReport(title="It fails", body="exhausted"))
    assert verdict.missing
    complete = verdict.model_copy(update={"missing": []})
    ids = [
        add_issue(site.store, "owner/repo", number, "It fails", "exhausted", one, site.store.clock())
        for number, one in ((11, verdict), (12, complete))
    ]
    keys = [f"owner/repo#{number}@{verdict_id}" for number, verdict_id in zip((11, 12), ids, strict=True)]
    done = admin.post("/queue/bulk", data={"csrf": csrf(admin.get("/queue")), "issue": keys, "what": ASK})
    assert "left=1" in done.headers["location"]
    (act,) = site.store.acts(IssueReference("owner/repo", 11))
    assert act.text is not None and act.text.count("\n- ") == len(verdict.missing)
    assert site.store.acts(IssueReference("owner/repo", 12)) == []
    admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
    assert not site.store.acts(IssueReference("owner/repo", 11))[0].awaits_answer
