"""The meaning of an answer of GitHub's REST API. Pure.

Facts: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api,
.../best-practices-for-using-the-rest-api, .../using-pagination-in-the-rest-api
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from distriage.base.texts import regex

_NEXT: Final = regex(r'<([^<>]*)>;\s*rel="next"')
LEAST_ITEMS: Final = 4  # of a page, where GitHub cannot build a larger one
_NUMBER: Final = regex("[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Ok:
    """GitHub did as asked.

    Attributes:
        value: The answer's JSON; None for an empty answer or a raw file.
        following: Query of a list's next page. Only the query of GitHub's link: a token must not follow a link to
            another host.
        etag: Names this state of the answer, to ask later whether it changed.
    """

    value: Any
    body: bytes
    following: dict[str, str] | None = None
    etag: str | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The answer is the one whose `etag` was sent along."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A rate limit is reached.

    Attributes:
        until: Unix time in seconds; None if GitHub does not say.
    """

    until: float | None


@dataclass(frozen=True, slots=True)
class Gone:
    """It does not exist, or not for this token.

    Attributes:
        status: 404; 410 if it was deleted, or issues are switched off.
        reason: GitHub's own, at most 200 characters.
    """

    status: int
    reason: str

    def why(self, *, has_token: bool) -> str:
        """The reason in words, to follow the name of the request."""
        if self.status == 410:
            return f"is gone (410): {self.reason}"
        hint = "the token may not see it" if has_token else "is private (no token was given; set GITHUB_TOKEN)"
        return f"does not exist, or {hint}"


@dataclass(frozen=True, slots=True)
class Refused:
    """GitHub refuses for good.

    Attributes:
        reason: GitHub's own, at most 200 characters.
        already_exists: The thing to create exists already.
        token_may_be_old: It expired, or an installation has gained a permission since it was made.
    """

    status: int
    reason: str
    already_exists: bool
    token_may_be_old: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """GitHub, or something in between, fails; the request may or may not have been carried out."""

    why: str


Answer = Ok | Unchanged | Wait | Gone | Refused | Broken


def read_answer(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Answer:
    """Interpret an answer.

    Args:
        headers: Names in lower case, or a mapping that ignores case.
        now: Unix time in seconds.
    """
    if 200 <= status < 300:
        return _read_success(headers, body)
    if status == 304:
        return Unchanged()
    if status in {403, 429}:
        until = rate_limit_reset(headers, now)
        if until is not None or status == 429 or b"rate limit" in body:
            return Wait(until)
    if status in {404, 410}:
        return Gone(status, _reason(body))
    if 300 <= status < 500:
        return Refused(
            status,
            _reason(body),
            already_exists=status == 422 and b"already_exists" in body,
            token_may_be_old=status == 401 or (status == 403 and b"not accessible by integration" in body),
        )
    return Broken(f"GitHub fails ({status})")


def rate_limit_reset(headers: Mapping[str, str], now: float) -> float | None:
    """When a 403 or 429 allows the next request, Unix time in seconds; None if the headers do not say."""
    wait_s, end = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if _NUMBER.fullmatch(wait_s):
        return now + int(wait_s)
    if headers.get("x-ratelimit-remaining") == "0" and _NUMBER.fullmatch(end):
        return float(end) + _ahead_s(headers.get("date", ""), now)
    return None


def _ahead_s(date: str, now: float) -> float:
    """Seconds that our clock is ahead of GitHub's, lest a limit by its clock seem over; 0 if it does not tell the time.

    A difference of seconds counts too: for as long, each request would be sent at once and refused.
    """
    try:
        return now - parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _read_success(headers: Mapping[str, str], body: bytes) -> Ok | Broken:
    value = None
    if body and ".raw" not in headers.get("content-type", ""):
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return Broken("GitHub's answer is not JSON")
    link = _NEXT.search(headers.get("link", ""))
    following = dict(parse_qsl(urlsplit(link[1]).query, keep_blank_values=True)) if link else None
    return Ok(value, body, following, headers.get("etag"))


def is_web_page(status: int, headers: Mapping[str, str]) -> bool:
    """Whether an answer is a web page, not the API's; GitHub sends its own while it fails."""
    return status < 500 and headers.get("content-type", "").startswith("text/html")


def _reason(body: bytes) -> str:
    """GitHub's own words, at most 200 characters."""
    try:
        answer = json.loads(body)
        text = str(answer["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no reason given"
    errors = answer.get("errors")
    details = "; ".join(filter(None, map(_detail, errors))) if isinstance(errors, list) else ""
    return f"{text} ({details})"[:200] if details else text[:200]


def _detail(error: object) -> str:
    if isinstance(error, dict):
        parts = [error["message"]] if error.get("message") else [error.get("field"), error.get("code")]
        return " ".join(part for part in parts if isinstance(part, str) and part != "name")
    return error if isinstance(error, str) else ""


def smaller_pages(query: Mapping[str, str]) -> dict[str, str] | None:
    """The same place of a list in pages of a fifth of the size; None if they cannot get smaller."""
    size = int(query["per_page"]) // 5
    if size < LEAST_ITEMS:
        return None
    page = {"page": str((int(query["page"]) - 1) * 5 + 1)} if query.get("page", "").isdecimal() else {}
    return {**query, "per_page": str(size), **page}
