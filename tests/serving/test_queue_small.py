# ruff: noqa: F401, F811  # fixtures
"""Addresses, names and templates as people have them."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from distriage.classifier import Classifier
from distriage_serving.app import create_app
from distriage_serving.demo.fill import demo_options, demo_reports, fill
from distriage_serving.queue.report.rendered import MAX_FRONT_MATTER, fenced, render
from distriage_serving.settings import load_settings
from distriage_serving.store import Store

from support.linear_time import in_time
from support.queue_server import Queue, csrf, log_in, queue, visitor
from support.queue_site import admin, site, stranger


@pytest.mark.parametrize("path", ["/queue", "/queue/", "/queue/owner/repo/1", "/queue?status=any"])
def test_without_a_login_the_queue_says_what_to_set(path: str) -> None:
    answer = TestClient(create_app(load_settings())).get(path)
    assert answer.status_code == 404
    assert "set DISTRIAGE_ADMIN_TOKEN, or for a login with GitHub" in answer.json()["detail"]


def test_other_paths_are_no_queue() -> None:
    assert "no such path" in TestClient(create_app(load_settings())).get("/queues").json()["detail"]


def test_a_slash_more_leads_to_the_list(admin: httpx.Client) -> None:
    assert admin.get("/queue/").headers["location"] == "/queue"
    assert admin.get("/queue/?symptom=crash").headers["location"] == "/queue?symptom=crash"


def test_what_a_template_left_before_a_report_is_shown_as_code_and_not_as_a_heading() -> None:
    head = "---\nname: Bug report\nabout: It fails\nlabels:\n  - bug\nassignees: ''\n---\n"
    html, _ = render(f"{head}\n# It hangs\n\nFor ever.", {8: ["symptom"], 10: ["stage"]})
    assert "<h2>" not in html and "<hr" not in html and "name: Bug report\n" in html and "<h1>" in html
    assert html.index("</code>") < html.index(">It hangs</mark>") < html.index(">For ever.</mark>")
    windows, _ = render(head.replace("\n", "\r\n") + "It hangs", {})
    assert "<h2>" not in windows and "It hangs" in windows


@pytest.mark.parametrize(
    "body",
    [
        "---\nIt hangs\n---\nFor ever.",  # a rule, and a heading
        "---\na: b\n```\n---\n",
        "---\na: ~~~\n---\n",
        "---\n\na: b\n---\n",
        "---\n" + "a: b\n" * (MAX_FRONT_MATTER + 1) + "---\n",
        "---\na: b\n",
        "---",
    ],
)
def test_what_is_no_front_matter_stays_as_github_shows_it(body: str) -> None:
    assert fenced(body) == body


def test_a_report_of_front_matter_is_rendered_in_linear_time() -> None:
    assert in_time(lambda body: render(body, {}), "---\n" + "a: b\n" * 10_000)
    assert in_time(lambda body: render(body, {}), "---\n" + "-" * 60_000)


def test_an_empty_queue_says_how_to_fill_it_and_a_demo_does(keyword_classifier: Classifier, tmp_path: Path) -> None:
    with queue(keyword_classifier, tmp_path) as opened, visitor(opened) as client:
        log_in(client)
        assert "distriage backfill OWNER/REPO --dry-run" in client.get("/queue").text
        fill(opened.store, keyword_classifier, demo_reports())
        page = client.get("/queue?repository=demo/trainer").text
    assert "Training hangs in the first all_reduce" in page and "Decisions stay here" in page


def test_a_demo_has_a_database_of_its_own_and_a_token_to_log_in_with(keyword_bundle: Path, tmp_path: Path) -> None:
    given = {"model": str(keyword_bundle), "database": f"sqlite:///{tmp_path / 'mine.db'}"}
    options = demo_options(load_settings(given), str(tmp_path))
    assert options["database"] == f"sqlite:///{tmp_path / 'demo.db'}" and len(options["admin_token"]) == 32
    with Store.open(options["database"]) as store:
        assert store.count_issues() == len(demo_reports()) and not (tmp_path / "mine.db").exists()
    own = load_settings({**given, "admin_token": "a-token-of-my-own"})
    (tmp_path / "demo.db").unlink()
    assert demo_options(own, str(tmp_path))["admin_token"] == "a-token-of-my-own"
