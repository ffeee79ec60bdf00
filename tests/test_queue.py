from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

pytest.importorskip("jinja2", reason="needs jinja2: pip install 'distriage[serve]'")

from distriage_serving.queue.pages import STATIC
from distriage_serving.queue.sessions import Session, Sessions
from distriage_serving.settings import Settings, load_settings
from distriage_serving.store import Job
from pydantic import SecretStr
from queue_server import REPOSITORIES, TOKEN, Queue, queue
from starlette.requests import Request
from starlette.responses import Response

from distriage.classifier import Classifier
from distriage.errors import ConfigError

HTML = {"Accept": "text/html"}
SECRET = "client-secret-of-the-tests"


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    with queue(keyword_classifier, tmp_path_factory.mktemp("queue")) as opened:
        yield opened


@pytest.fixture
def browser(site: Queue) -> Iterator[httpx.Client]:
    with visitor(site) as client:
        yield client


@pytest.fixture
def admin(browser: httpx.Client) -> httpx.Client:
    assert log_in(browser).headers["location"] == "/queue"
    return browser


def visitor(site: Queue) -> httpx.Client:
    return httpx.Client(base_url=site.url, headers=HTML, timeout=60, trust_env=False)


def csrf(page: httpx.Response) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None, page.text[:500]
    return found[1]


def log_in(client: httpx.Client, token: str = TOKEN) -> httpx.Response:
    return client.post("/login", data={"csrf": csrf(client.get("/login")), "token": token})


# ---------------------------------------------------------------- login


def test_nobody_sees_anything_without_a_login(site: Queue, browser: httpx.Client) -> None:
    site.add(1, "exhausted")
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
        assert refused.status_code == 403 and "not the administrator" in refused.text
        assert browser.get("/queue").status_code == 303
    page = browser.get("/login?then=%2Fqueue%3Fstatus%3Dany")
    entered = browser.post("/login", data={"csrf": csrf(page), "token": TOKEN})
    assert entered.headers["location"] == "/queue?status=any"
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    browser.post("/logout", data={"csrf": csrf(browser.get("/queue"))})
    assert browser.get("/queue").status_code == 303


@pytest.mark.parametrize("place", ["https://evil.example", "//evil.example", "/queue@evil.example", "/queue\r\nX: y", "/queue/\\evil"])
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


@pytest.mark.parametrize(("repositories", "hours"), [(("owner/repo",), 1), (None, 12)])
def test_sessions_end(monkeypatch: pytest.MonkeyPatch, repositories: tuple[str, ...] | None, hours: int) -> None:
    sessions = Sessions(Settings(admin_token=SecretStr(TOKEN), public_url="https://triage.example"))
    answer = Response()
    sessions.write(answer, Session(who="mara", repositories=repositories))
    cookie = answer.headers["set-cookie"]
    assert "Secure" in cookie
    request = Request({"type": "http", "headers": [(b"cookie", cookie.partition(";")[0].encode())]})
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + hours * 3600 - 5)
    assert sessions.read(request).who == "mara"
    monkeypatch.setattr(time, "time", lambda: now + hours * 3600 + 5)
    assert sessions.read(request).who == ""
    assert Sessions(Settings(admin_token=SecretStr(TOKEN[::-1]))).read(request).who == ""


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


# ---------------------------------------------------------------- forms


@pytest.mark.parametrize("path", ["/queue/bulk", "/queue/undo", "/queue/owner/repo/2", "/logout"])
@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_a_form_without_the_sessions_token_changes_nothing(site: Queue, admin: httpx.Client, path: str, token: str | None) -> None:
    prediction = site.add(2, "exhausted timeout")
    data = {"action": "accept", "issue": f"owner/repo#2@{prediction}", "prediction": str(prediction), **({} if token is None else {"csrf": token})}
    refused = admin.post(path, data=data)
    assert refused.status_code == 403 and "load the page again" in refused.text and refused.headers["content-type"].startswith("text/html")
    assert admin.post(path, content=b"{}", headers={"Content-Type": "application/json"}).status_code == 415
    assert site.status(2) == "open" and admin.get("/queue").status_code == 200


