"""Pages that are older than what was decided since: nothing of theirs is stored, and they say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pytest

from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage_serving.administrators import make_entry
from distriage_serving.queue.decisions import Decisions, IssueDecision
from distriage_serving.queue.history import NOBODY, decided_so_far, meanwhile
from distriage_serving.store import Review

from support.queue_login import HER_TOKEN
from support.queue_server import TOKEN, Queue, csrf, field, log_in, queue, visitor


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """A queue with two administrators."""
    folder = tmp_path_factory.mktemp("queue")
    with queue(keyword_classifier, folder, admins=[make_entry("ann", HER_TOKEN)]) as opened:
        yield opened


@pytest.fixture
def ann(site: Queue) -> Iterator[httpx.Client]:
    with visitor(site) as client:
        log_in(client, HER_TOKEN, "ann")
        yield client


@pytest.fixture
def bob(site: Queue) -> Iterator[httpx.Client]:
    with visitor(site) as client:
        log_in(client, TOKEN)
        yield client


def opened(client: httpx.Client, number: int) -> dict[str, str]:
    """The hidden fields of an issue's page."""
    page = client.get(f"/queue/owner/repo/{number}")
    return {"csrf": csrf(page), "verdict": field(page, "verdict"), "decided": field(page, "decided")}


def keys(client: httpx.Client, number: int) -> str:
    """The value of an issue's box in the list."""
    page = client.get(f"/queue?status=any&search=marker{number}").text
    return page.partition('name="issue" value="')[2].partition('"')[0]


def test_what_another_decided_meanwhile_stands_and_the_page_says_who_and_what(
    site: Queue, ann: httpx.Client, bob: httpx.Client
) -> None:
    site.add(1, "exhausted timeout marker1")
    hers, his = opened(ann, 1), opened(bob, 1)
    corrected = {"action": "accept", "axis.symptom": "crash"}
    assert ann.post("/queue/owner/repo/1", data={**hers, **corrected}).status_code == 303
    refused = bob.post(
        "/queue/owner/repo/1", data={**his, "action": "accept", "axis.symptom": "oom", "query": "status=any"}
    )
    assert refused.status_code == 409 and site.standing(1) == {"symptom": "crash"}
    assert "Meanwhile admin:ann decided in the queue: Symptom: Crash." in refused.text
    assert "Nothing of yours was saved." in refused.text and 'href="/queue/owner/repo/1?status=any"' in refused.text
    assert "Accepted" not in bob.get("/queue").text
    again = {**opened(bob, 1), "action": "accept", "axis.symptom": "oom"}
    assert bob.post("/queue/owner/repo/1", data=again).status_code == 303 and site.standing(1) == {"symptom": "oom"}


def test_an_undo_meanwhile_is_told_too(site: Queue, ann: httpx.Client, bob: httpx.Client) -> None:
    site.add(2, "exhausted timeout marker2")
    ann.post("/queue/owner/repo/2", data={**opened(ann, 2), "action": "accept", "axis.symptom": "crash"})
    his = opened(bob, 2)
    ann.post("/queue/undo", data={"csrf": his["csrf"], **opened(ann, 2)})
    refused = bob.post("/queue/owner/repo/2", data={**his, "action": "accept", "axis.symptom": "crash"})
    assert refused.status_code == 409 and site.standing(2) == {}
    assert "Meanwhile a decision by admin:ann was undone: Symptom: Crash." in refused.text


def test_an_older_tab_of_the_same_person_dismisses_nothing(site: Queue, bob: httpx.Client) -> None:
    site.add(3, "exhausted timeout marker3")
    old = opened(bob, 3)
    corrected = {**old, "action": "accept", "axis.symptom": "crash"}
    assert bob.post("/queue/owner/repo/3", data=corrected).status_code == 303
    assert bob.post("/queue/owner/repo/3", data=corrected).status_code == 303  # a second click
    refused = bob.post("/queue/owner/repo/3", data={**old, "action": "dismiss"})
    assert refused.status_code == 409 and "Meanwhile you decided in the queue" in refused.text
    assert site.standing(3) == {"symptom": "crash"}


def test_a_stale_row_of_the_list_is_left_and_the_others_are_decided(
    site: Queue, ann: httpx.Client, bob: httpx.Client
) -> None:
    for number in (4, 5):
        site.add(number, f"exhausted timeout marker{number}")
    boxes = [keys(bob, number) for number in (4, 5)]
    ann.post("/queue/owner/repo/4", data={**opened(ann, 4), "action": "accept", "axis.symptom": "crash"})
    token = csrf(bob.get("/queue"))
    moved = bob.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": boxes})
    assert moved.headers["location"] == "/queue?left=1&why=owner%2Frepo%234%3Ameanwhile"
    told = "Owner/Repo#4</a> (it was classified anew or decided meanwhile)"
    assert told in bob.get(moved.headers["location"]).text
    assert site.standing(4) == {"symptom": "crash"} and site.status(5) == "accepted"
    fresh = {"csrf": token, "action": "dismiss", "issue": keys(bob, 4)}
    moved = bob.post("/queue/bulk", data=fresh)
    assert moved.headers["location"] == "/queue?at=owner%2Frepo%234" and site.status(4) == "dismissed"


