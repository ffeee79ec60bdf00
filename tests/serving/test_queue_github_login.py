# ruff: noqa: F401, F811  # fixtures
"""Who gets into the queue by an account of GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from distriage.classifier import Classifier

from support.queue_login import GITHUB, OAuthGitHub, begin, oauth
from support.queue_server import REPOSITORIES, Queue, csrf, queue, visitor


@pytest.fixture
def with_github(keyword_classifier: Classifier, tmp_path: Path) -> Iterator[Queue]:
    with queue(keyword_classifier, tmp_path, admin_token=None, **GITHUB) as opened:
        opened.add(1, "hangs")
        opened.add(2, "segfault", repository=REPOSITORIES[1])
        yield opened


def test_people_see_the_repositories_whose_issues_they_may_label(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        assert "Administrator" not in client.get("/login").text
        state = begin(client, oauth)
        entered = client.get("/login/github/callback", params={"code": "good", "state": state})
        assert entered.headers["location"] == "/queue/charts"
        page = client.get("/queue").text
        assert "hangs" in page and "segfault" not in page and "owner/other" not in page and "mara" in page
        assert client.get("/queue/owner/repo/1").status_code == 200
        with_github.add(3, "triaged by role", repository="owner/triaged")
        assert client.get("/queue/owner/triaged/3").status_code == 200
        assert client.get("/queue/owner/other/2").status_code == 404
        second = with_github.store.latest_verdict("owner/other", 2)
        assert second is not None
        refused = client.post(
            "/queue/bulk",
            data={"csrf": csrf(client.get("/queue")), "action": "accept", "issue": f"owner/other#2@{second.id}"},
        )
        assert refused.status_code == 404 and with_github.status(2, "owner/other") == "open"


def test_what_one_may_no_longer_label_is_not_undone(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        page = client.get("/queue").text
        key = re.findall(r"owner/repo#1@[\w@.]+", page)
        client.post("/queue/bulk", data={"csrf": csrf(client.get("/queue")), "action": "accept", "issue": key})
        assert with_github.status(1) == "accepted"
        del oauth.repositories[0]
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        page = client.get("/queue")
        assert "Owner/Repo" not in page.text
        client.post("/queue/undo", data={"csrf": csrf(page)})
        assert with_github.status(1) == "accepted"


def test_the_place_of_an_issue_that_one_may_not_see_is_not_told(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        for number, repository, told in ((1, "owner/repo", True), (2, "owner/other", False)):
            for order in ("newest", "oldest", "priority"):
                page = client.get("/queue", params={"at": f"{repository}#{number}", "order": order}).text
                assert ("autofocus" in page) == told


def test_a_login_that_was_not_begun_here_or_fails_is_refused(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        assert client.get("/login/github/callback", params={"code": "good", "state": ""}).status_code == 403
        begin(client, oauth)
        assert client.get("/login/github/callback", params={"code": "good", "state": "of-another"}).status_code == 403
        assert (
            client.get("/login/github/callback", params={"code": "bad", "state": begin(client, oauth)}).status_code
            == 403
        )
        state = begin(client, oauth)
        oauth.challenge = "of another"
        assert client.get("/login/github/callback", params={"code": "good", "state": state}).status_code == 403
        oauth.repositories = oauth.repositories[1:2]
        refused = client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        assert refused.status_code == 403 and "the role triage is needed" in refused.text
        assert client.get("/queue").status_code == 303


def test_of_two_tabs_the_newer_gets_in_whichever_comes_back_first(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        older, newer = begin(client, oauth), begin(client, oauth)
        assert client.get("/login/github/callback", params={"code": "good", "state": older}).status_code == 403
        assert client.get("/login/github/callback", params={"code": "good", "state": newer}).status_code == 303
        assert client.get("/queue").status_code == 200


def test_a_link_to_the_login_with_github_ends_no_session(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        client.get("/login/github")
        assert client.get("/queue").status_code == 200


def test_an_account_that_is_named_like_an_administrator_is_another_person(
    with_github: Queue, oauth: OAuthGitHub
) -> None:
    oauth.login = "admin"
    with visitor(with_github) as client:
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        page = client.get("/queue").text
        assert "administrator" not in page and "segfault" not in page
    assert [session.who for session in with_github.store.list_sessions()] == ["admin"]