def test_the_token_of_another_session_is_refused(site: Queue, admin: httpx.Client) -> None:
    prediction = site.add(2, "exhausted timeout")
    with visitor(site) as other:
        log_in(other)
        token = csrf(other.get("/queue"))
    assert admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": f"owner/repo#2@{prediction}"}).status_code == 403


def test_accepting_stores_who_when_and_model_and_asks_for_one_write_back(site: Queue, admin: httpx.Client) -> None:
    prediction = site.add(3, "exhausted timeout")
    page = admin.get("/queue/owner/repo/3")
    fields = {"csrf": csrf(page), "action": "accept", "prediction": str(prediction), "axis.kind": "bug", "axis.symptom": "oom", "axis.fix": "tuning"}
    assert admin.post("/queue/owner/repo/3", data=fields).status_code == 303
    rows = site.store.verdicts(issue=("owner/repo", 3))
    assert {(row.axis, row.label, row.predicted_label) for row in rows} == {("kind", "bug", "bug"), ("symptom", "oom", "oom"), ("fix", "tuning", "tuning")}
    assert {(row.who, row.how, row.model, row.prediction_id) for row in rows} == {("admin", "queue", "toy", prediction)}
    assert site.status(3) == "accepted"
    jobs = [job for job in site.store.list_work(Job) if job.issue == 3]
    assert [(job.key, job.kind, job.installation_id, job.state) for job in jobs] == [("triage:owner/repo#3", "verdict", 7, "waiting")]
    assert jobs[0].due_at is not None and jobs[0].due_at > jobs[0].created_at  # time to undo


def test_correcting_and_leaving_open_and_none_of_these(site: Queue, admin: httpx.Client) -> None:
    prediction = site.add(4, "exhausted timeout")
    token = csrf(admin.get("/queue/owner/repo/4"))
    fields = {"csrf": token, "action": "accept", "prediction": str(prediction)}
    admin.post(
        "/queue/owner/repo/4", data={**fields, "axis.symptom": "another", "other.symptom": "crash", "axis.fix": "none-of-these", "axis.kind": "left-open"}
    )
    assert site.standing(4) == {"symptom": "crash", "fix": None} and site.status(4) == "corrected"
    assert admin.post("/queue/owner/repo/4", data=fields).status_code == 400  # everything left open
    assert admin.post("/queue/owner/repo/4", data={**fields, "axis.symptom": "made-up"}).status_code == 400
    assert admin.post("/queue/owner/repo/4", data={**fields, "action": "explode"}).status_code == 400


def test_what_does_not_apply_to_the_kind_chosen_is_not_stored(site: Queue, admin: httpx.Client) -> None:
    prediction = site.add(5, "exhausted timeout")
    fields = {"csrf": csrf(admin.get("/queue/owner/repo/5")), "action": "accept", "prediction": str(prediction)}
    admin.post("/queue/owner/repo/5", data={**fields, "axis.kind": "question", "axis.symptom": "oom", "axis.fix": "tuning"})
    assert site.standing(5) == {"kind": "question"}


def test_a_prediction_made_meanwhile_is_not_accepted_unseen(site: Queue, admin: httpx.Client) -> None:
    old = site.add(6, "exhausted timeout")
    token = csrf(admin.get("/queue/owner/repo/6"))
    site.add(6, "hangs timeout")
    data = {"csrf": token, "action": "accept", "prediction": str(old), "axis.symptom": "oom"}
    assert admin.post("/queue/owner/repo/6", data=data).status_code == 409
    bulk = admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": f"owner/repo#6@{old}"})
    assert bulk.headers["location"] == "/queue?left=1" and "1 issue was left as it was" in admin.get(bulk.headers["location"]).text
    assert site.status(6) == "open"


