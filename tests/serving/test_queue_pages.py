# ruff: noqa: F401, F811  # fixtures
"""The pages of the queue: filters, searches, order, and what they show."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from sqlalchemy import QueuePool
from starlette.responses import Response

from distriage.answer.feedback import own_axis
from distriage.answer.verdict import Candidate, Differential, MissingFact
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.queue import routes
from distriage_serving.queue.listing import read_search
from distriage_serving.queue.pages import STATIC, said, show
from distriage_serving.store import Review

from support.checkout import REPOSITORY
from support.queue_demo import add_issue
from support.queue_server import Queue, csrf, log_in, queue, visitor
from support.queue_site import admin, site, stranger
from support.stored_issues import issue


def test_filters_narrow_the_list_and_refuse_what_is_not_to_be_chosen(site: Queue, admin: httpx.Client) -> None:
    site.add(21, "segfault of the filters", repository="owner/other")
    site.add(22, "hangs of the filters", repository="owner/other")

    def shown(**query: str) -> list[str]:
        return re.findall(
            r"(segfault|hangs) of the filters", admin.get("/queue", params={"repository": "owner/other", **query}).text
        )

    assert sorted(shown()) == ["hangs", "segfault"]
    assert (
        shown(symptom="crash") == ["segfault"]
        and shown(symptom="hang", status="any") == ["hangs"]
        and shown(fix="patch", symptom="oom") == []
    )
    assert (
        sorted(shown(decision="suggest")) == ["hangs", "segfault"]
        and shown(decision="abstain") == []
        and shown(status="accepted") == []
    )
    for query in (
        {"symptom": "made-up"},
        {"status": "<script>"},
        {"repository": "no/such"},
        {"decision": "x"},
        {"after": "nonsense"},
    ):
        refused = admin.get("/queue", params=query)
        assert refused.status_code == 400 and "<script>" not in refused.text


def test_words_and_phrases_are_searched_in_title_and_text(site: Queue, admin: httpx.Client) -> None:
    site.add(24, "hangs of the Search", "after 100% of `all_reduce`", repository="owner/other")
    site.add(25, "segfault of the Search", "of the reduce_all kernel", repository="owner/other")

    def found(search: str, **query: str) -> list[str]:
        return re.findall(
            r"(segfault|hangs) of the Search", admin.get("/queue", params={"search": search, **query}).text
        )

    assert sorted(found("SEARCH")) == ["hangs", "segfault"]
    assert found("search all_reduce") == ["hangs"] and found('"the reduce_all" segfault') == ["segfault"]
    assert found('"all_reduce the"') == [] == found("search", status="accepted") and found("100% of") == ["hangs"]
    assert found("all%reduce") == [] == found("'; drop table issues; --")
    assert found("“the reduce_all” segfault") == ["segfault"]
    assert read_search('"all “of” us" “none” “of ＮＣＣＬ').words == ["all “of” us", "none", "“of", "ＮＣＣＬ"]
    empty = admin.get("/queue", params={"search": "segfault all_reduce", "symptom": "crash"}).text
    (href,) = re.findall(r'<a href="([^"]*)">Search all issues', empty)
    assert href == "/queue?search=segfault+all_reduce&amp;status=any"
    assert "Search all issues" not in admin.get(href.replace("&amp;", "&")).text
    site.add(27, "hangs of the Search, closed", "all_reduce", state="closed", repository="owner/other")
    assert found("search all_reduce") == ["hangs"] and found("search all_reduce", status="any") == ["hangs", "hangs"]
    page = admin.get("/queue", params={"search": '"><script>'}).text
    assert "<script>" not in page and 'value="&#34;&gt;&lt;script&gt;"' in page and "No issue matches" in page


def test_a_number_leads_to_its_issue_in_any_state(site: Queue, admin: httpx.Client) -> None:
    site.add(26, "hangs", state="closed")
    full_width = ("＃26", "２６", "owner/repo＃２６")
    for text in ("#26", " 26 ", "Owner/Repo#26", "https://github.com/owner/repo/issues/26", *full_width):
        found = admin.get("/queue", params={"search": text, "symptom": "crash"})
        assert found.headers["location"] == "/queue/owner/repo/26?symptom=crash", text
    part = admin.get("/queue?search=26", headers={"HX-Request": "true"})
    assert part.headers["HX-Redirect"] == "/queue/owner/repo/26"
    site.add(26, "crashes", repository="owner/other")
    both = admin.get("/queue?search=26").text
    assert "2 issues" in both and "/queue/owner/other/26?" in both and "/queue/owner/repo/26?" in both
    for nowhere in ("no/such#26", "#" + "9" * 18, "987654"):
        assert "No issue of this number is known" in admin.get("/queue", params={"search": nowhere}).text


def test_the_order_holds_for_the_list_its_parts_and_the_way_through_it(site: Queue, admin: httpx.Client) -> None:
    for number, age_s in ((300, 500.0), (301, 100.0), (302, 300.0)):
        site.add(number, "sequencing", age_s=age_s)

    def numbers(**query: str) -> list[str]:
        page = admin.get("/queue", params={"search": "sequencing", **query}).text
        return re.findall(r'href="/queue/owner/repo/(\d+)\?', page)

    assert numbers(order="newest") == ["301", "302", "300"]
    assert numbers(order="oldest") == ["300", "302", "301"]
    assert admin.get("/queue", params={"order": "sideways"}).status_code == 400
    page = admin.get("/queue/owner/repo/302?search=sequencing&order=oldest").text
    assert re.search(r'/queue/owner/repo/300\?[^"]*" data-previous', page)
    assert re.search(r'/queue/owner/repo/301\?[^"]*" data-next', page)
    back = admin.get("/queue", params={"search": "sequencing", "order": "oldest", "at": "owner/repo#302"}).text
    assert re.search(r"/queue/owner/repo/302\?[^>]*autofocus", back)


def test_similar_issues_are_shown_with_what_fixed_them_where_the_model_knows_any(
    site: Queue, admin: httpx.Client, indexed_bundle: Path, tmp_path: Path
) -> None:
    site.add(23, "It hangs.")
    assert "Similar" not in admin.get("/queue/owner/repo/23?evidence=1").text
    with queue(Classifier(indexed_bundle, threads=1), tmp_path) as opened, visitor(opened) as client:
        opened.add(1, "NCCL timeout", "It hangs in all_reduce, memory exhausted.")
        log_in(client)
        link = '<a class="no-script-only" href="/queue/owner/repo/1?evidence=1">Look for similar known issues</a>'
        assert f'<span class="script-only">Looking…</span>{link}' in client.get("/queue/owner/repo/1").text
        part = client.get("/queue/owner/repo/1/evidence").text
        opened.store.save_issue(issue(2))
        waits = client.get("/queue/owner/repo/2").text
        assert "No verdict yet" in waits and "Looking" not in waits
        assert "Similar known issues" in client.get("/queue/owner/repo/2?evidence=1").text
        assert 'id="similar"' in part and "Fixed by <strong>" in part and 'rel="noreferrer noopener external"' in part


def test_the_differential_is_shown_even_by_a_model_that_lost_the_axis(site: Queue, admin: httpx.Client) -> None:
    site.add(26, "hangs")
    assert "Which cause" not in admin.get("/queue/owner/repo/26").text
    causes = [Candidate(label="gone", probability=0.41, check="Run `ping`.")]
    verdict = site.classifier.classify(IssueReport("It hangs", ""))
    verdict = verdict.model_copy(update={"differential": Differential(causes=causes, right_among=0.7)})
    add_issue(site.store, "owner/repo", 27, "It hangs", "", verdict, 1_700_000_000.0)
    page = admin.get("/queue/owner/repo/27").text
    assert '<strong>gone</strong> <span class="p">41%</span>: Run <code>ping</code>.' in page
    assert "the three likeliest in 70% of held-out reports" in page


def test_errors_are_pages_for_people_and_problems_for_programs(admin: httpx.Client) -> None:
    assert "that you may triage" in admin.get("/queue/no/such/1").text
    for path in ("/queue/owner/repo/999999", "/queue/no/such/1", f"/queue/owner/repo/{10**30}", "/queue/static/no.css"):
        assert admin.get(path).status_code == 404 and admin.get(path).text.startswith("<!doctype html>")
        problem = admin.get(path, headers={"Accept": "application/json"})
        assert problem.headers["content-type"] == "application/problem+json" and problem.json()["code"] == "not-found"
    assert admin.get("/queue/owner/repo/x").text.startswith("<!doctype html>")
    assert admin.get("/queue/charts", params={"axis": "x"}).status_code == 400


def test_pages_allow_no_script_but_our_own_and_no_frame(admin: httpx.Client) -> None:
    for path in ("/queue", "/queue/charts", "/queue/owner/repo/1", "/login"):
        policy = admin.get(path).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert admin.get(path).headers["Cache-Control"] == "no-store"
    page = admin.get("/queue").text
    addresses = re.findall(r'(?:src|href)="(/queue/static/[^"]+)"', page)
    assert addresses
    for address in addresses:
        assert "immutable" in admin.get(address).headers["Cache-Control"]
    assert " style=" not in page and "<script>" not in page and not re.search(r"\son\w+=", page)


def test_an_issue_without_prediction_and_one_that_is_gone_from_github_have_a_page(
    site: Queue, admin: httpx.Client
) -> None:
    site.add(31, "hangs", url="javascript:alert(1)", state="closed", labels=["<b>bold</b>"])
    page = admin.get("/queue/owner/repo/31").text
    assert "closed on GitHub" in page and "&lt;b&gt;bold" in page and "javascript:" not in page


def test_what_is_missing_shows_its_commands_as_code(site: Queue, admin: httpx.Client) -> None:
    asked = MissingFact(fact="nccl", question="Which NCCL version? (`grep -c <b>`)")
    verdict = site.classifier.classify(IssueReport(title="hangs", body="")).model_copy(update={"missing": [asked]})
    add_issue(site.store, "owner/repo", 32, "hangs", "", verdict, site.store.clock())
    page = admin.get("/queue/owner/repo/32").text
    assert "<li>Which NCCL version? (<code>grep -c &lt;b&gt;</code>)</li>" in page


def test_htmx_is_the_released_file() -> None:
    notes = (REPOSITORY / "serving/distriage_serving/queue/static/htmx.LICENSE.txt").read_text(encoding="utf-8")
    assert hashlib.sha256(STATIC["htmx.min.js"].content).hexdigest() in notes


def test_a_broken_configuration_is_announced_with_its_place(site: Queue, admin: httpx.Client) -> None:
    site.add(31, "exhausted")
    fault = ".github/distriage.yml:3: mode: 'precize' <b>; expected best, balanced or precise"
    site.store.save_repository("owner/repo", config_error=fault)
    try:
        for path in ("/queue", "/queue?repository=owner/repo", "/queue/owner/repo/31"):
            page = admin.get(path).text
            assert "Owner/Repo</strong>: its configuration cannot be read" in page and "distriage.yml:3: mode" in page
            assert "<b>;" not in page
        assert "cannot be read" not in admin.get("/queue?repository=owner/other").text
    finally:
        site.store.save_repository("owner/repo", config_error=None)
    assert "cannot be read" not in admin.get("/queue").text


def test_a_label_of_the_repository_hides_nothing_among_the_decisions(site: Queue, admin: httpx.Client) -> None:
    site.add(95, "exhausted")
    said = {"repository": "owner/repo", "number": 95, "who": "mara", "how": "queue", "at": site.store.clock()}
    site.store.add_reviews(Review(axis=own_axis("x\u202egnp"), label="x\u202egnp", **said))
    page = admin.get("/queue/owner/repo/95").text
    assert "\u202e" not in page and "U+202E" in page


def test_each_axis_says_who_decided_it(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(32, "exhausted timeout")
    data = {"csrf": csrf(admin.get("/queue")), "action": "accept", "verdict": str(verdict_id)}
    admin.post("/queue/owner/repo/32", data={**data, "axis.symptom": "oom", "axis.fix": "patch"})
    page = admin.get("/queue/owner/repo/32").text
    assert page.count('class="reviewed"') == 2
    assert "right: admin:default" in page and "corrected: admin:default" in page


@pytest.mark.parametrize(
    ("outcome", "probability", "word"),
    [("apply", 0.95, "Sure"), ("apply", 0.6, "Likely"), ("apply", 0.24, "Best guess"), ("suggest", 0.42, "Perhaps")],
)
def test_words_and_figures_agree(outcome: str, probability: float, word: str) -> None:
    assert said(outcome, probability) == word


def test_browsers_are_led_to_the_queue_and_shown_pages(admin: httpx.Client) -> None:
    assert admin.get("/").headers["location"] == "/queue"
    assert admin.get("/", headers={"Accept": "*/*"}).json()["code"] == "not-found"
    for path in ("/nothing", "/queue/nope", "/favicon.ico", "/queue/owner/repo/x"):
        shown = admin.get(path)
        assert shown.status_code == 404 and shown.text.startswith("<!doctype html>"), path
    assert admin.get("/v1/nothing").json()["code"] == "not-found"


def test_coming_back_to_a_row_that_is_gone_leads_to_the_next_one(site: Queue, admin: httpx.Client) -> None:
    for number in range(200, 270):
        site.add(number, f"grows {number}", age_s=3600 + number)
    page = admin.get("/queue", params={"symptom": "leak", "at": "owner/repo#205"}).text
    assert page.count("autofocus") == 1 and re.search(r"/queue/owner/repo/205\?[^>]*autofocus", page)
    assert page.count("data-row") > 60  # both parts
    admin.post(
        "/queue/bulk",
        data={"csrf": csrf(admin.get("/queue")), "action": "dismiss", "issue": re.findall(r"owner/repo#205@\d+", page)},
    )
    page = admin.get("/queue", params={"symptom": "leak", "at": "owner/repo#205"}).text
    assert re.search(r"/queue/owner/repo/204\?[^>]*autofocus", page)
    for hostile in ("x", "owner/repo#" + "9" * 30, "no/such#1", "#", "owner/repo#-1"):
        assert "autofocus" not in admin.get("/queue", params={"at": hostile}).text


def test_no_connection_waits_for_a_page_to_be_rendered(
    site: Queue, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add(26, "hangs while rendered", repository="owner/other")
    held: dict[str, int] = {}

    def render(template: str, *given: Any, **context: Any) -> Response:
        held[template] = pool.checkedout()
        return show(template, *given, **context)

    pool = cast(QueuePool, site.store._read_engine.pool)
    monkeypatch.setattr(routes, "show", render)
    for path in ("/queue", "/queue/owner/other/26", "/queue/owner/other/26/evidence"):
        assert admin.get(path).status_code == 200
    assert held == {"list.html": 0, "issue.html": 0, "evidence.html": 0}


def test_after_an_edit_the_page_keeps_who_was_right_and_says_why_the_issue_waits_again(
    site: Queue, admin: httpx.Client
) -> None:
    verdict_id = site.add(33, "exhausted timeout")
    data = {"csrf": csrf(admin.get("/queue")), "action": "accept", "verdict": str(verdict_id)}
    admin.post("/queue/owner/repo/33", data={**data, "axis.kind": "bug", "axis.symptom": "oom"})
    before = site.store.get_issue("owner/repo", 33)
    assert before is not None
    site.add(33, "how do I", created_at=before.created_at)
    assert site.status(33) == "open"
    page = admin.get("/queue/owner/repo/33").text
    assert page.count("right: admin:default") == 2 and "edited since admin:default decided" in page
    assert "edited since admin:default decided" in admin.get("/queue?search=how+do+I").text
