# ruff: noqa: F401, F811  # fixtures
"""What "Duplicate of" names, where no issue has the number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from distriage.base.references import IssueReference
from distriage_serving.github.app_auth import App, open_app
from distriage_serving.settings import load_settings
from distriage_serving.store import Lifecycle

from support import faults
from support.app_key import APP_ID, app_key, app_key_pem
from support.faults import Trouble
from support.github import INSTALLATION, GitHub
from support.queue_server import Queue, csrf
from support.queue_site import admin, site, stranger


@pytest.fixture
def github(site: Queue, app_github: GitHub) -> Iterator[GitHub]:
    """The GitHub that the queue's App asks."""
    state = site.server.app.state
    state.desk = replace(state.desk, app=App(APP_ID, app_key(), app_github.url))
    site.store.save_repository("owner/repo", installation_id=INSTALLATION)
    yield app_github
    state.desk = replace(state.desk, app=None)


def mark(client: httpx.Client, number: int, other: int) -> httpx.Response:
    fields = {"csrf": csrf(client.get("/queue")), "what": "duplicate", "of": f"#{other}"}
    return client.post(f"/queue/owner/repo/{number}/act", data=fields)


def acts(site: Queue, number: int) -> int:
    return len(site.store.acts(IssueReference("owner/repo", number)))


def test_a_number_that_github_does_not_know_is_refused(site: Queue, admin: httpx.Client, github: GitHub) -> None:
    site.add(1, "hangs")
    refused = mark(admin, 1, 77)
    assert refused.status_code == 400 and "GitHub knows no issue Owner/Repo#77" in refused.text
    assert acts(site, 1) == 0
    github.open("owner/repo#77", "The first report", "It hangs.")
    marked = mark(admin, 1, 77)
    assert marked.status_code == 303, marked.text
    assert acts(site, 1) == 1


@pytest.mark.parametrize(
    ("number", "fields", "said"),
    [
        (
            1,
            {"what": "duplicate", "of": "1"},
            "An issue cannot be its own duplicate; give the number of the other issue.",
        ),
        (1, {"what": "duplicate", "of": "77"}, "GitHub knows no issue Owner/Repo#77"),
        (1, {"what": "duplicate", "of": "x"}, "Duplicate of &#39;x&#39;: expected the number or the address of"),
        (1, {"what": "duplicate", "of": "#0"}, "expected the number or the address of the other issue"),
        (1, {"what": "duplicate", "of": "owner/other#12"}, "expected an issue of owner/repo"),
        (1, {"what": "duplicate", "of": "https://github.com/a/b/issues/7"}, "expected an issue of owner/repo"),
        (1, {"what": "assign", "to": "a b"}, "Assign to &#39;a b&#39;: expected a login"),
        (2, {"what": "completed"}, "the issue is closed on GitHub already"),
    ],
)
@pytest.mark.usefixtures("github")
def test_a_form_that_is_refused_leads_back_to_its_page_in_plain_words(
    site: Queue, admin: httpx.Client, number: int, fields: dict[str, str], said: str
) -> None:
    site.add(number, "hangs", state="open" if number == 1 else "closed")
    fields |= {"csrf": csrf(admin.get("/queue")), "query": "status=any"}
    refused = admin.post(f"/queue/owner/repo/{number}/act", data=fields)
    assert (
        said in refused.text and f'href="/queue/owner/repo/{number}?status=any">Back to the issue</a>' in refused.text
    )
    assert "Nothing was changed" in refused.text and "Bad Request" not in refused.text


def test_a_refused_form_of_the_list_leads_back_to_it(admin: httpx.Client) -> None:
    fields = {"csrf": csrf(admin.get("/queue")), "query": "status=any", "action": "explode"}
    refused = admin.post("/queue/bulk", data=fields)
    assert refused.status_code == 400 and 'href="/queue?status=any">Back to the list</a>' in refused.text


def test_github_is_not_asked_about_what_is_known_nor_by_strangers(
    site: Queue, admin: httpx.Client, github: GitHub
) -> None:
    site.add(2, "hangs")
    site.add(3, "hangs")
    assert mark(admin, 2, 3).status_code == 303 and acts(site, 2) == 1
    fields = {"csrf": "x", "what": "duplicate", "of": "#99"}
    assert admin.post("/queue/owner/repo/3/act", data=fields).status_code == 403
    assert github.requests == []


@pytest.mark.parametrize(("state", "status"), [("deleted", 400), ("transferred", 400), ("closed", 303)])
def test_github_is_asked_about_an_issue_that_went(
    site: Queue, admin: httpx.Client, github: GitHub, state: Lifecycle, status: int
) -> None:
    site.add(6, "hangs")
    site.add(7, "hangs", state=state)
    assert mark(admin, 6, 7).status_code == status
    assert any(request.path.endswith("/issues/7") for request in github.requests) == (status == 400)


def test_where_github_cannot_say_nothing_is_closed(site: Queue, admin: httpx.Client, github: GitHub) -> None:
    site.add(4, "hangs")
    github.close()
    refused = mark(admin, 4, 99)
    assert refused.status_code == 503 and "GitHub cannot say whether there is an issue Owner/Repo#99" in refused.text
    assert acts(site, 4) == 0


def test_a_person_does_not_wait_for_several_attempts(site: Queue, admin: httpx.Client, github: GitHub) -> None:
    site.add(8, "hangs")
    github.troubles.append(Trouble("/issues/98$", faults.status(502), times=9))
    assert mark(admin, 8, 98).status_code == 503
    assert [request.path for request in github.requests].count("/repos/owner/repo/issues/98") == 1


def test_an_app_that_github_does_not_know_is_no_missing_issue(site: Queue, admin: httpx.Client, github: GitHub) -> None:
    site.add(5, "hangs")
    github.open("owner/repo#78", "The first report", "It hangs.")
    site.store.save_repository("owner/repo", installation_id=INSTALLATION + 1)
    assert mark(admin, 5, 78).status_code == 503 and acts(site, 5) == 0


def test_the_app_of_the_settings_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_app(load_settings()) is None
    monkeypatch.setenv("DISTRIAGE_GITHUB_APP_ID", APP_ID)
    monkeypatch.setenv("DISTRIAGE_GITHUB_PRIVATE_KEY", app_key_pem())
    monkeypatch.setenv("DISTRIAGE_GITHUB_WEBHOOK_SECRET", "a-secret-of-the-tests")
    assert isinstance(open_app(load_settings()), App)
