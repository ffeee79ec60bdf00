# ruff: noqa: F401, F811  # fixtures
"""Decisions in the queue: by one or many, corrected, undone."""

from __future__ import annotations

import re
import time

import httpx
import pytest

from distriage.answer.verdict import FirstReading, SecondReading
from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage_serving.store import Job

from support import local_http
from support.queue_demo import add_issue
from support.queue_server import Queue, csrf, field, log_in, visitor
from support.queue_site import admin, site, stranger


def test_what_two_readers_see_differently_comes_first_with_both(site: Queue, admin: httpx.Client) -> None:
    site.add(60, "exhausted timeout")
    number, title = 61, "memory of one worker"
    verdict = site.classifier.classify(IssueReport(title=title, body=""))
    said = verdict.axes["symptom"]
    first = FirstReading(outcome=said.outcome, label="leak", probability=0.41)
    changed = said.model_copy(update={"label": "oom", "read_by": "second-reader", "first_reading": first})
    reading = SecondReading(reader="big<model>", axes=["symptom"], note=None)
    verdict = verdict.model_copy(update={"axes": {**verdict.axes, "symptom": changed}, "second_reading": reading})
    add_issue(site.store, "Owner/Repo", number, title, "", verdict, time.time() - 60)
    rows = re.findall(r'<li class="issue".*?</li>', admin.get("/queue").text, re.S)
    assert title in rows[0] and "readers differ" in rows[0] and "model: Leak 41%" in rows[0]
    assert "readers differ" not in "".join(rows[1:])
    page = admin.get(f"/queue/owner/repo/{number}").text
    assert "The model alone: Leak 41%" in page and "big&lt;model&gt;: read symptom" in page


def test_metrics_count_the_questions_to_a_second_reader(site: Queue) -> None:
    site.store.count_reader_result("answered")
    text = local_http.get(f"{site.url}/metrics").text
    assert 'distriage_second_reader_requests_total{result="answered"} 1.0' in text


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/queue/bulk", "/queue?symptom=oom"),
        ("/queue/undo", "/queue?symptom=oom"),
        ("/queue/owner/repo/2", "/queue/owner/repo/2?symptom=oom"),
        ("/queue/owner/repo/2/act", "/queue/owner/repo/2?symptom=oom"),
        ("/logout", None),
    ],
)
@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_a_form_without_the_sessions_token_changes_nothing_and_leads_back_to_its_page(
    site: Queue, admin: httpx.Client, path: str, page: str | None, token: str | None
) -> None:
    verdict_id = site.add(2, "exhausted timeout")
    data = {
        "action": "accept",
        "issue": f"owner/repo#2@{verdict_id}",
        "verdict": str(verdict_id),
        "query": "symptom=oom",
        **({} if token is None else {"csrf": token}),
    }
    refused = admin.post(path, data=data)
    assert (
        refused.status_code == 403
        and "load the page again" in refused.text
        and refused.headers["content-type"].startswith("text/html")
    )
    assert (f'href="{page}"' in refused.text) == ("Nothing of yours was saved." in refused.text) == (page is not None)
    assert admin.post(path, content=b"{}", headers={"Content-Type": "application/json"}).status_code == 415
    assert site.status(2) == "open" and admin.get("/queue").status_code == 200


