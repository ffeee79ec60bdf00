"""GitHub's REST API: one client for reading and writing, which waits and retries. Network I/O.

Facts: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
A request that may have been carried out is sent again only if that does no harm; see `Client.write`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from typing import Any, Final

import httpx

from distriage.base.errors import (
    BrokenError,
    GitHubError,
    InputError,
    LostAnswerError,
    NotFoundError,
    RateLimitError,
    RefusedError,
)
from distriage.base.references import IssueReference
from distriage.base.types import IssueReport
from distriage.github.address import DEFAULT_API, api_address, graphql_address
from distriage.github.answer import Broken, Gone, Ok, Refused, Unchanged, Wait, is_web_page, read_answer, smaller_pages
from distriage.github.http_client import connections
from distriage.github.kept import Kept
from distriage.github.limits import Limits, OwnLimits

GRAPHQL: Final = "/graphql"  # the path of the other API, for `write`
TIMEOUT_S: Final = 20.0
MAX_ATTEMPTS: Final = 5
MAX_ITEMS: Final = 5000
PAGE_ITEMS: Final = 100
MAX_REMEMBERED: Final = 128  # answers of at most some tens of kilobytes
_remembered: Final = Kept[tuple[str, ...], Ok](MAX_REMEMBERED)  # by the threads of a worker, which each have a client


class Client:
    """A client of the API, for one piece of work.

    Args:
        token: Sent as bearer token; if empty or None, unauthenticated: 60 requests an hour.
        api: Base URL of the REST API; default: `api_address`.
        max_wait_s: Longest total wait for rate limits and between attempts.
        login: The token's own account, if known.
        before_write: Called before each request that changes something; may raise.
        renew: Called once, when GitHub refuses the token; returns another, or None.
        limits: Shared by all clients of the account; this client's own if None.
        now: Unix time in seconds.

    Raises:
        GitHubError: the token cannot be sent.
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
        renew: Callable[[], str | None] | None = None,
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._token = (token or "").strip()
        if not (self._token.isascii() and self._token.isprintable()):  # the HTTP library's own message would show it
            raise GitHubError("the token (GITHUB_TOKEN or GH_TOKEN) has characters that no token has; expected ASCII")
        self.api = (api or api_address()).rstrip("/")
        self._timeout_s = timeout_s
        self._patience_s = max_wait_s
        self.sent = 0  # requests, for estimates
        self._before_write = before_write
        self._renew = renew
        self._limits = limits if limits is not None else OwnLimits(now)
        self._sleep = sleep
        self._now = now
        self.login = login
        self.ahead: dict[str, Ok | None] = {}  # path -> its answer, known without asking; None: absent

    @property
    def hosts(self) -> Collection[str]:
        """Hosts of its issues' addresses; empty for an API other than github.com's, which may have any."""
        return ("github.com", "www.github.com", "api.github.com") if self.api == DEFAULT_API else ()

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = "application/vnd.github+json",
        place: str | None = None,
        remember: bool = False,
    ) -> Ok:
        """Read; redirects of moved repositories and transferred issues are followed.

        Args:
            place: Its name in messages; default: the request.
            remember: Asked for often and rarely changed. The process keeps the answer and asks whether it changed,
                which does not count against the primary rate limit.

        Raises:
            NotFoundError: 404 or 410.
            RefusedError: any other refusal.
            RateLimitError: the limit ends later than this client may wait.
            GitHubError: GitHub is out of reach, or fails.
        """
        if path in self.ahead and query is None:
            if (ahead := self.ahead[path]) is None:
                raise NotFoundError(f"{place or f'GET {path}'}: does not exist")
            return ahead
        key = (self._token, self.api, path, repr(query), accept)
        known = _remembered.get(key) if remember else None
        headers = {"Accept": accept, **({"If-None-Match": known.etag or ""} if known is not None else {})}
        answer = self._send("GET", path, headers, params=query, place=place, repeatable=True)
        if answer is None:
            assert known is not None
            return known
        if remember and answer.etag is not None:
            _remembered.put(key, answer)
        return answer

    def json(self, path: str, *, place: str | None = None) -> dict[str, Any]:
        """Read an object.

        Raises:
            GitHubError: as for `get`, or the answer is not an object.
        """
        value = self.get(path, place=place).value
        if not isinstance(value, dict):
            raise GitHubError(f"{place or f'GET {path}'}: GitHub's answer is not an object")
        return value

    def items(self, path: str, *, remember: bool = False) -> Iterator[dict[str, Any]]:
        """Read a list, page by page.

        Raises:
            GitHubError: as `get`.
            InputError: there are more than `MAX_ITEMS`: a decision must not rest on a part, and asking again does not
                help.
        """
        found = 0
        for items, following in self.pages(path, {}, remember=remember):
            yield from items
            found += len(items)
            if found >= MAX_ITEMS and following is not None:
                raise InputError(f"GET {path}: more than {MAX_ITEMS:,} entries")

    def pages(
        self, path: str, query: Mapping[str, str], *, key: str | None = None, remember: bool = False
    ) -> Iterator[tuple[list[dict[str, Any]], dict[str, str] | None]]:
        """Read a list of any length, a page at a time, as GitHub's `Link` headers lead; a page that GitHub cannot build
        is asked for in smaller ones.

        Args:
            key: The list is the answer's value under this key; default: the answer itself.

        Returns:
            Each page's objects, and the query with which a later call can go on; None after the last page.

        Raises:
            GitHubError: as `get`, or an answer is not a list.
        """
        following: dict[str, str] | None = {"per_page": str(PAGE_ITEMS), **query}
        while following is not None:
            try:
                answer = self.get(path, following, remember=remember)
            except BrokenError:
                if (smaller := smaller_pages(following)) is None:
                    raise
                following = smaller
                continue
            value = answer.value.get(key) if key is not None and isinstance(answer.value, dict) else answer.value
            if not isinstance(value, list):
                raise GitHubError(f"GET {path}: GitHub's answer is not a list")
            following = answer.following
            yield [item for item in value if isinstance(item, dict)], following

    def issue(self, reference: IssueReference) -> IssueReport:
        """Read an issue's title and body; a transferred issue keeps the id it was asked by.

        Raises:
            GitHubError: as `get`, or the answer is not an issue.
        """
        issue = self.json(reference.path, place=str(reference))
        title, body = issue.get("title"), issue.get("body") or ""
        if not isinstance(title, str) or not isinstance(body, str):
            raise GitHubError(f"{reference}: GitHub's answer is not an issue")
        return IssueReport(title=title, body=body, id=str(reference))

    def write(self, method: str, path: str, body: object, *, repeatable: bool) -> Any:
        """Send a POST, PATCH or DELETE and return the answer's JSON; None if empty.

        Redirects are not followed: the caller examined the object at its old place.

        Args:
            repeatable: Sending it twice has the same effect as once. Otherwise the caller must look into a lost answer.

        Raises:
            LostAnswerError: not repeatable, and it may or may not have been carried out.
            RefusedError: GitHub refused it.
            RateLimitError: the limit ends later than this client may wait.
            GitHubError: GitHub is out of reach.
        """
        answer = self._send(method, path, {"Accept": "application/vnd.github+json"}, body=body, repeatable=repeatable)
        return answer.value if answer is not None else None

    def pause(self, attempt: int) -> bool:
        """Wait before another attempt, longer each time; False if time is up."""
        return self._wait(min(30.0, 0.5 * 2**attempt) * random.uniform(0.5, 1.0))

    def _send(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        place: str | None = None,
        repeatable: bool,
    ) -> Ok | None:
        """Send a request until there is a final answer; None if unchanged."""
        place = place or f"{method} {path}"
        for attempt in count(1):
            if (until := self._limits.ends_at()) > self._now():
                self._wait_for_limit(until, attempt)
            self.sent += 1
            if method != "GET" and self._before_write is not None:
                self._before_write()
            try:
                response = connections().request(
                    method,
                    graphql_address(self.api) if path == GRAPHQL else self.api + path,
                    params=params,
                    json=body,
                    headers=self._headers(headers),
                    timeout=self._timeout_s,
                    follow_redirects=method == "GET",
                )
            except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # the last: an invalid host
                why, kind, got = f"{place}: GitHub cannot be reached at {self.api}: {error}", GitHubError, None
                nothing_was_done = isinstance(error, httpx.ConnectError)
            else:
                if self.api != DEFAULT_API and is_web_page(response.status_code, response.headers):
                    raise GitHubError(f"{place}: nothing of GitHub answers at {self.api}; expected https://HOST/api/v3")
                match read_answer(response.status_code, response.headers, response.content, self._now()):
                    case Ok() as answer:
                        return answer
                    case Unchanged():
                        return None
                    case Wait(stated):
                        self._wait_for_limit(self._limits.reached(stated), attempt)
                        continue
                    case Gone(status) as gone:
                        raise NotFoundError(f"{place}: {gone.why(has_token=bool(self._token))}", status)
                    case Refused(token_may_be_old=True) if self._has_new_token():
                        continue
                    case Refused(status, reason, already_exists):
                        raise RefusedError(
                            f"{place}: GitHub refused ({status}): {reason}", status, already_exists=already_exists
                        )
                    case Broken(what):
                        why, nothing_was_done, kind, got = f"{place}: {what}", False, BrokenError, response.status_code
            if not repeatable and not nothing_was_done:
                raise LostAnswerError(why, got)
            if attempt == MAX_ATTEMPTS or not self.pause(attempt):
                raise kind(why, got)
        raise AssertionError  # the loop never ends

    def _has_new_token(self) -> bool:
        renew, self._renew = self._renew, None
        token = renew() if renew is not None else None
        self._token = token or self._token
        return token is not None

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        own = {"X-GitHub-Api-Version": "2022-11-28", "User-Agent": "distriage"}
        return own | more | ({"Authorization": f"Bearer {self._token}"} if self._token else {})

    def _wait_for_limit(self, until: float, attempt: int) -> None:
        wait_s = max(0.0, until - self._now())
        if attempt == MAX_ATTEMPTS or not self._wait(wait_s + random.uniform(0.0, 0.5)):
            hint = "" if self._token else "; with a token (GITHUB_TOKEN) it is higher"
            raise RateLimitError(f"GitHub's rate limit is reached; it ends in {wait_s:.0f} s{hint}", until)

    def _wait(self, seconds: float) -> bool:
        if seconds > self._patience_s:
            return False
        self._patience_s -= seconds
        self._sleep(seconds)
        return True
