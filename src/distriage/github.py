"""Read issues from GitHub's REST API. Network I/O; reads only.

Facts: https://docs.github.com/en/rest/issues/issues, https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import Any

import httpx

from distriage.errors import GitHubError, InputError, NotFoundError, RateLimitError

DEFAULT_API = "https://api.github.com"
TIMEOUT_S = 20.0
UNSTATED_WAIT_S = 60.0  # GitHub's advice for a secondary rate limit whose answer names no time
_REFERENCE = re.compile(
    r"^(?:(?:https?://)?[\w.-]+/)?(?P<repo>[A-Za-z0-9][\w.-]*/(?!\.{1,2}[#/])[\w.-]+)(?:#|/issues/|/pull/)(?P<number>[1-9]\d{0,9})(?:[#?/].*)?$"
)


@dataclass(frozen=True, slots=True)
class IssueReference:
    """`owner/repo` and number of an issue."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


def parse_reference(text: str) -> IssueReference:
    """Read `owner/repo#12` or the issue's URL.

    Raises:
        InputError: neither of them.
    """
    match = _REFERENCE.match(text.strip())
    if match is None:
        raise InputError(f"--issue {text!r}: expected owner/repo#number or the issue's URL")
    return IssueReference(match.group("repo"), int(match.group("number")))


class GitHubReader:
    """A client that reads issues.

    Args of the constructor:
        token: A token, or None: unauthenticated, 60 requests an hour. Default: `GITHUB_TOKEN` or `GH_TOKEN`.
        api: Base URL; default `GITHUB_API_URL` (set inside GitHub Actions and by GitHub Enterprise), else api.github.com.

    Raises:
        GitHubError: the token cannot be sent.
    """

    def __init__(self, token: str | None = None, api: str | None = None) -> None:
        token = (token or os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or "").strip()
        if not (token.isascii() and token.isprintable()):  # the HTTP library's own message would show it
            raise GitHubError("the token (GITHUB_TOKEN or GH_TOKEN) holds characters that no token has; expected printable ASCII")
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "distriage"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(base_url=api or os.environ.get("GITHUB_API_URL") or DEFAULT_API, headers=headers, timeout=TIMEOUT_S, follow_redirects=True)

    def __enter__(self) -> GitHubReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def issue(self, reference: IssueReference) -> dict[str, Any]:
        """Read one issue: GitHub's own JSON.

        Raises:
            NotFoundError: no such issue, deleted, or private without a token that may see it.
            RateLimitError: the limit is reached.
            GitHubError: no network, or any other refusal.
        """
        try:
            response = self._client.get(f"/repos/{reference.repository}/issues/{reference.number}")
        except httpx.HTTPError as error:
            raise GitHubError(f"{reference}: GitHub cannot be reached at {self._client.base_url}: {error}") from None
        if response.status_code in {404, 410}:
            why = "was deleted" if response.status_code == 410 else "does not exist, or is private and the token (GITHUB_TOKEN) may not see it"
            raise NotFoundError(f"{reference}: {why}")
        if response.status_code in {403, 429}:
            self._refused(reference, response)
        if response.status_code == 401:
            raise GitHubError(f"{reference}: GitHub refused the token (401); expected a valid GITHUB_TOKEN or none")
        if response.status_code != 200:
            raise GitHubError(f"{reference}: GitHub answered {response.status_code}")
        try:
            issue = response.json()
        except ValueError:
            issue = None
        if not isinstance(issue, dict) or not isinstance(issue.get("title"), str):
            raise GitHubError(f"{reference}: GitHub's answer is not an issue")
        return issue

    @staticmethod
    def _refused(reference: IssueReference, response: httpx.Response) -> None:
        reset = rate_limit_reset(response.headers, time.time())
        if reset is None and (response.status_code == 429 or "rate limit" in response.text):
            reset = time.time() + UNSTATED_WAIT_S
        if reset is None:
            raise GitHubError(f"{reference}: GitHub refused access ({response.status_code}); expected a token that may read this repository")
        wait_min = max(1, round((reset - time.time()) / 60))
        raise RateLimitError(f"{reference}: GitHub's rate limit is reached; try again in {wait_min} min, or set GITHUB_TOKEN for a higher one", reset)


def rate_limit_reset(headers: httpx.Headers, now_s: float) -> float | None:
    """When a 403 or 429 allows the next request, Unix time in seconds; None if it is no rate limit."""
    if headers.get("retry-after", "").isdigit():
        return now_s + int(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdigit():
        return float(headers["x-ratelimit-reset"])
    return None