def test_many_at_once_are_undone_at_once(site: Queue, admin: httpx.Client) -> None:
    keys = [f"owner/repo#{number}@{site.add(number, 'exhausted timeout')}" for number in (11, 12, 13)]
    token = csrf(admin.get("/queue"))
    admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": keys})
    assert [site.status(number) for number in (11, 12, 13)] == ["accepted"] * 3
    assert "Decided 3 issues." in admin.get("/queue").text
    admin.post("/queue/undo", data={"csrf": token})
    assert [site.status(number) for number in (11, 12, 13)] == ["open"] * 3
    admin.post("/queue/bulk", data={"csrf": token, "action": "dismiss", "issue": keys[:1]})
    assert site.status(11) == "dismissed" and set(site.standing(11).values()) == {None}
    back = admin.post("/queue/undo", data={"csrf": token})
    assert back.headers["location"] == "/queue/owner/repo/11" and site.status(11) == "open"
    assert "undone" in admin.get("/queue/owner/repo/11").text
    for bad in ("owner/repo#11", "owner/repo#x@1", "../../etc#1@1"):
        assert admin.post("/queue/bulk", data={"csrf": token, "action": "accept", "issue": bad}).status_code == 400


# ---------------------------------------------------------------- pages


def test_filters_narrow_the_list_and_refuse_what_is_not_to_be_chosen(site: Queue, admin: httpx.Client) -> None:
    site.add(21, "segfault of the filters", repository="owner/other")
    site.add(22, "hangs of the filters", repository="owner/other")

    def shown(**query: str) -> list[str]:
        return re.findall(r"(segfault|hangs) of the filters", admin.get("/queue", params={"repository": "owner/other", **query}).text)

    assert sorted(shown()) == ["hangs", "segfault"]
    assert shown(symptom="crash") == ["segfault"] and shown(symptom="hang", status="any") == ["hangs"] and shown(fix="patch", symptom="oom") == []
    assert sorted(shown(decision="suggest")) == ["hangs", "segfault"] and shown(decision="abstain") == [] and shown(status="accepted") == []
    for query in ({"symptom": "made-up"}, {"status": "<script>"}, {"repository": "no/such"}, {"decision": "x"}, {"after": "nonsense"}):
        refused = admin.get("/queue", params=query)
        assert refused.status_code == 400 and "<script>" not in refused.text


def test_similar_issues_are_shown_with_what_fixed_them_where_the_model_knows_any(
    site: Queue, admin: httpx.Client, indexed_bundle: Path, tmp_path: Path
) -> None:
    site.add(23, "It hangs.")
    assert "Similar" not in admin.get("/queue/owner/repo/23?evidence=1").text
    with queue(Classifier(indexed_bundle, threads=1), tmp_path) as opened, visitor(opened) as client:
        opened.add(1, "NCCL timeout", "It hangs in all_reduce, memory exhausted.")
        log_in(client)
        assert "Looking" in client.get("/queue/owner/repo/1").text
        part = client.get("/queue/owner/repo/1/evidence").text
        assert 'id="similar"' in part and "Fixed by <strong>" in part and 'rel="noreferrer noopener external"' in part


def test_errors_are_pages_for_people_and_problems_for_programs(admin: httpx.Client) -> None:
    for path in ("/queue/owner/repo/999999", "/queue/no/such/1", f"/queue/owner/repo/{10**30}", "/queue/static/no.css"):
        assert admin.get(path).status_code == 404 and admin.get(path).text.startswith("<!doctype html>")
        problem = admin.get(path, headers={"Accept": "application/json"})
        assert problem.headers["content-type"] == "application/problem+json" and problem.json()["code"] == "not-found"
    assert admin.get("/queue/owner/repo/x").json()["code"] == "not-found"
    assert admin.get("/queue/charts", params={"axis": "x"}).status_code == 400


def test_pages_allow_no_script_but_our_own_and_no_frame(admin: httpx.Client) -> None:
    for path in ("/queue", "/queue/charts", "/queue/owner/repo/1", "/login"):
        policy = admin.get(path).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert admin.get(path).headers["Cache-Control"] == "no-store"
    page = admin.get("/queue").text
    for address in re.findall(r'(?:src|href)="(/queue/static/[^"]+)"', page):
        assert "immutable" in admin.get(address).headers["Cache-Control"]
    assert " style=" not in page and "<script>" not in page and not re.search(r"\son\w+=", page)


