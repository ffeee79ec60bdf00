"""One request to an OpenAI-compatible endpoint: httpx, a time limit, a daily budget. Never raises for a fault of the
endpoint.

vLLM, SGLang and Ollama take `response_format` with a JSON schema ("Structured Outputs" in the first two). If an
endpoint refuses it, log-probabilities or a temperature, it is asked without; the answer is then parsed just as
strictly, as it is from an endpoint that takes the schema and ignores it (`transformers serve`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import httpx

from distriage.base.errors import ConfigError
from distriage.github.http_client import open_client
from distriage.second_reader.answer import Shares, read_answer, why_none
from distriage.second_reader.deadline import Deadline
from distriage.second_reader.request import ReaderRequest

PATH = "/chat/completions"
MAX_RESPONSE_BYTES = 1 << 20
CHARS_PER_TOKEN = 4  # a rough count, for the budget before the endpoint has said its own
# Field -> what a refusal of it says, letters alone: servers word it in many ways.
REFUSALS = {
    "response_format": ("responseformat", "jsonschema", "grammar"),
    "logprobs": ("logprobs",),
    "temperature": ("temperature",),
    "max_tokens": ("maxcompletiontokens",),
}
HINTS = {401: ": is the key right?", 403: ": may the key ask this model?", 404: ": are base URL and model right?"}
FINAL = {400, 413, 422}  # such a request is refused again, as one that is too long is
Failure = Literal["budget", "time-out", "unreachable", "refused", "nonsense"]


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """The endpoint.

    Attributes:
        url: Base URL, with `/v1` if the server has it.
        key: Sent as a bearer token, unless empty.
        timeout_s: For one request, from connecting to the last byte.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        if not _is_address(self.url):
            shown = re.sub(r"//[^/]*@", "//***@", self.url)  # it may hold a password
            raise ConfigError(f"second reader {shown!r}: expected an address such as http://127.0.0.1:8000/v1")
        if self.url.rstrip("/").endswith(PATH):
            raise ConfigError(f"second reader {self.url!r}: expected the base URL, without {PATH}")
        check_reader_name(self.model)
        if not (self.key.isascii() and self.key.isprintable()):  # no HTTP header can hold it; the key is not shown
            raise ConfigError("second reader: its key holds other characters; expected one line of ASCII")


def check_reader_name(name: str) -> None:
    """Refuse a string that cannot be a model's name: it is sent as JSON and shown to people.

    Raises:
        ConfigError: empty, or with characters that cannot be printed.
    """
    if not name:
        raise ConfigError("second reader: no model; expected the name under which the endpoint serves it")
    if not name.isprintable():
        raise ConfigError(f"second reader: model {name!r}; expected a name of characters that can be printed")


def _is_address(url: str) -> bool:
    try:
        parts = httpx.URL(url)
        host = parts.host
        parts.raw_host.decode("ascii").encode("idna")  # as the socket does
    except (httpx.InvalidURL, UnicodeError):
        return False
    # A path is added to it, so that it cannot end in a query.
    return parts.scheme in {"http", "https"} and bool(host) and not parts.userinfo and not set(url) & {"?", "#"}


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A failure to answer.

    Attributes:
        why: One line of our own, without anything that the endpoint sent.
        result: The same in one word, for counters.
        wait_s: The endpoint asks to be left alone for so long.
        status: HTTP status of a refusal; 0 without.
    """

    why: str
    result: Failure
    wait_s: float = 0.0
    status: int = 0

    @property
    def may_pass(self) -> bool:
        """Whether the same question may be answered later today."""
        return self.result in {"time-out", "unreachable", "refused"} and self.status not in FINAL


class Budget(Protocol):
    """Today's remaining budget, shared by all readers."""

    def take(self, tokens: int) -> bool:
        """Reserve a request of that many tokens; False if today's rest is smaller."""

    def settle(self, tokens: int) -> None:
        """Add the use beyond the reservation; a negative number gives back."""


