# ruff: noqa: F401, F811  # fixtures
"""What the banner says after an undo."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest

from distriage.classifier import Classifier
from distriage_serving.store import Store

from support.databases import NOW, Clock
from support.http_api import log_lines
from support.queue_server import Queue, csrf, log_in, queue
from support.queue_site import admin, stranger
from support.stored_issues import person


@pytest.fixture
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """A queue in which nobody did anything yet."""
    with queue(keyword_classifier, tmp_path_factory.mktemp("queue")) as opened:
        yield opened


def banner(page: httpx.Response) -> str:
    found = re.search(r'<div class="toast" role="status">(.*?)</div>', page.text, re.S)
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split()) if found is not None else ""


def undo(client: httpx.Client) -> str:
    """Press `u` on the list; what the next page says."""
    page = client.get("/queue")
    at = re.search(r'name="at" value="([^"]*)"', page.text)
    fields = {"csrf": csrf(page), **({"at": at[1]} if at is not None else {})}
    return banner(client.get(client.post("/queue/undo", data=fields).headers["location"]))


def test_an_undo_says_what_was_undone_and_not_what_was_done_before(site: Queue, admin: httpx.Client) -> None:
    keys = [f"owner/repo#{number}@{site.add(number, 'exhausted timeout')}" for number in range(1, 6)]
    token = csrf(admin.get("/queue"))
    for chosen in (keys[:1], keys[1:2], keys[2:4]):
        admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": chosen})
    admin.post("/queue/owner/repo/5/act", data={"csrf": token, "what": "completed"})
    said = [undo(admin) for _ in range(5)]
    assert said == [
        "Undone: closing Owner/Repo#5 as completed",
        "Undone: the decision on 2 issues",
        "Undone: the decision on Owner/Repo#2",
        "Undone: the decision on Owner/Repo#1",
        "Nothing to undo.",
    ]
    assert [site.status(number) for number in range(1, 6)] == ["open"] * 5
    assert "Undo <kbd>" not in admin.get("/queue").text
    key = f"owner/repo#6@{site.add(6, 'exhausted timeout')}"
    admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": key})
    assert banner(admin.get("/queue")).startswith("Accepted: Owner/Repo#6")


def test_what_was_done_today_can_be_undone_by_click_after_its_banner_too(site: Queue, admin: httpx.Client) -> None:
    def offered() -> tuple[str, bool]:
        """What the banner says, and whether the page's head has the button."""
        page = admin.get("/queue")
        return banner(page), "data-undo>" in page.text.partition("<main")[0]

    assert offered() == ("", False)
    keys = [f"owner/repo#{number}@{site.add(number, 'exhausted timeout')}" for number in (1, 2)]
    for key in keys:
        admin.post("/queue/bulk", data={"csrf": csrf(admin.get("/queue")), "action": "accept", "issue": key})
    assert offered() == ("Accepted: Owner/Repo#2 Undo u", False)
    assert undo(admin) == "Undone: the decision on Owner/Repo#2"
    assert offered() == ("Undone: the decision on Owner/Repo#2", True)
    begun = site.store.clock()
    site.store.clock = lambda: begun + 130
    assert offered() == ("", True)
    assert 'form="undo"' in admin.get("/queue/owner/repo/1").text.partition("<main")[0]
    assert undo(admin) == "Undone: the decision on Owner/Repo#1"
    assert offered() == ("Undone: the decision on Owner/Repo#1", False)


def test_an_old_page_takes_back_what_was_the_newest_for_it(site: Queue, admin: httpx.Client) -> None:
    keys = [f"owner/repo#{number}@{site.add(number, 'exhausted timeout')}" for number in (1, 2)]
    admin.post("/queue/bulk", data={"csrf": csrf(admin.get("/queue")), "action": "accept", "issue": keys[0]})
    begun = site.store.clock()
    site.store.clock = lambda: begun + 130
    page = admin.get("/queue")  # its head has the button; then another tab decides
    at = re.search(r'name="at" value="([^"]*)"', page.text)
    assert at is not None
    admin.post("/queue/bulk", data={"csrf": csrf(page), "action": "accept", "issue": keys[1]})
    admin.post("/queue/undo", data={"csrf": csrf(page), "at": at[1]})
    assert [site.status(number) for number in (1, 2)] == ["open", "accepted"]


def test_the_last_undo_is_a_persons_own_in_the_queue(store: Store, clock: Clock) -> None:
    first = store.add_reviews(person(), person("stage", None))
    second = store.add_reviews(person(at=NOW + 1), person(at=NOW + 1, repository="other/repo"))
    others = store.add_reviews(person(who="eve", at=NOW + 2), person(how="label", at=NOW + 3))
    for at, ids in ((10, second), (20, first), (30, others)):
        clock.now = NOW + at
        store.undo_reviews(*ids)
    assert [row.id for row in store.last_decision("ada", NOW, undone=True)] == first
    assert [row.id for row in store.last_decision("ada", NOW, ["Other/Repo"], undone=True)] == second[1:]
    assert store.last_decision("ada", NOW + 21, undone=True) == [] == store.last_decision("bob", NOW, undone=True)


def test_what_was_decided_more_than_a_day_ago_stands(
    site: Queue, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"owner/repo#9@{site.add(9, 'exhausted timeout')}"
    admin.post("/queue/bulk", data={"csrf": csrf(admin.get("/queue")), "action": "accept", "issue": key})
    decided_at = site.store.clock()
    monkeypatch.setattr(site.store, "clock", lambda: decided_at + 25 * 3600)
    log_in(admin)  # the session has ended
    assert undo(admin) == "Nothing to undo." and site.status(9) == "accepted"
    monkeypatch.setattr(site.store, "clock", lambda: decided_at + 23 * 3600)
    assert undo(admin) == "Undone: the decision on Owner/Repo#9" and site.status(9) == "open"


def test_the_log_says_who_logged_in_and_decided_and_nothing_of_an_issue(
    site: Queue, stranger: httpx.Client, log_lines: list[str]
) -> None:
    key = f"owner/repo#1@{site.add(1, 'exhausted zebra')}"
    page = stranger.get("/login")
    stranger.post("/login", data={"csrf": csrf(page), "name": "default", "token": "not the token: a secret"})
    assert log_in(stranger).status_code == 303
    token = csrf(stranger.get("/queue"))
    stranger.post("/queue/bulk", data={"csrf": token, "action": "dismiss", "issue": [key]})
    undo(stranger)
    stranger.post("/queue/owner/repo/1/act", data={"csrf": token, "what": "snooze", "days": "1"})
    undo(stranger)
    stranger.post("/logout", data={"csrf": token})
    lines = [json.loads(line) for line in log_lines]
    events = [
        line for line in lines if line.get("event") not in {"request", None} and line["logger"] != "uvicorn.error"
    ]
    assert [line["event"] for line in events] == [
        *("login_refused", "logged_in", "decided", "decision_undone", "acted", "act_undone", "logged_out"),
    ]
    assert {line["who"] for line in events[1:]} == {"admin:default"} and events[0]["peer"] == "127.0.0.1"
    assert all(line["issue"] == "owner/repo#1" for line in events[2:6]) and set(events[2]["labels"].values()) == {None}
    assert not any("zebra" in line or "secret" in line for line in log_lines)
