"""Who gets into the queue, for how long, and who is let out again."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pydantic import SecretStr

from distriage.classifier import Classifier
from distriage.errors import ConfigError
from distriage.references import IssueReference
from distriage_serving.administrators import Administrators, make_entry
from distriage_serving.queue.attempts import Attempts
from distriage_serving.settings import load_settings

from support.command_line import Command, assert_one_line
from support.databases import Clock
from support.queue_server import REPOSITORIES, TOKEN, Queue, csrf, log_in, queue, visitor

SECRET = "client-secret-of-the-tests"
GITHUB = {"github_client_id": "Iv1.abc", "github_client_secret": SECRET, "public_url": "http://127.0.0.1"}
HER_TOKEN = "a-token-that-only-mara-knows"


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    folder = tmp_path_factory.mktemp("queue")
    with queue(keyword_classifier, folder, admins=[make_entry("mara", HER_TOKEN)]) as opened:
        opened.add(1, "exhausted")
        yield opened


@pytest.fixture
def browser(site: Queue, clock: Clock) -> Iterator[httpx.Client]:
    site.server.app.state.attempts = Attempts(clock)
    with visitor(site) as client:
        yield client


@pytest.fixture
def admin(browser: httpx.Client) -> httpx.Client:
    assert log_in(browser).headers["location"] == "/queue"
    return browser


# ---------------------------------------------------------------- login


def test_nobody_sees_anything_without_a_login(browser: httpx.Client) -> None:
    for path in ("/queue", "/queue/charts", "/queue/owner/repo/1", "/queue/owner/repo/1/evidence"):
        answer = browser.get(path)
        assert answer.status_code == 303 and answer.headers["location"].startswith("/login?then=%2Fqueue"), path
    part = browser.get("/queue/owner/repo/1/evidence", headers={"HX-Request": "true"})
    assert part.status_code == 204 and part.headers["HX-Redirect"] == "/login"
    for path in ("/queue/bulk", "/queue/undo", "/queue/owner/repo/1", "/logout"):
        assert browser.post(path, data={"action": "accept"}).headers["location"] == "/login"


def test_a_wrong_token_is_refused_and_the_right_one_leads_to_where_one_wanted_to_go(browser: httpx.Client) -> None:
    for wrong in ("", "x" * 16, TOKEN + "x", TOKEN[:-1], "\ud7ff"):
        refused = log_in(browser, wrong)
        assert refused.status_code == 403 and "not the token of an administrator" in refused.text
        assert browser.get("/queue").status_code == 303
    page = browser.get("/login?then=%2Fqueue%3Fstatus%3Dany")
    entered = browser.post("/login", data={"csrf": csrf(page), "token": TOKEN})
    assert entered.headers["location"] == "/queue?status=any"
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    browser.post("/logout", data={"csrf": csrf(browser.get("/queue"))})
    assert browser.get("/queue").status_code == 303


@pytest.mark.parametrize(
    "place", ["https://evil.example", "//evil.example", "/queue@evil.example", "/queue\r\nX: y", "/queue/\\evil"]
)
def test_the_login_leads_nowhere_else(browser: httpx.Client, place: str) -> None:
    page = browser.get("/login", params={"then": place})
    assert browser.post("/login", data={"csrf": csrf(page), "token": TOKEN}).headers["location"] == "/queue"


@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_forged_cookie_is_no_login(admin: httpx.Client, place: int) -> None:
    cookie = admin.cookies["distriage_session"]
    forged = list(cookie)
    forged[place] = "A" if cookie[place] != "A" else "Q"
    admin.cookies.clear()
    admin.cookies.set("distriage_session", "".join(forged))
    assert admin.get("/queue").status_code == 303


def test_without_a_login_configured_there_is_no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load_settings().has_queue
    monkeypatch.setenv("DISTRIAGE_ADMIN_TOKEN", "short")
    with pytest.raises(ConfigError, match="DISTRIAGE_ADMIN_TOKEN: has fewer than 16 characters") as refused:
        load_settings()
    assert "short" not in str(refused.value).replace("shorter", "")
    monkeypatch.delenv("DISTRIAGE_ADMIN_TOKEN")
    monkeypatch.setenv("DISTRIAGE_GITHUB_CLIENT_ID", "Iv1.abc")
    with pytest.raises(ConfigError, match="github_client_secret and public_url"):
        load_settings()


# ---------------------------------------------------------------- GitHub


class OAuthGitHub:
    """GitHub's login: gives a token for the code if the verifier is the challenge's; one account, two installations."""

    def __init__(self) -> None:
        self.challenge = ""
        self.login = "mara"
        self.repositories = [
            {"full_name": "Owner/Repo", "permissions": {"push": True}},
            {"full_name": "owner/other", "permissions": {"push": False, "triage": False, "pull": True}},
            {"full_name": "owner/triaged", "permissions": {"push": False, "triage": True}},
        ]
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = {
                    name: values[0]
                    for name, values in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()
                }
                proof = (
                    base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
                    .rstrip(b"=")
                    .decode()
                )
                good = form["code"] == "good" and form["client_secret"] == SECRET and proof == double.challenge
                self._answer(
                    {"access_token": "ghu_1", "token_type": "bearer"} if good else {"error": "bad_verification_code"}
                )

            def do_GET(self) -> None:
                assert self.headers["Authorization"] == "Bearer ghu_1"
                path = urlsplit(self.path).path
                answers = {
                    "/user": {"login": double.login},
                    "/user/installations": {"installations": [{"id": 7}]},
                    "/user/installations/7/repositories": {"repositories": double.repositories},
                }
                self._answer(answers[path])

            def _answer(self, value: object) -> None:
                content = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def oauth(monkeypatch: pytest.MonkeyPatch) -> Iterator[OAuthGitHub]:
    double = OAuthGitHub()
    monkeypatch.setenv("GITHUB_SERVER_URL", double.url)
    monkeypatch.setenv("GITHUB_API_URL", double.url)
    yield double
    double.close()


@pytest.fixture
def with_github(keyword_classifier: Classifier, tmp_path: Path) -> Iterator[Queue]:
    with queue(keyword_classifier, tmp_path, admin_token=None, **GITHUB) as opened:
        opened.add(1, "hangs")
        opened.add(2, "segfault", repository=REPOSITORIES[1])
        yield opened


def begin(client: httpx.Client, oauth: OAuthGitHub) -> str:
    asked = {
        name: values[0]
        for name, values in parse_qs(
            urlsplit(client.get("/login/github?then=%2Fqueue%2Fcharts").headers["location"]).query
        ).items()
    }
    assert (
        asked["client_id"] == "Iv1.abc"
        and asked["redirect_uri"] == "http://127.0.0.1/login/github/callback"
        and asked["code_challenge_method"] == "S256"
    )
    oauth.challenge = asked["code_challenge"]
    return asked["state"]


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


# ---------------------------------------------------------------- sessions that end


def copy_of(client: httpx.Client) -> httpx.Client:
    """A browser with the same cookies."""
    return httpx.Client(
        base_url=client.base_url, cookies=dict(client.cookies), headers=client.headers, timeout=60, trust_env=False
    )


def test_a_cookie_copied_before_the_logout_is_worth_nothing_after_it(admin: httpx.Client) -> None:
    with copy_of(admin) as thief:
        assert thief.get("/queue").status_code == 200
        admin.post("/logout", data={"csrf": csrf(admin.get("/queue"))})
        assert thief.get("/queue").status_code == 303


def test_the_database_holds_no_cookie_and_the_login_page_nothing_of_a_token(site: Queue, admin: httpx.Client) -> None:
    (session, *_) = site.store.list_sessions()
    assert admin.cookies["distriage_session"] not in repr(session) and session.id != admin.cookies["distriage_session"]
    with visitor(site) as anonymous:
        cookie = anonymous.get("/login").cookies["distriage_login"]
    key = hashlib.sha256(f"distriage session\0{TOKEN}".encode()).digest()
    payload, _, signature = cookie.rpartition(".")
    for guess in (key, hashlib.sha256(b"login" + b"signer" + key).digest()):
        assert base64.urlsafe_b64encode(hashlib.sha256(guess + payload.encode()).digest()).decode() != signature
    first = site.store.shared_value("session-key", lambda: "another")
    assert len(first) == 64 and first == site.store.shared_value("session-key", lambda: "another")


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
    assert command("sessions", "list", "--database", database).out == ""


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


def test_two_tabs_can_log_in_one_after_the_other(browser: httpx.Client) -> None:
    first, second = browser.get("/login"), browser.get("/login?then=%2Fqueue%2Fcharts")
    data = {"csrf": csrf(first), "token": TOKEN, "then": ""}
    assert browser.post("/login", data=data).headers["location"] == "/queue"
    browser.cookies.delete("distriage_session")
    browser.get("/login")
    assert csrf(second) == csrf(first)


def test_a_link_to_the_login_with_github_ends_no_session(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        client.get("/login/github")
        assert client.get("/queue").status_code == 200


# ---------------------------------------------------------------- administrators


def test_each_administrator_is_somebody_and_undoes_what_is_theirs(
    keyword_classifier: Classifier, tmp_path: Path
) -> None:
    with (
        queue(keyword_classifier, tmp_path, admins=[make_entry("mara", HER_TOKEN)]) as opened,
        visitor(opened) as mara,
        visitor(opened) as default,
    ):
        key = f"owner/repo#3@{opened.add(3, 'exhausted timeout')}"
        page = mara.get("/login")
        assert 'name="name"' in page.text
        assert mara.post("/login", data={"csrf": csrf(page), "name": "mara", "token": HER_TOKEN}).status_code == 303
        log_in(default)
        mara.post("/queue/bulk", data={"csrf": csrf(mara.get("/queue")), "action": "accept", "issue": key})
        assert {row.who for row in opened.store.reviews(issue=IssueReference("owner/repo", 3))} == {"admin:mara"}
        page = default.get("/queue")
        assert "Accepted" not in page.text
        default.post("/queue/undo", data={"csrf": csrf(page)})
        assert opened.status(3) == "accepted"
        assert "mara (administrator)" in mara.get("/queue").text


@pytest.mark.parametrize(("name", "token"), [("mara", TOKEN), ("", HER_TOKEN), ("nobody", TOKEN), ("default", "")])
def test_a_token_opens_only_for_its_name(browser: httpx.Client, name: str, token: str) -> None:
    page = browser.get("/login")
    assert browser.post("/login", data={"csrf": csrf(page), "name": name, "token": token}).status_code == 403


def test_administrators_are_made_and_checked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = command("admins", "new", "jo.x").out.splitlines()
    token, entry = (line.rpartition(" ")[2] for line in lines)
    known = Administrators([entry], SecretStr(TOKEN), bytes(16))
    assert known.knows("jo.x", token) and known.knows("default", TOKEN)
    assert not known.knows("jo.x", TOKEN) and not known.knows("default", token) and not known.knows("", "")
    assert token not in entry and set(known.credentials) == {"jo.x", "default"}
    for name in ("", "a:b", "default", "x" * 40):
        assert_one_line(command("admins", "new", name), "admins new")
    for wrong in (f"{entry},{entry}", "jo:00:11", entry.replace("jo.x", "default")):
        monkeypatch.setenv("DISTRIAGE_ADMINS", wrong)
        with pytest.raises(ConfigError, match="DISTRIAGE_ADMINS: entry"):
            load_settings()
    monkeypatch.setenv("DISTRIAGE_ADMINS", entry)
    assert load_settings().has_queue


def test_an_account_that_is_named_like_an_administrator_is_another_person(
    with_github: Queue, oauth: OAuthGitHub
) -> None:
    oauth.login = "admin"
    with visitor(with_github) as client:
        client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        page = client.get("/queue").text
        assert "administrator" not in page and "segfault" not in page
    assert [session.who for session in with_github.store.list_sessions()] == ["admin"]


# ---------------------------------------------------------------- guessing


def test_whoever_fails_has_to_wait_longer_each_time() -> None:
    now = 0.0
    attempts = Attempts(lambda: now)
    waits = []
    for _ in range(13):
        attempts.failed("a")
        waits.append(attempts.wait_s("a"))
    assert waits == [0, 0, 0, 0, 0, 2, 4, 8, 16, 32, 60, 60, 60]
    assert attempts.wait_s("b") == 0 and attempts.delay_s() == 0
    now = 59.5
    assert attempts.wait_s("a") == 1
    now = 60.0
    assert attempts.wait_s("a") == 0
    for number in range(30):
        attempts.failed(f"peer {number}")
    assert attempts.delay_s() == 1
    attempts.succeeded("a")
    attempts.failed("a")
    assert attempts.wait_s("a") == 0
    now = 2000.0
    assert attempts.delay_s() == 0


def test_the_memory_of_failures_is_bounded() -> None:
    attempts = Attempts(lambda: 0.0)
    for number in range(20_000):
        attempts.failed(str(number))
    assert len(attempts._failed) == 10_000


def test_after_some_wrong_tokens_even_the_right_one_has_to_wait(browser: httpx.Client, clock: Clock) -> None:
    answers = [log_in(browser, "x" * 16).status_code for _ in range(6)]
    refused = log_in(browser)
    assert answers == [403] * 6 and refused.status_code == 429 and "try again in" in refused.text
    clock.now += int(refused.headers["retry-after"])
    assert log_in(browser).status_code == 303