class Endpoint:
    """Asks; safe to share between threads."""

    def __init__(
        self,
        settings: EndpointSettings,
        budget: Budget | None = None,
        observe: Callable[[str], None] = lambda _result: None,
    ) -> None:
        """Open a client.

        Args:
            budget: No limit if None.
            observe: Called with the outcome of each question: `answered`, or a `Failure`.

        Raises:
            ConfigError: the environment's proxy or certificates cannot be used.
        """
        self.settings = settings
        self._budget = budget
        self._observe = observe
        self._refused: frozenset[str] = frozenset()
        headers = {"Authorization": f"Bearer {settings.key}"} if settings.key else {}
        # No redirects: the key and the report go to the configured host only. No kept connection: see `Deadline`.
        self._client = open_client(
            "second reader",
            headers=headers,
            timeout=settings.timeout_s,
            limits=httpx.Limits(max_keepalive_connections=0),
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        """For `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, request: ReaderRequest) -> dict[str, Shares] | Unanswered:
        """Send one question.

        Returns:
            Axis -> shares, without axes that lack an offered code; or the reason for no answer: a time-out, a refusal,
            nonsense, or the budget. The first verdict stands then.
        """
        answer = self._ask(request)
        self._observe(answer.result if isinstance(answer, Unanswered) else "answered")
        return answer

    def _ask(self, request: ReaderRequest) -> dict[str, Shares] | Unanswered:
        limit = int(request.body["max_tokens"])
        body = request.body_for(self.settings.model, self._refused)
        estimate = len(json.dumps(body["messages"])) // CHARS_PER_TOKEN + limit
        if self._budget is not None and not self._budget.take(estimate):
            return Unanswered("the second reader's budget for today is used up", "budget")
        try:
            status, content, wait_s = self._post(body)
        except httpx.TimeoutException:
            return Unanswered(f"the second reader did not answer within {self.settings.timeout_s:g} s", "time-out")
        except httpx.HTTPError as error:
            self._settle(-estimate)
            return Unanswered(f"the second reader cannot be reached ({type(error).__name__})", "unreachable")
        if status != 200:
            self._settle(-estimate)
        refused = _refused(content, body["messages"]) & body.keys() if status in {400, 403, 404, 422, 501} else None
        if refused:
            self._refused |= refused
            return self._ask(request)
        if status != 200:
            why = f"the second reader refused (HTTP {status}{HINTS.get(status, '')})"
            return Unanswered(why, "refused", wait_s, status)
        if len(content) > MAX_RESPONSE_BYTES:
            return Unanswered("the second reader's answer is too long", "nonsense")
        try:
            completion = json.loads(content)
        except (ValueError, RecursionError):
            return Unanswered("the second reader's answer is no JSON", "nonsense")
        used = _tokens_used(completion)
        if used is not None:
            self._settle(used - estimate)
        shares = read_answer(completion, request.codes)
        if not shares:
            return Unanswered(why_none(completion, limit), "nonsense")
        return shares

    def _settle(self, tokens: int) -> None:
        if self._budget is not None:
            self._budget.settle(tokens)

    def _post(self, body: Mapping[str, Any]) -> tuple[int, bytes, float]:
        """Status, content, and how long to wait before the next request."""
        url, content = self.settings.url.rstrip("/") + PATH, bytearray()
        with (
            Deadline(self.settings.timeout_s) as deadline,
            self._client.stream("POST", url, json=body, extensions={"trace": deadline.trace}) as response,
        ):
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_RESPONSE_BYTES:
                    break  # such an answer was paid for, as any other
            wait = response.headers.get("Retry-After", "")
            wait_s = float(wait) if re.fullmatch(r"[0-9]{1,6}", wait) else 0.0
            return response.status_code, bytes(content), wait_s


def _refused(content: bytes, messages: Sequence[Mapping[str, str]]) -> set[str]:
    """The fields that a refusal names; not in words of the report, which it may quote."""
    said = _letters(content.decode("utf-8", "replace"))
    sent = _letters(" ".join(message["content"] for message in messages))
    return {name for name, words in REFUSALS.items() if any(word in said and word not in sent for word in words)}


def _letters(text: str) -> str:
    return re.sub("[^a-z]+", "", text.lower())


def _tokens_used(completion: object) -> int | None:
    usage = completion.get("usage") if isinstance(completion, dict) else None
    used = usage.get("total_tokens") if isinstance(usage, dict) else None
    return used if isinstance(used, int) and not isinstance(used, bool) and 0 <= used < 10**9 else None
