# ruff: noqa: F401, F811  # fixtures
"""For how long somebody is in the queue, and who ends that."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import httpx
import pytest
from itsdangerous import BadSignature, URLSafeTimedSerializer

from distriage.classifier import Classifier
from distriage_serving.administrators import make_entry

from support import local_http
from support.command_line import Command, assert_one_line
from support.queue_login import GITHUB, HER_TOKEN, OAuthGitHub, admin, begin, oauth, site, stranger
from support.queue_server import TOKEN, Queue, csrf, log_in, queue, visitor


def copy_of(client: httpx.Client) -> httpx.Client:
    """A browser with the same cookies."""
    return local_http.Client(base_url=client.base_url, cookies=dict(client.cookies), headers=client.headers, timeout=60)


def test_a_cookie_copied_before_the_logout_is_worth_nothing_after_it(admin: httpx.Client) -> None:
    with copy_of(admin) as thief:
        assert thief.get("/queue").status_code == 200
        admin.post("/logout", data={"csrf": csrf(admin.get("/queue"))})
        assert thief.get("/queue").status_code == 303


def test_a_new_login_ends_the_session_that_the_browser_had(site: Queue, admin: httpx.Client) -> None:
    copied = admin.cookies["distriage_session"]
    admin.cookies.delete("distriage_session")
    token = csrf(admin.get("/login"))
    admin.cookies.set("distriage_session", copied)
    assert admin.post("/login", data={"csrf": token, "token": TOKEN}).status_code == 303
    with visitor(site) as thief:
        thief.cookies.set("distriage_session", copied)
        assert thief.get("/queue").status_code == 303


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_cookies_that_came_by_https_never_travel_without_it(stranger: httpx.Client, scheme: str) -> None:
    headers = {"X-Forwarded-Proto": scheme}  # of the proxy in front; the settings name no public URL
    page = stranger.get("/login", headers=headers)
    headers["Cookie"] = page.headers["set-cookie"].partition(";")[0]
    entered = stranger.post("/login", data={"csrf": csrf(page), "token": TOKEN}, headers=headers)
    cookies = [*page.headers.get_list("set-cookie"), *entered.headers.get_list("set-cookie")]
    assert entered.status_code == 303 and len(cookies) == 3  # the login's, the session's, the end of the login's
    assert ["secure" in cookie.lower().split("; ") for cookie in cookies] == [scheme == "https"] * 3


def test_the_database_holds_no_cookie_and_the_login_page_nothing_of_a_token(site: Queue, admin: httpx.Client) -> None:
    (session, *_) = site.store.list_sessions()
    assert admin.cookies["distriage_session"] not in repr(session) and session.id != admin.cookies["distriage_session"]
    with visitor(site) as anonymous:
        cookie = anonymous.get("/login").cookies["distriage_login"]

    def signed_by(key: str | bytes) -> bool:
        """Whether a stranger who has the cookie could tell that this is the key."""
        try:
            URLSafeTimedSerializer(key, salt="login", signer_kwargs={"digest_method": hashlib.sha256}).loads(cookie)
        except BadSignature:
            return False
        return True

    first = site.store.shared_value("session-key", lambda: "another")
    assert len(first) == 64 and signed_by(first)
    assert not signed_by(TOKEN) and not signed_by(hashlib.sha256(f"distriage session\0{TOKEN}".encode()).digest())


def test_sessions_are_listed_and_ended_from_the_command_line(
    site: Queue, admin: httpx.Client, command: Command
) -> None:
    database = f"sqlite:///{site.file}"
    listed = command("sessions", "list", "--database", database).out.splitlines()
    mine = next(line for line in listed if "admin:default" in line).split()[0]
    assert command("sessions", "end", mine, "--database", database).out == "1 ended\n"
    assert admin.get("/queue").status_code == 303
    with visitor(site) as other:
        log_in(other)
        command("sessions", "end", "admin:default", "--database", database)
        assert other.get("/queue").status_code == 303
    assert_one_line(command("sessions", "end", "nobody", "--database", database), "nobody")
    assert command("sessions", "end", "all", "--database", database).code == 0
    empty = command("sessions", "list", "--database", database)
    assert (empty.out, empty.err) == ("", "distriage: nobody is logged in\n")


def test_a_session_that_the_settings_refuse_is_listed_as_such(
    keyword_classifier: Classifier, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    hers = make_entry("mara", HER_TOKEN)
    with (
        queue(keyword_classifier, tmp_path, admins=[hers]) as opened,
        visitor(opened) as client,
        visitor(opened) as her,
    ):
        log_in(client)
        log_in(her, HER_TOKEN, "mara")
        database = f"sqlite:///{opened.file}"
    for admins, refused in ((hers, False), (make_entry("tobias", "another token"), True), ("", False)):
        monkeypatch.setenv("DISTRIAGE_ADMINS", admins)  # without any login the settings are not the server's
        if admins:
            monkeypatch.setenv("DISTRIAGE_ADMIN_TOKEN", TOKEN)
        else:
            monkeypatch.delenv("DISTRIAGE_ADMIN_TOKEN")
        listed = command("sessions", "list", "--database", database).out.splitlines()
        assert [line.endswith("  refused by the settings") for line in listed] == [refused, False]
        assert "admin:mara" in listed[0] and "admin:default" in listed[1]


@pytest.mark.parametrize(("by_github", "hours"), [(True, 1), (False, 12)])
def test_sessions_end_by_themselves(
    keyword_classifier: Classifier, tmp_path: Path, oauth: OAuthGitHub, by_github: bool, hours: int
) -> None:
    with queue(keyword_classifier, tmp_path, **GITHUB) as opened, visitor(opened) as client:
        opened.add(1, "hangs")
        if by_github:
            client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        else:
            log_in(client)
        now = time.time()
        opened.store.clock = lambda: now + hours * 3600 - 5
        assert client.get("/queue").status_code == 200
        opened.store.clock = lambda: now + hours * 3600 + 5
        assert client.get("/queue").status_code == 303


def test_another_token_ends_the_sessions_of_the_old_one(keyword_classifier: Classifier, tmp_path: Path) -> None:
    with queue(keyword_classifier, tmp_path) as opened, visitor(opened) as client:
        log_in(client)
        cookies = dict(client.cookies)
    for token, status in ((TOKEN[::-1], 303), (TOKEN, 200)):
        with queue(keyword_classifier, tmp_path, admin_token=token) as opened, visitor(opened) as client:
            client.cookies.update(cookies)
            assert client.get("/queue").status_code == status


@pytest.mark.parametrize("settings", [GITHUB | {"github_client_id": "Iv1.other"}, {}])
def test_another_app_or_none_ends_the_sessions_of_those_who_logged_in_by_it(
    keyword_classifier: Classifier, tmp_path: Path, oauth: OAuthGitHub, settings: dict[str, str]
) -> None:
    with queue(keyword_classifier, tmp_path, **GITHUB) as opened, visitor(opened) as client:
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        cookies = dict(client.cookies)
    for configured, status in ((settings, 303), (GITHUB, 200)):
        with queue(keyword_classifier, tmp_path, **configured) as opened, visitor(opened) as client:
            client.cookies.update(cookies)
            assert client.get("/queue").status_code == status