def test_of_two_people_who_decide_at_once_one_does(site: Queue, ann: httpx.Client, bob: httpx.Client) -> None:
    for number in range(20, 26):
        site.add(number, "exhausted timeout")
        data = [
            {**opened(client, number), "action": "accept", "axis.symptom": label}
            for client, label in ((ann, "crash"), (bob, "oom"))
        ]
        send = partial(httpx.Client.post, url=f"/queue/owner/repo/{number}")
        with ThreadPoolExecutor() as pool:
            sent = [pool.submit(send, client, data=each) for client, each in zip((ann, bob), data, strict=True)]
            assert sorted(answer.result().status_code for answer in sent) == [303, 409]


def reclassify(site: Queue) -> None:
    for number in (7, 8):
        site.add(number, f"exhausted timeout marker{number}")


def remove(site: Queue) -> None:
    for number in (7, 8):
        site.store.set_state(IssueReference("owner/repo", number), "deleted", 1.0)
    site.store.purge(-1e9)
    assert site.store.get_issue("owner/repo", 7) is None


@pytest.mark.parametrize("happens", [reclassify, remove])
def test_a_verdict_that_comes_while_a_form_is_read_is_not_the_one_decided_on(
    site: Queue, bob: httpx.Client, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Queue], None]
) -> None:
    reclassify(site)
    decide = Decisions.decide

    def decide_late(decisions: Decisions, made: Sequence[IssueDecision]) -> list[IssueDecision]:
        happens(site)
        return decide(decisions, made)

    box, fields = keys(bob, 8), {**opened(bob, 7), "action": "accept"}
    monkeypatch.setattr(Decisions, "decide", decide_late)
    refused = bob.post("/queue/owner/repo/7", data={**fields, "axis.symptom": "oom"})
    assert refused.status_code == 409 and "classified anew meanwhile" in refused.text
    assert bob.post("/queue/bulk", data={**fields, "issue": box}).headers["location"].startswith("/queue?left=1&")
    assert site.standing(7) == site.standing(8) == {}


def test_hostile_names_and_states_are_shown_or_refused(site: Queue, bob: httpx.Client) -> None:
    site.add(6, "exhausted timeout marker6")
    fields = {**opened(bob, 6), "action": "accept", "axis.symptom": "oom"}
    unknown = bob.post("/queue/owner/repo/6", data={**fields, "decided": "7.0"})
    assert unknown.status_code == 409 and "classified anew or changed meanwhile" in unknown.text
    axis, at = "own:<b>\u202e", site.store.clock()
    site.store.add_reviews(
        Review(repository="owner/repo", number=6, axis=axis, label="<b>\u202e", who="eve", how="label", at=at)
    )
    for decided in (NOBODY, "<script>", "9" * 5000 + ".1", "-1.0", ""):
        refused = bob.post("/queue/owner/repo/6", data={**fields, "decided": decided})
        assert refused.status_code == 409, decided
        assert "&lt;b&gt;" in refused.text and "\u202e" not in refused.text and "<script>" not in refused.text
    bad = f"{keys(bob, 6)}@1"
    assert bob.post("/queue/bulk", data={**fields, "issue": bad}).status_code == 400


def test_each_decision_and_each_undo_is_another_state(site: Queue) -> None:
    taxonomy = site.classifier.bundle.taxonomy
    said = {"repository": "o/r", "number": 1, "label": None, "how": "command"}
    rows = [Review(axis=axis, who=who, at=at, **said) for axis, who, at in (("symptom", "a", 5.0), ("fix", "b", 4.0))]
    states = [decided_so_far([])]
    for number, row in enumerate(rows, 1):
        row.id = number
        states.append(decided_so_far(rows[:number]))
    assert meanwhile(rows, 1, taxonomy, "c") == "Meanwhile b decided by command: Fix: none."
    rows[0].undone_at = 9.0
    states.append(decided_so_far(rows))
    states.append(decided_so_far(rows[1:]))  # the lower id was stored later
    assert len(set(states)) == 5 and states[0] == NOBODY
    assert meanwhile(rows, 2, taxonomy, "a") == "Meanwhile a decision by you was undone: Symptom: none."
