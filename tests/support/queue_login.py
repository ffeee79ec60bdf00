"""Logins to a queue: an administrator of its own, and GitHub's login."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from distriage.classifier import Classifier
from distriage_serving.administrators import make_entry
from distriage_serving.queue.login.attempts import Attempts

from support.databases import Clock
from support.queue_server import Queue, log_in, queue, visitor

SECRET = "client-secret-of-the-tests"
GITHUB = {"github_client_id": "Iv1.abc", "github_client_secret": SECRET, "public_url": "http://127.0.0.1"}
HER_TOKEN = "a-token-that-only-mara-knows"


@pytest.fixture(scope="module")
def site(keyword_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """A queue with an issue, and an administrator `mara` beside the default one."""
    folder = tmp_path_factory.mktemp("queue")
    with queue(keyword_classifier, folder, admins=[make_entry("mara", HER_TOKEN)]) as opened:
        opened.add(1, "exhausted")
        yield opened


@pytest.fixture
def stranger(site: Queue, clock: Clock) -> Iterator[httpx.Client]:
    """A visitor who has failed at no login yet."""
    state = site.server.app.state
    state.desk = replace(state.desk, attempts=Attempts(clock))
    with visitor(site) as client:
        yield client


@pytest.fixture
def admin(stranger: httpx.Client) -> httpx.Client:
    """The default administrator, logged in."""
    assert log_in(stranger).headers["location"] == "/queue"
    return stranger


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
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def oauth(monkeypatch: pytest.MonkeyPatch) -> Iterator[OAuthGitHub]:
    """A GitHub to log in with, which the server asks."""
    double = OAuthGitHub()
    monkeypatch.setenv("GITHUB_SERVER_URL", double.url)
    monkeypatch.setenv("GITHUB_API_URL", double.url)
    yield double
    double.close()


def begin(client: httpx.Client, oauth: OAuthGitHub) -> str:
    """Begin a login with GitHub; its state."""
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
