"""What GitHub answers when it refuses or fails, and what can go wrong on the way. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """An answer; status 0 closes the connection without any."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Trouble:
    """What goes wrong with the next requests that match.

    Attributes:
        request: Regular expression over `METHOD /path`.
        fault: The answer instead; None: the right one.
        after: The request is carried out first, and its answer lost.
        reset: The connection is reset instead of an answer.
        slow_s: Time before the answer.
    """

    request: str
    fault: Fault | None = None
    after: bool = False
    reset: bool = False
    slow_s: float = 0.0
    times: int = 1


def message(text: str, status: int, headers: Mapping[str, str] | None = None) -> Fault:
    """A refusal with GitHub's JSON."""
    body = {"message": text, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return Fault(status, json.dumps(body), headers or {})


def status(code: int) -> Fault:
    """Any refusal."""
    texts = {404: "Not Found", 410: "This issue was deleted", 422: "Validation Failed"}
    return message(texts.get(code, "No"), code)


def rate_limit(reset_epoch_s: int) -> Fault:
    """The primary limit is used up."""
    headers = {
        "x-ratelimit-limit": "60",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": str(reset_epoch_s),
        "x-ratelimit-resource": "core",
    }
    text = "API rate limit exceeded for 192.0.2.1. (But here's the good news: Authenticated requests get a higher one.)"
    return message(text, 403, headers)


def secondary_limit(retry_after_s: int | None, status: int = 429) -> Fault:
    """Too many requests at once; GitHub does not always say for how long."""
    text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return message(text, status, None if retry_after_s is None else {"retry-after": str(retry_after_s)})


def forbidden() -> Fault:
    """A token without the right to read."""
    headers = {"x-ratelimit-remaining": "4999", "x-ratelimit-reset": "1700000000"}
    return message("Resource not accessible by personal access token", 403, headers)


def integration() -> Fault:
    """An App's token or GITHUB_TOKEN without the permission."""
    return message("Resource not accessible by integration", 403, {"x-ratelimit-remaining": "4000"})


def locked() -> Fault:
    """The conversation is locked."""
    return message("Unable to create comment because issue is locked.", 403, {"x-ratelimit-remaining": "4000"})


def bad_credentials() -> Fault:
    """A token that is wrong or revoked."""
    return message("Bad credentials", 401)


def server_error(status: int = 500) -> Fault:
    """GitHub itself fails, with the web page that it sends then."""
    return Fault(status, "<!DOCTYPE html><title>Unicorn! &middot; GitHub</title>", {"Content-Type": "text/html"})


def malformed() -> Fault:
    """A JSON document that breaks off."""
    return Fault(200, '{"number": 1, "title": "hang')


def dropped() -> Fault:
    """The connection closes without an answer."""
    return Fault(0)
