from __future__ import annotations

import ssl
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from distriage.base.errors import GitHubError, NotFoundError, RateLimitError
from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.github.address import token_of_environment
from distriage.github.answer import Ok
from distriage.github.client import MAX_REMEMBERED, Client
from distriage.github.http_client import connections
from distriage.github.kept import Kept
from distriage.github.limits import UNSTATED_WAIT_S

from support import faults
from support.faults import Fault
from support.github import CLOSED_PORT, GitHub

ISSUE = IssueReference("owner/repo", 12)


def read(reference: IssueReference = ISSUE, token: str | None = None) -> IssueReport:
    return Client(token or token_of_environment(), max_wait_s=0.0).issue(reference)


def test_an_issue_is_a_report(github: GitHub) -> None:
    github.add("owner/repo#12", "It hangs", "At step 3.")
    assert read() == IssueReport("It hangs", "At step 3.", "owner/repo#12")
    request = github.requests[0]
    assert (request.method, request.path) == ("GET", "/repos/owner/repo/issues/12")
    assert request.headers["accept"] == "application/vnd.github+json"
    assert request.headers["x-github-api-version"] == "2022-11-28"
    assert request.headers["user-agent"] == "distriage"
    assert "authorization" not in request.headers


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GH_TOKEN"])
def test_a_token_opens_private_issues(github: GitHub, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    github.add("owner/repo#12", "secret")
    github.private.add("owner/repo#12")
    with pytest.raises(
        NotFoundError,
        match=r"^owner/repo#12: does not exist, or is private \(no token was given; set GITHUB_TOKEN\)$",
    ):
        read()
    monkeypatch.setenv(name, f" {github.token}\n")  # as a file or a secret store hands it over
    assert read().title == "secret"
    assert github.requests[-1].headers["authorization"] == f"Bearer {github.token}"


def test_a_given_token_goes_before_the_environment(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "old")
    github.add("owner/repo#12", "t")
    assert read(token=github.token).title == "t"


def test_a_transferred_issue_is_followed(github: GitHub) -> None:
    github.add("owner/new#3", "moved")
    github.moved["owner/repo#12"] = "owner/new#3"
    assert read() == IssueReport("moved", "", "owner/repo#12")


def test_a_missing_and_a_deleted_issue(github: GitHub) -> None:
    with pytest.raises(NotFoundError, match=r"^owner/repo#12: does not exist, or is private"):
        read()
    github.gone.add("owner/repo#12")
    with pytest.raises(NotFoundError, match=r"^owner/repo#12: is gone \(410\): This issue was deleted$"):
        read()


def test_a_primary_rate_limit_says_until_when(github: GitHub) -> None:
    reset = int(time.time()) + 1800
    github.fail(faults.rate_limit(reset))
    with pytest.raises(
        RateLimitError,
        match=r"^GitHub's rate limit is reached; it ends in 1(800|799) s; with a token \(GITHUB_TOKEN\)",
    ) as refused:
        read()
    assert reset <= refused.value.reset_epoch_s < reset + 10  # by GitHub's clock, which tells whole seconds


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("wait_s", [90, None])
def test_a_secondary_rate_limit_says_for_how_long_or_takes_a_minute(
    github: GitHub, status: int, wait_s: int | None
) -> None:
    github.fail(faults.secondary_limit(wait_s, status))
    before = time.time()
    with pytest.raises(RateLimitError) as refused:
        read()
    waited = wait_s or UNSTATED_WAIT_S
    assert before + waited <= refused.value.reset_epoch_s <= time.time() + waited


def test_refusals_and_breakdowns_are_no_rate_limits(github: GitHub) -> None:
    for fault, message in (
        (faults.forbidden(), "GitHub refused (403): Resource not accessible by personal access token"),
        (faults.bad_credentials(), "GitHub refused (401): Bad credentials"),
        (faults.server_error(), "GitHub fails (500)"),
        (faults.server_error(502), "GitHub fails (502)"),
        (faults.malformed(), "GitHub's answer is not JSON"),
        (
            faults.dropped(),
            f"GitHub cannot be reached at {github.url}: Server disconnected without sending a response.",
        ),
        (Fault(200, "[]"), "GitHub's answer is not an object"),
        (Fault(200, '{"title": null}'), "GitHub's answer is not an issue"),
        (Fault(204), "GitHub's answer is not an object"),
        (
            Fault(302, "", {"Location": "/"}),
            "does not exist, or is private (no token was given; set GITHUB_TOKEN)",
        ),
    ):
        github.fail(fault)
        with pytest.raises(GitHubError) as refused:
            read()
        assert str(refused.value) == f"owner/repo#12: {message}"
        assert not isinstance(refused.value, RateLimitError)
    assert all(trouble.times == 0 for trouble in github.troubles)


def test_github_enterprise_server_has_a_path_before_the_api(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", f"{github.url}/api/v3/")
    github.fail(Fault(200, '{"title": "It hangs"}'))
    assert read().title == "It hangs"
    assert github.requests[0].path == "/api/v3/repos/owner/repo/issues/12"


def test_an_endless_redirect_ends(github: GitHub) -> None:
    github.moved["owner/repo#12"] = "owner/repo#12"
    with pytest.raises(GitHubError, match="cannot be reached"):
        read()


def test_no_network_names_the_address() -> None:
    with pytest.raises(GitHubError, match=f"^owner/repo#12: GitHub cannot be reached at {CLOSED_PORT}: "):
        read()


@pytest.mark.parametrize("url", ["localhost:99", "ht!tp://x", "/api", "http://[bad", "http://a..b"])
def test_a_wrong_api_address_is_named(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("GITHUB_API_URL", url)
    with pytest.raises(GitHubError, match="GitHub cannot be reached at "):
        read()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks5://user:zebra@127.0.0.1:1"),
        ("https_proxy", "http://127.0.0.1:zebra"),
        ("NO_PROXY", "[::1]:zebra"),
        ("SSL_CERT_FILE", "/zebra"),
    ],
)
def test_an_environment_that_no_client_can_use_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    connections.cache_clear()
    with pytest.raises(GitHubError, match=rf"^GitHub cannot be reached: .*{name}.* of the environment") as refused:
        read()
    assert "zebra" not in str(refused.value)


@pytest.mark.parametrize("token", ["ghp_sëcret", "ghp_sec\x01ret", "ghp_sec\nret"])
def test_a_token_that_cannot_be_sent_is_not_shown(github: GitHub, token: str) -> None:
    with pytest.raises(GitHubError) as refused:
        read(token=token)
    assert str(refused.value) == "the token (GITHUB_TOKEN or GH_TOKEN) has characters that no token has; expected ASCII"
    assert github.requests == []


# ---------------------------------------------------------------- connections, and answers that are remembered


def test_clients_share_kept_connections(github: GitHub) -> None:
    github.add("owner/repo#12", "It hangs")
    for _ in range(3):
        read()
    assert (len(github.requests), github.connections) == (3, 1)


def test_a_client_reads_no_certificates(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    github.add("owner/repo#12", "It hangs")
    read()
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_: pytest.fail("certificates are read again"))
    assert read().title == "It hangs"


def test_no_cookie_goes_from_one_client_to_another(github: GitHub) -> None:
    github.fail(Fault(200, '{"title": "t"}', {"Set-Cookie": "session=secret; Path=/"}))
    github.add("owner/repo#12", "It hangs")
    read(), read(token=github.token)
    assert "cookie" not in github.requests[1].headers


def names(client: Client) -> list[str]:
    return [label["name"] for label in client.items("/repos/owner/repo/labels", remember=True)]


def test_a_list_that_did_not_change_is_asked_for_and_not_sent_again(github: GitHub) -> None:
    github.page_items = 2
    github.define("owner/repo", "a", "b", "c")
    assert names(Client(github.token)) == ["a", "b", "c"] == names(Client(github.token))
    assert ["if-none-match" in request.headers for request in github.requests] == [False, False, True, True]
    github.define("owner/repo", "d")
    assert names(Client(github.token)) == ["a", "b", "c", "d"]


def test_what_is_remembered_belongs_to_its_token(github: GitHub) -> None:
    github.define("owner/repo", "a")
    github.tokens["another"] = github.tokens[github.token]
    assert names(Client(github.token)) == names(Client("another"))
    assert all("if-none-match" not in request.headers for request in github.requests)


@pytest.mark.slow
def test_only_so_much_is_remembered(github: GitHub) -> None:
    for number in range(MAX_REMEMBERED + 1):
        github.define(f"owner/repo{number}", "a")
        Client(github.token).get(f"/repos/owner/repo{number}/labels", remember=True)
    for number, known in ((0, False), (MAX_REMEMBERED, True)):
        Client(github.token).get(f"/repos/owner/repo{number}/labels", remember=True)
        assert ("if-none-match" in github.requests[-1].headers) is known


def test_threads_remember_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    class Answering:
        def request(self, *_: object, **__: object) -> httpx.Response:
            return httpx.Response(200, headers={"etag": "x"}, content=b"{}")

    monkeypatch.setattr("distriage.github.client.connections", Answering)
    monkeypatch.setattr("distriage.github.client._remembered", Kept[tuple[str, ...], Ok](MAX_REMEMBERED))

    def read_all(thread: int) -> None:
        client = Client(f"token{thread}")
        for number in range(1500):
            client.get(f"/repos/owner/repo{number}", remember=True)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(read_all, range(8))) == [None] * 8
    finally:
        sys.setswitchinterval(before)
