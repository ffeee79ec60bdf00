"""GitHub's REST API for one issue at a time: requests that wait and try again. Network I/O; reads and writes.

Facts: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api and .../rate-limits-for-the-rest-api.
A request that may have succeeded is sent again only where that does no harm; see `Client.write`.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from distriage.errors import GitHubError, NotFoundError, RateLimitError
from distriage.github import DEFAULT_API, UNSTATED_WAIT_S, rate_limit_reset

TIMEOUT_S = 20.0
MAX_ATTEMPTS = 5
MAX_PAGES = 50
PAGE_ITEMS = 100
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,99}/(?!\.{1,2}$)[\w.-]{1,100}")


class LostAnswerError(GitHubError):
    """A write whose answer did not come, so that nobody knows whether it was done: the connection broke, or GitHub failed."""


class RefusedError(GitHubError):
    """GitHub refused a request for good.

    Attributes:
        status: 401, 403, 404, 410 or 422; a redirect, where the issue or the repository moved.
        already_exists: What was to be created is there.
    """

    def __init__(self, message: str, status: int, *, already_exists: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.already_exists = already_exists


class Client:
    """A client of the API.

    Args of the constructor:
        token: Sent as bearer token; None: unauthenticated.
        api: Base URL; default `GITHUB_API_URL`, else api.github.com.
        max_wait_s: Longest time that all requests together may wait for rate limits and between attempts.
        login: The token's own account, where it is known; an App's token may not ask for it.
        before_write: Called before each request that changes something; may raise.
        sleep, now: For tests.

    Raises:
        GitHubError: the token or the URL cannot be used.
    """

    def __init__(
        self,
        token: str | None,
        api: str | None = None,
        *,
        max_wait_s: float = 300.0,
        timeout_s: float = TIMEOUT_S,
        login: str | None = None,
        before_write: Callable[[], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        token = (token or "").strip()
        if not (token.isascii() and token.isprintable()):  # the HTTP library's own message would show it
            raise GitHubError("the token holds characters that no token has; expected printable ASCII")
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "distriage"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.login = login
        self._before_write = before_write
        self._patience_s = max_wait_s
        self._sleep = sleep
        self._now = now
        try:
            self._client = httpx.Client(base_url=api or os.environ.get("GITHUB_API_URL") or DEFAULT_API, headers=headers, timeout=timeout_s)
        except httpx.InvalidURL as error:
            raise GitHubError(f"GITHUB_API_URL: {error}") from None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    # ---------------------------------------------------------------- reading

    def get(self, path: str, *, accept: str | None = None, page: int | None = None, query: Mapping[str, str] | None = None) -> httpx.Response:
        """Read; redirects of moved repositories and transferred issues are followed.

        Args:
            query: Parameters of the request, beside those of `page`.

        Raises:
            NotFoundError: 404 or 410.
            RefusedError: any other refusal.
            RateLimitError: the limit ends later than this client may wait.
            GitHubError: GitHub cannot be reached.
        """
        params: dict[str, str | int] = {**(query or {}), **({} if page is None else {"per_page": PAGE_ITEMS, "page": page})}
        headers = {} if accept is None else {"Accept": accept}
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                response = self._client.get(path, params=params, headers=headers, follow_redirects=True)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                self._pause_or_give_up(attempt, f"GitHub cannot be reached at {self._client.base_url}: {error}")
                continue
            if response.status_code >= 500:
                self._pause_or_give_up(attempt, f"GET {path}: GitHub fails ({response.status_code})")
                continue
            if self._waited_for_limit(response, attempt):
                continue
            if response.status_code in {404, 410}:
                raise NotFoundError(f"GET {path}: {'was deleted' if response.status_code == 410 else 'does not exist, or the token may not see it'}")
            if response.status_code != 200:
                raise RefusedError(f"GET {path}: GitHub refused ({response.status_code}): {_message(response)}", response.status_code)
            return response
        raise AssertionError  # the last attempt raises

    def json(self, path: str) -> dict[str, Any]:
        """Read an object.

        Raises:
            GitHubError: as `get`, or the answer is none.
        """
        value = _json(self.get(path))
        if not isinstance(value, dict):
            raise GitHubError(f"GET {path}: GitHub's answer is not an object")
        return value

    def items(self, path: str) -> Iterator[dict[str, Any]]:
        """Read a list, page by page.

        Raises:
            GitHubError: as `get`, or longer than `MAX_PAGES` pages: what is to be decided must not rest on half of it.
        """
        for page in range(1, MAX_PAGES + 1):
            response = self.get(path, page=page)
            value = _json(response)
            if not isinstance(value, list):
                raise GitHubError(f"GET {path}: GitHub's answer is not a list")
            yield from (item for item in value if isinstance(item, dict))
            if "next" not in response.links:
                return
        raise GitHubError(f"GET {path}: more than {MAX_PAGES * PAGE_ITEMS:,} entries")

    def pages(self, path: str, query: Mapping[str, str]) -> Iterator[tuple[list[dict[str, Any]], dict[str, str] | None]]:
        """Read a list of any length, a page at a time, as GitHub's `Link` headers lead: long lists are paged by cursor, not by number.

        Returns:
            Each page's objects, and the query of the next page, with which a later call can go on; None after the last one.

        Raises:
            GitHubError: as `get`, or an answer is not a list.
        """
        following: dict[str, str] | None = {"per_page": str(PAGE_ITEMS), **query}
        while following is not None:
            response = self.get(path, query=following)
            value = _json(response)
            if not isinstance(value, list):
                raise GitHubError(f"GET {path}: GitHub's answer is not a list")
            # Only the query of the link is taken: the token must not follow a link to another host.
            link = response.links.get("next", {}).get("url")
            following = dict(httpx.URL(link).params) if link else None
            yield [item for item in value if isinstance(item, dict)], following

    # ---------------------------------------------------------------- writing

    def write(self, method: str, path: str, body: object, *, repeatable: bool) -> Any:
        """Send a POST, PATCH or DELETE and return the answer's JSON. Redirects are not followed: what moved is not what was looked at.

        Args:
            repeatable: Sending it twice is the same as once. Otherwise a lost answer is the caller's to look into.

        Raises:
            LostAnswerError: not repeatable, and nobody knows whether it was done.
            RefusedError: GitHub refused it.
            RateLimitError: the limit ends later than this client may wait.
            GitHubError: GitHub cannot be reached.
        """
        for attempt in range(1, MAX_ATTEMPTS + 1):
            if self._before_write is not None:
                self._before_write()
            try:
                response = self._client.request(method, path, json=body)
            except httpx.HTTPError as error:
                self._lost(attempt, f"{method} {path}: GitHub cannot be reached: {error}", repeatable or isinstance(error, httpx.ConnectError))
                continue
            if response.status_code >= 500:
                self._lost(attempt, f"{method} {path}: GitHub fails ({response.status_code})", repeatable)
                continue
            if self._waited_for_limit(response, attempt):
                continue
            if not 200 <= response.status_code < 300:
                message = f"{method} {path}: GitHub refused ({response.status_code}): {_message(response)}"
                raise RefusedError(message, response.status_code, already_exists=response.status_code == 422 and "already_exists" in response.text)
            return _json(response)
        raise AssertionError  # the last attempt raises

    def _lost(self, attempt: int, why: str, repeatable: bool) -> None:
        if not repeatable:
            raise LostAnswerError(why)
        self._pause_or_give_up(attempt, why)

    def pause(self, attempt: int) -> bool:
        """Wait before another attempt, longer each time; False if there is no time left."""
        return self._wait(min(30.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0))

    def _pause_or_give_up(self, attempt: int, why: str) -> None:
        if attempt == MAX_ATTEMPTS or not self.pause(attempt):
            raise GitHubError(why)

    def _waited_for_limit(self, response: httpx.Response, attempt: int) -> bool:
        """Whether the answer was a rate limit that is over by now.

        Raises:
            RateLimitError: it ends too late.
        """
        if response.status_code not in {403, 429}:
            return False
        until = rate_limit_reset(response.headers, self._now())
        if until is None:
            if response.status_code != 429 and "rate limit" not in response.text:
                return False
            until = self._now() + UNSTATED_WAIT_S * 2 ** (attempt - 1)
        wait_s = max(0.0, until - self._now())
        if attempt == MAX_ATTEMPTS or not self._wait(wait_s + random.uniform(0.0, 0.5)):
            raise RateLimitError(f"GitHub's rate limit is reached; it ends in {wait_s:.0f} s", until)
        return True

    def _wait(self, seconds: float) -> bool:
        if seconds > self._patience_s:
            return False
        self._patience_s -= seconds
        self._sleep(seconds)
        return True


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        raise GitHubError(f"{response.request.method} {response.request.url.path}: GitHub's answer is not JSON") from None


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["message"])[:200]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no reason given"
