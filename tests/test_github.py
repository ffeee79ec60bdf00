from __future__ import annotations

import time

import httpx
import pytest
from conftest import CLOSED_PORT, FakeGitHub, Fault

from distriage.errors import GitHubError, InputError, NotFoundError, RateLimitError
from distriage.github import UNSTATED_WAIT_S, GitHubReader, IssueReference, parse_reference, rate_limit_reset

ISSUE = IssueReference("owner/repo", 12)


def read(reference: IssueReference = ISSUE, token: str | None = None) -> dict[str, object]:
    with GitHubReader(token) as reader:
        return reader.issue(reference)


# ---------------------------------------------------------------- references


@pytest.mark.parametrize(
    "text",
    [
        "owner/repo#12",
        " owner/repo#12\n",
        "https://github.com/owner/repo/issues/12",
        "http://github.com/owner/repo/issues/12?x=1",
        "github.com/owner/repo/pull/12#issuecomment-99",
        "https://ghe.example.com/owner/repo/issues/12/",
        "owner/repo/issues/12",
    ],
)
def test_references_and_urls_are_read(text: str) -> None:
    assert parse_reference(text) == ISSUE
    assert str(parse_reference(text)) == "owner/repo#12"


def test_names_may_hold_dots_and_dashes() -> None:
    assert parse_reference("NVIDIA/Megatron-LM.fork_2#1") == IssueReference("NVIDIA/Megatron-LM.fork_2", 1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "12", "#12", "repo#12", "owner/repo", "owner/repo#", "owner/repo#0", "owner/repo#x", "owner/repo#1 2", "owner/repo#12345678901"),
        *("owner/repo/commit/12", "owner/..#12", "owner/.#12", "../../user#12", "https://github.com/owner/repo", "owner/re po#12", "owner/repo#12\nx"),
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_reference(text)
    assert str(refused.value).startswith("--issue ") and str(refused.value).endswith(": expected owner/repo#number or the issue's URL")


# ---------------------------------------------------------------- answers


def test_an_issue_is_githubs_own_json(github: FakeGitHub) -> None:
    issue = github.add("owner/repo#12", "It hangs", "At step 3.")
    assert read() == issue
    request = github.requests[0]
    assert (request.method, request.path) == ("GET", "/repos/owner/repo/issues/12")
    assert request.headers["accept"] == "application/vnd.github+json"
    assert request.headers["x-github-api-version"] == "2022-11-28"
    assert request.headers["user-agent"] == "distriage"
    assert "authorization" not in request.headers


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GH_TOKEN"])
def test_a_token_opens_private_issues(github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    github.add("owner/repo#12", "secret")
    github.private.add("owner/repo#12")
    with pytest.raises(NotFoundError, match=r"^owner/repo#12: does not exist, or is private and the token \(GITHUB_TOKEN\) may not see it$"):
        read()
    monkeypatch.setenv(name, f" {github.token}\n")  # as a file or a secret store hands it over
    assert read()["title"] == "secret"
    assert github.requests[-1].headers["authorization"] == f"Bearer {github.token}"


def test_a_given_token_goes_before_the_environment(github: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "old")
    github.add("owner/repo#12", "t")
    assert read(token=github.token)["title"] == "t"


def test_a_transferred_issue_is_followed(github: FakeGitHub) -> None:
    github.add("owner/new#3", "moved")
    github.moved["owner/repo#12"] = "owner/new#3"
    assert read()["number"] == 3


def test_a_missing_and_a_deleted_issue(github: FakeGitHub) -> None:
    with pytest.raises(NotFoundError, match=r"^owner/repo#12: does not exist, or is private"):
        read()
    github.gone.add("owner/repo#12")
    with pytest.raises(NotFoundError, match=r"^owner/repo#12: was deleted$"):
        read()


def test_a_primary_rate_limit_says_until_when(github: FakeGitHub) -> None:
    reset = int(time.time()) + 1800
    github.faults.append(github.rate_limit(reset))
    with pytest.raises(RateLimitError, match=r"^owner/repo#12: GitHub's rate limit is reached; try again in 30 min, or set GITHUB_TOKEN") as refused:
        read()
    assert refused.value.reset_epoch_s == reset


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("wait_s", [90, None])
def test_a_secondary_rate_limit_says_for_how_long_or_takes_a_minute(github: FakeGitHub, status: int, wait_s: int | None) -> None:
    github.faults.append(github.secondary_limit(wait_s, status))
    before = time.time()
    with pytest.raises(RateLimitError) as refused:
        read()
    waited = wait_s or UNSTATED_WAIT_S
    assert before + waited <= refused.value.reset_epoch_s <= time.time() + waited


def test_refusals_and_breakdowns_are_no_rate_limits(github: FakeGitHub) -> None:
    for fault, message in (
        (github.forbidden(), "GitHub refused access (403); expected a token that may read this repository"),
        (github.bad_credentials(), "GitHub refused the token (401); expected a valid GITHUB_TOKEN or none"),
        (github.server_error(), "GitHub answered 500"),
        (github.server_error(502), "GitHub answered 502"),
        (github.malformed(), "GitHub's answer is not an issue"),
        (github.dropped(), f"GitHub cannot be reached at {github.url}: Server disconnected without sending a response."),
        (Fault(200, "[]"), "GitHub's answer is not an issue"),
        (Fault(200, '{"title": null}'), "GitHub's answer is not an issue"),
        (Fault(204), "GitHub answered 204"),
        (Fault(302, "", {"Location": "/"}), "does not exist, or is private and the token (GITHUB_TOKEN) may not see it"),
    ):
        github.faults.append(fault)
        with pytest.raises(GitHubError) as refused:
            read()
        assert str(refused.value) == f"owner/repo#12: {message}"
        assert not isinstance(refused.value, RateLimitError)
    assert not github.faults


def test_an_endless_redirect_ends(github: FakeGitHub) -> None:
    github.moved["owner/repo#12"] = "owner/repo#12"
    with pytest.raises(GitHubError, match="cannot be reached"):
        read()


def test_no_network_names_the_address() -> None:
    with pytest.raises(GitHubError, match=f"^owner/repo#12: GitHub cannot be reached at {CLOSED_PORT}: "):
        read()


@pytest.mark.parametrize("url", ["localhost:99", "ht!tp://x", "/api", "http://[bad"])
def test_a_wrong_api_address_is_named(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("GITHUB_API_URL", url)
    with pytest.raises(GitHubError, match="GitHub cannot be reached at "):
        read()


@pytest.mark.parametrize("token", ["ghp_sëcret", "ghp_sec\x01ret", "ghp_sec\nret"])
def test_a_token_that_cannot_be_sent_is_not_shown(github: FakeGitHub, token: str) -> None:
    with pytest.raises(GitHubError) as refused:
        read(token=token)
    assert str(refused.value) == "the token (GITHUB_TOKEN or GH_TOKEN) holds characters that no token has; expected printable ASCII"
    assert github.requests == []


@pytest.mark.parametrize(
    ("headers", "reset_s"),
    [
        ({}, None),
        ({"retry-after": "30"}, 1030),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "5000"}, 5000),
        ({"x-ratelimit-remaining": "7", "x-ratelimit-reset": "5000"}, None),
        ({"x-ratelimit-remaining": "0"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None),
        ({"retry-after": "30", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "5000"}, 1030),
    ],
)
def test_when_the_next_request_is_allowed(headers: dict[str, str], reset_s: float | None) -> None:
    assert rate_limit_reset(httpx.Headers(headers), now_s=1000) == reset_s
