# ruff: noqa: F401, F811  # fixtures
"""The list as a team uses it: views, filters, and acts on many issues at once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

import httpx
import pytest
from sqlalchemy import event

from distriage.answer.feedback import own_axis
from distriage.answer.verdict import FirstReading
from distriage.base.references import IssueReference
from distriage.base.types import IssueReport, Outcome
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage.own.answer import OwnLabel
from distriage.signs.kinds import Sign
from distriage_serving.bot.reconcile import bring_in_step
from distriage_serving.github.closing import assign
from distriage_serving.queue.many import picked
from distriage_serving.queue.many.views import REFUSED, VIEWS
from distriage_serving.queue.rows import why_here
from distriage_serving.store import Act, Issue, Job, Store, SuggestionRow

from support.databases import NOW
from support.github import BOT, GitHub
from support.queue_demo import add_issue
from support.queue_server import REPOSITORIES, Queue, csrf, field, log_in, queue, visitor
from support.queue_site import admin, stranger
from support.stored_issues import TAXONOMY, issue, person, prediction
from support.verdicts import axis_verdict, make_verdict

NONE = dict.fromkeys(VIEWS.keys() - {REFUSED}, 0)
REGRESSED = "It worked in 1.0 and fails in 1.1."


@pytest.fixture
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    with queue(keyword_classifier, tmp_path_factory.mktemp("queue")) as opened:
        yield opened


def add_many(site: Queue, count: int, title: str = "exhausted timeout") -> list[str]:
    """Keys of new issues."""
    return [f"owner/repo#{number}@{site.add(number, title)}" for number in range(1, count + 1)]


def add_regression(site: Queue, number: int) -> None:
    """An issue whose report says that an earlier release worked."""
    said = site.classifier.classify(IssueReport("t", "")).model_copy(
        update={"signs": [Sign(name="regression", says=REGRESSED, line=1)]}
    )
    add_issue(site.store, "Owner/Repo", number, "t", "", said, time.time())


def many(client: httpx.Client, query: str = "", keys: Sequence[str] = (), **data: str) -> httpx.Response:
    """Send the form of the list: with these boxes ticked, or with `all`."""
    page = client.get(f"/queue?{query}")
    form = {"csrf": csrf(page), "query": query, "shown-at": field(page, "shown-at")}
    return client.post("/queue/bulk", data={**form, "issue": list(keys), **data})


def shown(client: httpx.Client, query: str) -> list[int]:
    """Numbers of the issues that the list shows."""
    return sorted(map(int, re.findall(r"name=\"issue\" value=\"[^#]+#(\d+)", client.get(f"/queue?{query}").text)))


def counts(client: httpx.Client, query: str = "") -> dict[str, int]:
    """View -> its count."""
    page = client.get(f"/queue?{query}").text
    tabs = re.findall(r'<a href="/queue[^"]*"[^>]*>(\w[\w ]*) <span class="count">([\d,]+)', page)
    return {name: int(count.replace(",", "")) for name, count in tabs}


# ---------------------------------------------------------------- views, filters, and why


def test_views_are_rows_and_count_what_they_list(site: Queue, admin: httpx.Client) -> None:
    keys = add_many(site, 4)
    site.add(9, "hangs", repository=REPOSITORIES[1])
    many(admin, keys=keys[:1], what="assign")
    many(admin, keys=keys[1:2], days="7")
    row = SuggestionRow(repository="owner/repo", number=3, action="add_label", value="x", at=time.time())
    site.store.begin_suggestions([row])
    add_regression(site, 10)
    assert counts(admin) == {**NONE, "Waiting": 5, "Mine": 1, "Snoozed": 1, "Suggested": 1, "Regressions": 1}
    other = counts(admin, "repository=owner/other&order=newest")
    assert other == {**NONE, "Waiting": 1}
    for name, view in VIEWS.items():
        query = "&".join(f"{key}={value}" for key, value in view.items())
        assert len(shown(admin, query)) == counts(admin).get(name, 0)  # one without issues may not be shown
    assert shown(admin, "sign=regression") == [10] and shown(admin, "sign=old-version") == []
    assert REGRESSED in admin.get("/queue/owner/repo/10").text
    page = admin.get("/queue?assigned=me").text
    assert re.search(r'aria-current="page">Mine', page) and "for default</span>" in page


def test_each_filter_finds_its_issues(site: Queue, admin: httpx.Client) -> None:
    verdict = site.classifier.classify(IssueReport(title="exhausted", body=""))
    own = [OwnLabel(label=label, probability=0.5, applied=label != "x") for label in ("area: net", "x")]
    symptom = verdict.axes["symptom"]
    first = FirstReading(outcome=Outcome.APPLY, label="hang", probability=0.5)
    differ = {**verdict.axes, "symptom": symptom.model_copy(update={"first_reading": first})}
    made = {
        1: verdict.model_copy(update={"own": own}),
        2: verdict.model_copy(update={"axes": differ}),
        3: site.classifier.classify(IssueReport(title="segfault timeout", body="")),
    }
    for number, said in made.items():
        add_issue(site.store, "Owner/Repo", number, "t", "", said, time.time(), author=f"Ann-{number}")
    add_issue(site.store, "Owner/Repo", 4, "t", "", made[3], time.time(), labels=["Area: Net", "y"])
    families = site.classifier.bundle.taxonomy.axes["symptom"].families
    (family,) = [name for name, ids in families.items() if symptom.label in ids]
    for query, numbers in {
        f"symptom=family:{family}": [1, 2],
        f"kind={verdict.axes['kind'].label}": [1, 2, 3, 4],
        "own=area: net": [1, 4],
        "own=x": [],
        "author=ann-3": [3],
        "decision=differ": [2],
        "decision=suggested": [],
        "assigned=nobody": [1, 2, 3, 4],
        "assigned=me": [],
    }.items():
        assert shown(admin, query) == numbers, query
    assert admin.get("/queue?symptom=family:none").status_code == 400
    assert "Symptom: Any: " in admin.get(f"/queue?symptom=family:{family}").text
    site.store.add_reviews(person(own_axis("area: net"), None, number=1, at=time.time()))
    assert shown(admin, "own=area: net&status=any") == [4]


def test_an_issue_says_its_place_and_why_it_stands_there(site: Queue, admin: httpx.Client) -> None:
    add_many(site, 3, "hangs timeout")
    places = {re.search(r"(\d of \d)</span>", admin.get(f"/queue/owner/repo/{number}").text)[1] for number in (1, 2, 3)}  # type: ignore[index]
    assert places == {"1 of 3", "2 of 3", "3 of 3"}
    assert " of 3</span>" not in admin.get("/queue/owner/repo/1?status=accepted").text
    verdict = make_verdict(axis_verdict("cause").model_copy(update={"probability": 0.2}))
    stored = prediction()
    stored.verdict = verdict
    assert (
        why_here(stored, TAXONOMY, waits_s=400 * 86400) == "runtime hang, distributed, root cause unsure, waits 1 year"
    )
    assert why_here(stored, TAXONOMY, shown=["symptom", "cause"]) == "distributed"
    assert why_here(stored, TAXONOMY, {"kind": person("kind", "question")}) == "distributed, question"
    assert why_here(stored, TAXONOMY, {"symptom": person(label="setup-hang"), "cause": person("cause", None)}) == (
        "setup hang, distributed"
    )
    assert why_here(None, TAXONOMY) == "not read yet"


# ---------------------------------------------------------------- many at once


@pytest.mark.parametrize("query", ["", "decision=apply", "search=exhausted", "after"])
def test_a_list_is_one_transaction_of_few_statements_however_long_it_is(
    site: Queue, admin: httpx.Client, query: str
) -> None:
    add_many(site, 1)
    site.multiply(1, 120)
    if query == "after":
        (query,) = re.findall(r'hx-get="/queue\?(after=[\w-]+)"', admin.get("/queue").text)
    said: list[str] = []

    def note(*given: object) -> None:
        said.append(str(given[2]))

    event.listen(site.store._read_engine, "before_cursor_execute", note)
    try:
        page = admin.get(f"/queue?{query}")
    finally:
        event.remove(site.store._read_engine, "before_cursor_execute", note)
    assert page.text.count("data-row") == 50 and 'data-count="121"' in page.text
    statements = [statement for statement in said if statement != "BEGIN"]
    assert len(said) - len(statements) == 1, "one transaction"
    assert len(statements) <= 12, statements
    assert sum("lower(issues.body)" in statement for statement in statements) == ("search" in query), "one search"


@pytest.mark.parametrize(
    ("data", "said", "undone"),
    [
        ({"days": "7"}, "Snoozed until", "Undone: snoozing 3 issues"),
        ({"what": "not_planned"}, "To be closed as not planned: 3 issues", "Undone: closing 3 issues as not planned"),
        (
            {"what": "duplicate", "of": "#9"},
            "a duplicate of #9: 3 issues",
            "Undone: closing 3 issues as a duplicate of #9",
        ),
        ({"what": "assign", "to": "@Mara"}, "Assigned to mara: 3 issues", "Undone: assigning 3 issues to mara"),
        ({"action": "label", "label": "symptom:leak"}, "Decided 3 issues.", "Undone: the decision on 3 issues"),
        ({"action": "dismiss"}, "Decided 3 issues.", "Undone: the decision on 3 issues"),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_many_are_acted_on_at_one_moment_and_undone_at_once(
    site: Queue, admin: httpx.Client, data: dict[str, str], said: str, undone: str, whole: bool
) -> None:
    site.add(9, "segfault timeout")
    keys = add_many(site, 3)
    before = shown(admin, "")
    if whole:
        many(admin, "symptom=oom", all="3", **data)
    else:
        many(admin, keys=keys, **data)
    page = admin.get("/queue").text
    assert said in page and "left as" not in page
    assert shown(admin, "") == (before if "to" in data else [9])
    admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
    assert undone in admin.get("/queue").text and shown(admin, "") == before
    if "to" in data:
        assert shown(admin, "assigned=nobody") == before


def test_all_that_match_are_those_of_the_page_and_conflicts_are_said(site: Queue, admin: httpx.Client) -> None:
    add_many(site, 3)
    page = admin.get("/queue?symptom=oom")
    form = {"csrf": csrf(page), "query": "symptom=oom", "shown-at": field(page, "shown-at"), "all": "3", "days": "1"}
    site.add(4, "exhausted timeout", age_s=-60)  # comes later
    site.store.set_state(IssueReference("owner/repo", 3), "closed", time.time() + 60)
    answer = admin.post("/queue/bulk", data=form)
    assert shown(admin, "status=snoozed") == [1, 2] and answer.headers["location"].endswith("left=1")
    assert "1 issue was left as it was" in admin.get(answer.headers["location"]).text


def test_labels_that_nobody_has_seen_are_not_accepted(site: Queue, admin: httpx.Client) -> None:
    add_many(site, 2)
    answer = many(admin, all="2", action="accept")
    assert answer.status_code == 400 and "only labels that you have seen" in answer.text
    assert site.status(1) == "open"


def test_a_label_is_set_only_where_its_axis_applies(site: Queue, admin: httpx.Client) -> None:
    keys = add_many(site, 2)
    site.store.add_reviews(person("kind", "question", number=2, at=time.time(), how="command", predicted_label="bug"))
    answer = many(admin, "status=any", all="2", action="label", label="symptom:leak")
    assert site.standing(1) == {"symptom": "leak"} and "symptom" not in site.standing(2)
    assert answer.headers["location"].endswith("left=1&why=owner%2Frepo%232%3Ano-axis")
    page = admin.get(answer.headers["location"]).text
    assert "1 issue was left" in page and "Owner/Repo#2</a> (the label&#39;s axis does not apply to it)." in page
    for label in ("symptom:none", "nothing", "symptom"):
        assert many(admin, keys=keys[:1], action="label", label=label).status_code == 400


def test_nothing_is_closed_where_the_app_is_not_and_that_is_said(site: Queue, admin: httpx.Client) -> None:
    site.store.save_repository("alone/here", display_name="Alone/Here")
    keys = [*add_many(site, 1), f"alone/here#5@{site.add(5, 'exhausted', repository='alone/here')}"]
    assert many(admin, keys=keys, what="completed").headers["location"] == "/queue?left=1&why=alone%2Fhere%235%3Ano-app"
    assert [act.number for act in site.store.acts(IssueReference("alone/here", 5))] == []
    assert many(admin, keys=keys, what="duplicate", of="9").status_code == 400  # of two repositories
    told = admin.get(
        "/queue?left=9&why=alone/here%235:no-app,alone/here%236:<b>,x:closed,,a%23b:c,any+text%237:closed"
    ).text
    assert "Alone/Here#5</a> (the App is not on this repository" in told and " and 8 more." in told
    assert "<b>" not in told and "#6" not in told and "any text" not in told
    answer = many(admin, keys=keys[1:], what="assign")
    assert answer.status_code == 303 and not site.store.list_work(Job)[1:]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"action": "none"},
        {"what": "x"},
        {"days": "5"},
        {"what": "assign", "to": "a b"},
        {"all": "x", "days": "1"},
    ],
)
def test_a_form_of_many_that_says_nothing_known_is_refused(
    site: Queue, admin: httpx.Client, data: dict[str, str]
) -> None:
    keys = add_many(site, 1)
    assert many(admin, keys=keys, **data).status_code == 400 and site.store.acts(IssueReference("owner/repo", 1)) == []


def test_a_long_selection_goes_in_parts_and_ends_somewhere(
    site: Queue, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add(1, "exhausted timeout")
    site.multiply(1, 119)
    monkeypatch.setattr(picked, "MAX_BULK", 110)
    monkeypatch.setattr(picked, "_AT_ONCE", 50)
    many(admin, all="120", days="1")
    assert counts(admin) == {**NONE, "Waiting": 10, "Snoozed": 110}
    admin.post("/queue/undo", data={"csrf": csrf(admin.get("/queue"))})
    assert counts(admin)["Waiting"] == 120


# ---------------------------------------------------------------- assigned on GitHub


def test_github_is_told_who_takes_an_issue_and_who_no_longer_does(github: GitHub, sqlite_store: Store) -> None:
    github.open("owner/repo#1", "A hang", "It hangs.")
    github.roles["mara"] = "triage"
    job = Job(key="k", lane="l", kind="close", repository="owner/repo", issue=1, created_at=1.0)
    client, this = Client(github.token, github.url, login=BOT["login"]), IssueReference("owner/repo", 1)
    sqlite_store.save_issue(issue())
    for login in ("mara", "nobody"):
        act = Act(repository="owner/repo", number=1, what="assign", who="x", at=NOW, assignee=login)
        sqlite_store.add_act(act)
    note = bring_in_step(client, sqlite_store, job).note
    assert note == "assigned, nobody cannot be assigned on GitHub, so only here"
    assert [person["login"] for person in github.issues["owner/repo#1"]["assignees"]] == ["mara"]
    refused, done = sqlite_store.acts(this)
    assert "so only here" in str(refused.refused) and done.carried_out
    assert bring_in_step(client, sqlite_store, job).nothing_to_do
    sqlite_store.undo_act(done)
    assert bring_in_step(client, sqlite_store, job).note == "unassigned"
    assert github.issues["owner/repo#1"]["assignees"] == [] and bring_in_step(client, sqlite_store, job).nothing_to_do


def test_who_was_assigned_by_a_worker_that_died_goes_once_that_is_undone(github: GitHub, sqlite_store: Store) -> None:
    github.open("owner/repo#1", "A hang", "It hangs.")
    github.roles |= {"mara": "triage", "eve": "triage"}
    client, this = Client(github.token, github.url, login=BOT["login"]), IssueReference("owner/repo", 1)
    sqlite_store.save_issue(issue())
    for login in ("eve", "mara", "admin:zoe"):
        sqlite_store.add_act(Act(repository="owner/repo", number=1, what="assign", who="x", at=NOW, assignee=login))
    here, by_the_dead, undone_before = sqlite_store.acts(this)
    sqlite_store.note_act(here, carried_out=False, refused="only here")
    sqlite_store.undo_act(undone_before)
    began_at = sqlite_store.clock()
    for login in ("mara", "eve"):  # somebody else assigned eve
        assign(client, this, login, off=False)
    for act in (here, by_the_dead):
        sqlite_store.undo_act(act)
    job = Job(key="k", lane="l", kind="close", repository="owner/repo", issue=1, created_at=began_at, attempts=2)
    assert bring_in_step(client, sqlite_store, job).note == "unassigned"
    assert [person["login"] for person in github.issues["owner/repo#1"]["assignees"]] == ["eve"]
