# ruff: noqa: F401, F811  # fixtures
"""Who gets into the queue by a token: administrators, and people who guess."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from pydantic import SecretStr

from distriage.base.errors import ConfigError
from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage_serving.administrators import Administrators, make_entry
from distriage_serving.queue.login.attempts import Attempts
from distriage_serving.queue.login.sessions import Sessions
from distriage_serving.settings import load_settings
from distriage_serving.store import UnavailableError

from support.command_line import Command, assert_one_line
from support.databases import Clock
from support.queue_login import HER_TOKEN, admin, site, stranger
from support.queue_server import TOKEN, csrf, field, log_in, queue, visitor


def test_nobody_sees_anything_without_a_login(stranger: httpx.Client) -> None:
    for path in ("/queue", "/queue/charts", "/queue/owner/repo/1", "/queue/owner/repo/1/evidence"):
        answer = stranger.get(path)
        assert answer.status_code == 303 and answer.headers["location"].startswith("/login?then=%2Fqueue"), path
    part = stranger.get("/queue/owner/repo/1/evidence", headers={"HX-Request": "true"})
    assert part.status_code == 204 and part.headers["HX-Redirect"].startswith("/login?")
    for path in ("/queue/bulk", "/queue/undo", "/queue/owner/repo/1"):
        assert stranger.post(path, data={"action": "accept"}).headers["location"].startswith("/login?")
    assert stranger.post("/logout", data={"csrf": "old"}).headers["location"] == "/login"  # nothing was lost


def test_a_form_sent_after_the_login_ended_says_so_and_the_login_leads_back(stranger: httpx.Client) -> None:
    for path, page in (
        ("/queue/owner/repo/1", "/queue/owner/repo/1?symptom=crash"),
        ("/queue/owner/repo/1/act", "/queue/owner/repo/1?symptom=crash"),
        ("/queue/bulk", "/queue?symptom=crash"),
        ("/queue/undo", "/queue?symptom=crash"),
    ):
        answer = stranger.post(path, data={"csrf": "of the session that ended", "query": "symptom=crash"})
        login = stranger.get(answer.headers["location"])
        assert "Your login ended; nothing was saved." in login.text
        wrong = stranger.post("/login", data={"csrf": csrf(login), "then": field(login, "then"), "token": "x" * 16})
        fields = {"csrf": csrf(wrong), "then": field(wrong, "then"), "token": TOKEN}
        assert stranger.post("/login", data=fields).headers["location"] == page
        assert stranger.get(answer.headers["location"]).headers["location"] == page  # logged in, in another tab
        stranger.cookies.delete("distriage_session")
    assert "Your login ended" not in stranger.get(stranger.get("/queue").headers["location"]).text
    different = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))  # of one word often repeated the cookie keeps little
    for wanted in (f"/queue?{urlencode({'search': different, 'status': 'any'})}", "/queue?search=all*reduce"):
        page = stranger.get(stranger.get(wanted).headers["location"])
        assert len(page.headers["set-cookie"]) < 4096
        entered = stranger.post("/login", data={"csrf": csrf(page), "token": TOKEN})
        assert entered.headers["location"] == wanted
        stranger.cookies.delete("distriage_session")
    for hostile in ("//evil.example", "\r\nSet-Cookie: a=b", "x" * 5000, "@evil.example/"):
        away = stranger.post("/queue/bulk", data={"query": hostile}).headers["location"]
        page = stranger.get(away)
        entered = stranger.post("/login", data={"csrf": csrf(page), "then": field(page, "then"), "token": TOKEN})
        assert entered.headers["location"].startswith("/queue") and "set-cookie: a" not in str(entered.headers)
        stranger.cookies.delete("distriage_session")
    at = {"HX-Request": "true", "HX-Current-URL": "http://127.0.0.1/queue/owner/repo/1?stage=x"}
    part = stranger.get("/queue/owner/repo/1/evidence", headers=at)
    assert part.headers["HX-Redirect"] == "/login?then=%2Fqueue%2Fowner%2Frepo%2F1%3Fstage%3Dx"


def test_a_wrong_token_is_refused_and_the_right_one_leads_to_where_one_wanted_to_go(stranger: httpx.Client) -> None:
    for wrong in ("", "x" * 16, TOKEN + "x", TOKEN[:-1], "\ud7ff"):
        refused = log_in(stranger, wrong)
        assert refused.status_code == 403 and "not the token of an administrator" in refused.text
        assert stranger.get("/queue").status_code == 303
    page = stranger.get("/login?then=%2Fqueue%3Fstatus%3Dany")
    entered = stranger.post("/login", data={"csrf": csrf(page), "token": TOKEN})
    assert entered.headers["location"] == "/queue?status=any"
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    stranger.post("/logout", data={"csrf": csrf(stranger.get("/queue"))})
    assert stranger.get("/queue").status_code == 303


@pytest.mark.parametrize(("scheme", "secure"), [("https", True), ("http", False)])
def test_behind_https_no_cookie_goes_over_http(
    keyword_classifier: Classifier, tmp_path: Path, scheme: str, secure: bool
) -> None:
    with queue(keyword_classifier, tmp_path, public_url=f"{scheme}://triage.example") as opened:
        with visitor(opened) as client:
            page = client.get("/login")
            begun = {"Cookie": page.headers["set-cookie"].partition(";")[0]}
        with visitor(opened) as client:
            entered = client.post("/login", data={"csrf": csrf(page), "token": TOKEN}, headers=begun)
    cookies = [*page.headers.get_list("set-cookie"), *entered.headers.get_list("set-cookie")]
    assert entered.status_code == 303 and len(cookies) == 3
    assert [("secure" in cookie.lower()) for cookie in cookies] == [secure] * 3


@pytest.mark.parametrize(
    "place", ["https://evil.example", "//evil.example", "/queue@evil.example", "/queue\r\nX: y", "/queue/\\evil"]
)
def test_the_login_leads_nowhere_else(stranger: httpx.Client, place: str) -> None:
    page = stranger.get("/login", params={"then": place})
    assert stranger.post("/login", data={"csrf": csrf(page), "token": TOKEN}).headers["location"] == "/queue"


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
    with pytest.raises(ConfigError, match="DISTRIAGE_GITHUB_CLIENT_SECRET and DISTRIAGE_PUBLIC_URL"):
        load_settings()


def test_two_tabs_can_log_in_one_after_the_other(stranger: httpx.Client) -> None:
    first, second = stranger.get("/login"), stranger.get("/login?then=%2Fqueue%2Fcharts")
    data = {"csrf": csrf(first), "token": TOKEN, "then": ""}
    assert stranger.post("/login", data=data).headers["location"] == "/queue"
    stranger.cookies.delete("distriage_session")
    stranger.get("/login")
    assert csrf(second) == csrf(first)


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
def test_a_token_opens_only_for_its_name(stranger: httpx.Client, name: str, token: str) -> None:
    page = stranger.get("/login")
    assert stranger.post("/login", data={"csrf": csrf(page), "name": name, "token": token}).status_code == 403


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


def test_a_login_that_succeeds_slows_nobody_down() -> None:
    attempts = Attempts(lambda: 0.0)
    for number in range(40):
        attempts.failed(f"peer {number}")
        attempts.succeeded(f"peer {number}")
    assert attempts.delay_s() == 0


def test_guesses_at_once_are_counted_before_they_are_looked_at(stranger: httpx.Client) -> None:
    data = {"csrf": csrf(stranger.get("/login")), "token": "x" * 16}

    def guess(_: int) -> int:
        with httpx.Client(base_url=stranger.base_url, cookies=dict(stranger.cookies), timeout=60) as client:
            return client.post("/login", data=data).status_code

    with ThreadPoolExecutor(30) as threads:
        answers = Counter(threads.map(guess, range(30)))
    assert answers == {403: 6, 429: 24}


def test_an_attempt_that_could_not_be_looked_at_is_no_failure(
    stranger: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise UnavailableError("the database is gone")

    for _ in range(5):
        assert log_in(stranger, "x" * 16).status_code == 403
    with monkeypatch.context() as patch:
        patch.setattr(Sessions, "begin", gone)
        assert [log_in(stranger).status_code for _ in range(8)] == [503] * 8
    assert log_in(stranger, "x" * 16).status_code == 403  # the sixth
    assert log_in(stranger).status_code == 429


def test_one_failure_is_taken_back_and_the_others_stay() -> None:
    attempts = Attempts(lambda: 0.0)
    attempts.take_back("nobody")
    for _ in range(40):
        attempts.failed("a")
        attempts.take_back("a")
    assert attempts.wait_s("a") == attempts.delay_s() == 0
    for _ in range(6):
        attempts.failed("a")
    assert attempts.wait_s("a") == 2
    attempts.take_back("a")
    attempts.failed("a")
    assert attempts.wait_s("a") == 2


def test_the_memory_of_failures_is_bounded() -> None:
    attempts = Attempts(lambda: 0.0)
    for number in range(20_000):
        attempts.failed(str(number))
    assert len(attempts._failed) == 10_000


def test_after_some_wrong_tokens_even_the_right_one_has_to_wait(stranger: httpx.Client, clock: Clock) -> None:
    answers = [log_in(stranger, "x" * 16).status_code for _ in range(6)]
    refused = log_in(stranger)
    assert answers == [403] * 6 and refused.status_code == 429 and "try again in" in refused.text
    clock.now += int(refused.headers["retry-after"])
    assert log_in(stranger).status_code == 303