def test_the_token_of_another_session_is_refused(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(2, "exhausted timeout")
    with visitor(site) as other:
        log_in(other)
        token = csrf(other.get("/queue"))
    assert (
        admin.post(
            "/queue/bulk", data={"csrf": token, "action": "accept", "issue": f"owner/repo#2@{verdict_id}"}
        ).status_code
        == 403
    )


def test_accepting_stores_who_when_and_model_and_asks_for_one_write_back(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(3, "exhausted timeout")
    page = admin.get("/queue/owner/repo/3")
    fields = {
        "csrf": csrf(page),
        "action": "accept",
        "verdict": str(verdict_id),
        "axis.kind": "bug",
        "axis.symptom": "oom",
        "axis.fix": "tuning",
    }
    assert admin.post("/queue/owner/repo/3", data=fields).status_code == 303
    rows = site.store.reviews(issue=IssueReference("owner/repo", 3))
    assert {(row.axis, row.label, row.predicted_label) for row in rows} == {
        ("kind", "bug", "bug"),
        ("symptom", "oom", "oom"),
        ("fix", "tuning", "tuning"),
    }
    assert {(row.who, row.how, row.model, row.verdict_id) for row in rows} == {
        ("admin:default", "queue", "toy", verdict_id)
    }
    assert site.status(3) == "accepted"
    jobs = [job for job in site.store.list_work(Job) if job.issue == 3]
    assert [(job.key, job.kind, job.installation_id, job.state) for job in jobs] == [
        ("decide:owner/repo#3", "decide", 7, "waiting")
    ]
    assert jobs[0].due_at is not None and jobs[0].due_at > jobs[0].created_at  # time to undo


def test_a_second_click_says_nothing_new_so_that_one_undo_is_enough(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(90, "exhausted timeout")
    fields = {"csrf": csrf(admin.get("/queue")), "action": "dismiss", "verdict": str(verdict_id)}
    for _ in range(2):
        assert admin.post("/queue/owner/repo/90", data=fields).status_code == 303
    assert len(site.store.reviews(issue=IssueReference("owner/repo", 90))) == 3 and site.status(90) == "dismissed"
    admin.post("/queue/undo", data={"csrf": fields["csrf"]})
    assert site.status(90) == "open"
    again = {**fields, "decided": field(admin.get("/queue/owner/repo/90"), "decided")}
    admin.post("/queue/owner/repo/90", data=again)
    assert site.status(90) == "dismissed"


def test_correcting_and_leaving_open_and_none_of_these(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(4, "exhausted timeout")
    token = csrf(admin.get("/queue/owner/repo/4"))
    fields = {"csrf": token, "action": "accept", "verdict": str(verdict_id)}
    admin.post(
        "/queue/owner/repo/4",
        data={
            **fields,
            "axis.symptom": "another",
            "other.symptom": "crash",
            "axis.fix": "none-of-these",
            "axis.kind": "left-open",
        },
    )
    assert site.standing(4) == {"symptom": "crash", "fix": None} and site.status(4) == "corrected"
    assert admin.post("/queue/owner/repo/4", data=fields).status_code == 400  # everything left open
    assert admin.post("/queue/owner/repo/4", data={**fields, "axis.symptom": "made-up"}).status_code == 400
    assert admin.post("/queue/owner/repo/4", data={**fields, "action": "explode"}).status_code == 400


def test_what_does_not_apply_to_the_kind_chosen_is_not_stored(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(5, "exhausted timeout")
    fields = {"csrf": csrf(admin.get("/queue/owner/repo/5")), "action": "accept", "verdict": str(verdict_id)}
    admin.post(
        "/queue/owner/repo/5", data={**fields, "axis.kind": "question", "axis.symptom": "oom", "axis.fix": "tuning"}
    )
    assert site.standing(5) == {"kind": "question"}


@pytest.mark.parametrize(
    ("number", "verdict", "status"),
    [("9" * 20, "1", 404), ("9" * 5000, "1", 404), ("7", "9" * 5000, 409)],
    ids=["for a database", "for Python", "for a verdict"],
)
def test_overlong_numbers_name_nothing(
    site: Queue, admin: httpx.Client, number: str, verdict: str, status: int
) -> None:
    site.add(7, "exhausted timeout")
    data = {"csrf": csrf(admin.get("/queue")), "action": "accept", "verdict": verdict}
    assert admin.post(f"/queue/owner/repo/{number}", data=data).status_code == status
    assert admin.get(f"/queue/owner/repo/{number}").status_code == (404 if status == 404 else 200)


def test_a_prediction_made_meanwhile_is_not_accepted_unseen(site: Queue, admin: httpx.Client) -> None:
    old = site.add(6, "exhausted timeout")
    token = csrf(admin.get("/queue/owner/repo/6"))
    site.add(6, "hangs timeout")
    data = {"csrf": token, "action": "accept", "verdict": str(old), "axis.symptom": "oom"}
    assert admin.post("/queue/owner/repo/6", data=data).status_code == 409
    bulk = admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": f"owner/repo#6@{old}"})
    assert (
        bulk.headers["location"] == "/queue?left=1&why=owner%2Frepo%236%3Ameanwhile"
        and "1 issue was left as it was" in admin.get(bulk.headers["location"]).text
    )
    assert site.status(6) == "open"


def test_many_at_once_are_undone_at_once(site: Queue, admin: httpx.Client) -> None:
    keys = [f"owner/repo#{number}@{site.add(number, 'exhausted timeout')}" for number in (11, 12, 13)]
    token = csrf(admin.get("/queue"))
    admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": keys})
    assert [site.status(number) for number in (11, 12, 13)] == ["accepted"] * 3
    assert "Decided 3 issues." in admin.get("/queue").text
    admin.post("/queue/undo", data={"csrf": token})
    assert [site.status(number) for number in (11, 12, 13)] == ["open"] * 3
    key = f"{keys[0]}@{field(admin.get('/queue/owner/repo/11'), 'decided')}"
    admin.post("/queue/bulk", data={"csrf": token, "action": "dismiss", "issue": key})
    assert site.status(11) == "dismissed" and set(site.standing(11).values()) == {None}
    back = admin.post("/queue/undo", data={"csrf": token})
    assert back.headers["location"] == "/queue/owner/repo/11" and site.status(11) == "open"
    assert "undone" in admin.get("/queue/owner/repo/11").text
    for bad in ("owner/repo#11", "owner/repo#x@1", "../../etc#1@1"):
        assert admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": bad}).status_code == 400