def test_an_issue_without_prediction_and_one_that_is_gone_from_github_have_a_page(site: Queue, admin: httpx.Client) -> None:
    site.add(31, "hangs", url="javascript:alert(1)", state="closed", labels=["<b>bold</b>"])
    page = admin.get("/queue/owner/repo/31").text
    assert "closed on GitHub" in page and "&lt;b&gt;bold" in page and "javascript:" not in page


def test_htmx_is_the_released_file() -> None:
    notes = (Path(__file__).parent.parent / "serving/distriage_serving/queue/static/htmx.LICENSE.txt").read_text(encoding="utf-8")
    assert hashlib.sha256(STATIC["htmx.min.js"].content).hexdigest() in notes


# ---------------------------------------------------------------- GitHub


class OAuthGitHub:
    """GitHub's login: gives a token for the code if the verifier is the challenge's; one account, two installations."""

    def __init__(self) -> None:
        self.challenge = ""
        self.repositories = [{"full_name": "Owner/Repo", "permissions": {"push": True}}, {"full_name": "owner/other", "permissions": {"push": False}}]
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = {name: values[0] for name, values in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()}
                proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
                good = form["code"] == "good" and form["client_secret"] == SECRET and proof == double.challenge
                self._answer({"access_token": "ghu_1", "token_type": "bearer"} if good else {"error": "bad_verification_code"})

            def do_GET(self) -> None:
                assert self.headers["Authorization"] == "Bearer ghu_1"
                path = urlsplit(self.path).path
                answers = {
                    "/user": {"login": "mara"},
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
    github = {"github_client_id": "Iv1.abc", "github_client_secret": SECRET, "public_url": "http://127.0.0.1"}
    with queue(keyword_classifier, tmp_path, admin_token=None, **github) as opened:
        opened.add(1, "hangs")
        opened.add(2, "segfault", repository=REPOSITORIES[1])
        yield opened


def begin(client: httpx.Client, oauth: OAuthGitHub) -> str:
    asked = {name: values[0] for name, values in parse_qs(urlsplit(client.get("/login/github?then=%2Fqueue%2Fcharts").headers["location"]).query).items()}
    assert asked["client_id"] == "Iv1.abc" and asked["redirect_uri"] == "http://127.0.0.1/login/github/callback" and asked["code_challenge_method"] == "S256"
    oauth.challenge = asked["code_challenge"]
    return asked["state"]


def test_people_see_the_repositories_to_which_they_may_write(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        assert "Administrator" not in client.get("/login").text
        state = begin(client, oauth)
        entered = client.get("/login/github/callback", params={"code": "good", "state": state})
        assert entered.headers["location"] == "/queue/charts"
        page = client.get("/queue").text
        assert "hangs" in page and "segfault" not in page and "owner/other" not in page and "mara" in page
        assert client.get("/queue/owner/repo/1").status_code == 200
        assert client.get("/queue/owner/other/2").status_code == 404
        second = with_github.store.latest_prediction("owner/other", 2)
        assert second is not None
        refused = client.post("/queue/bulk", data={"csrf": csrf(client.get("/queue")), "action": "accept", "issue": f"owner/other#2@{second.id}"})
        assert refused.status_code == 404 and with_github.status(2, "owner/other") == "open"


def test_a_login_that_was_not_begun_here_or_fails_is_refused(with_github: Queue, oauth: OAuthGitHub) -> None:
    with visitor(with_github) as client:
        assert client.get("/login/github/callback", params={"code": "good", "state": ""}).status_code == 403
        begin(client, oauth)
        assert client.get("/login/github/callback", params={"code": "good", "state": "of-another"}).status_code == 403
        assert client.get("/login/github/callback", params={"code": "bad", "state": begin(client, oauth)}).status_code == 403
        state = begin(client, oauth)
        oauth.challenge = "of another"
        assert client.get("/login/github/callback", params={"code": "good", "state": state}).status_code == 403
        oauth.repositories = oauth.repositories[1:]
        refused = client.get("/login/github/callback", params={"code": "good", "state": begin(client, oauth)})
        assert refused.status_code == 403 and "no write access" in refused.text
        assert client.get("/queue").status_code == 303
