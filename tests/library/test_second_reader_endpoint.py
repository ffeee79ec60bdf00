"""The second reader's endpoint: what is sent to it, what it may answer, and what happens when it does not."""

# ruff: noqa: F401, F811  # fixtures
from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

import pytest

from distriage.base.errors import ConfigError
from distriage.second_reader.endpoint import Endpoint, EndpointSettings, Unanswered
from distriage.second_reader.request import ReaderRequest

from support.reader import Double, double

REQUEST = ReaderRequest(
    {"cause": {"A": "api-misuse", "B": None}},
    {"messages": [{"content": "?"}], "max_tokens": 9, "response_format": {}},
)
GOOD = json.dumps({"choices": [{"message": {"content": '{"cause": "A"}'}}], "usage": {"total_tokens": 7}}).encode()


class Tokens:
    """A budget of tokens."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, tokens: int) -> bool:
        if tokens > self.left:
            return False
        self.left -= tokens
        return True

    def settle(self, tokens: int) -> None:
        self.left -= tokens


def test_an_answer_is_the_label_whose_code_came_back(double: Double) -> None:
    double.answer = lambda _: (200, GOOD)
    with Endpoint(EndpointSettings(double.url, "m", key="secret")) as endpoint:
        assert endpoint.ask(REQUEST) == {"cause": {"api-misuse": 1.0}}
    assert double.bodies[0]["model"] == "m" and double.keys == ["Bearer secret"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((429, b"slow down"), "refused (HTTP 429)"),
        ((500, b"<html>zebra</html>"), "refused (HTTP 500)"),
        ((401, b"zebra"), "refused (HTTP 401: is the key right?)"),
        ((404, b"zebra"), "refused (HTTP 404: are base URL and model right?)"),
        ((200, b'{"error": {"message": "zebra"}}'), "answered with an error"),
        ((302, b""), "refused (HTTP 302)"),
        ((200, b'{"choices": [{"mess'), "is no JSON"),
        ((200, b"[" * 100_000), "is no JSON"),
        ((200, b"{}"), "none of the offered answers"),
        ((200, GOOD.replace(b"A", b"Z")), "none of the offered answers"),
        ((200, GOOD.replace(b'{\\"cause\\": \\"A\\"}', b"zebra")), "none of the offered answers"),
        ((200, b" " * (2 << 20)), "answer is too long"),
        ((500, b" " * (2 << 20)), "refused (HTTP 500)"),
    ],
)
def test_what_goes_wrong_is_said_in_our_words(double: Double, answer: tuple[int, bytes], why: str) -> None:
    double.answer = lambda _: answer
    with Endpoint(EndpointSettings(double.url, "m")) as endpoint:
        said = endpoint.ask(REQUEST)
    assert isinstance(said, Unanswered) and why in said.why and "zebra" not in said.why


def test_nobody_waits_longer_than_the_limit(double: Double) -> None:
    double.answer = lambda _: None
    with Endpoint(EndpointSettings(double.url, "m", timeout_s=0.3)) as endpoint:
        said = endpoint.ask(REQUEST)
    assert said == Unanswered("the second reader did not answer within 0.3 s", "time-out")


DRIPS = [
    b"HTTP/1.1 200 OK\r\nX-A: 1\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFF\r\n",
    b"",
]


@pytest.mark.parametrize("begin", DRIPS, ids=["headers", "length", "close", "chunks", "nothing"])
def test_an_endpoint_that_drips_is_cut_off_and_no_thread_is_left(begin: bytes) -> None:
    before, over = set(threading.enumerate()), threading.Event()

    def drip(listening: socket.socket) -> None:
        with listening.accept()[0] as connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(begin)
            while not over.wait(0.05):
                connection.sendall(b"X")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        peer = threading.Thread(target=drip, args=(listening,), daemon=True)
        peer.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        begun = time.monotonic()
        with Endpoint(EndpointSettings(url, "m", timeout_s=0.5)) as endpoint:
            said = endpoint.ask(REQUEST)
        took_s = time.monotonic() - begun
        over.set()
        peer.join()
    assert said == Unanswered("the second reader did not answer within 0.5 s", "time-out") and took_s < 3
    assert set(threading.enumerate()) <= before


def test_an_endpoint_that_is_not_there_is_no_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Endpoint(EndpointSettings(f"http://127.0.0.1:{port}", "m")) as endpoint:
        assert endpoint.ask(REQUEST) == Unanswered("the second reader cannot be reached (ConnectError)", "unreachable")


@pytest.mark.parametrize(
    ("status", "field", "words"),
    [
        *((status, field, field) for status in (400, 422) for field in ("response_format", "logprobs", "temperature")),
        (400, "logprobs", "Logprobs is not enabled for models/m"),
        (403, "logprobs", "You are not allowed to request logprobs from this model"),
        (400, "response_format", "This model does not support response format `json_schema`"),
        (400, "response_format", "Failed to initialize samplers: failed to parse grammar"),
        (404, "response_format", "No endpoints found that can handle response_format"),
    ],
)
def test_an_endpoint_that_refuses_a_field_is_asked_without(double: Double, status: int, field: str, words: str) -> None:
    body = {**REQUEST.body, "logprobs": True, "top_logprobs": 20, "temperature": 0}
    refusal = (status, json.dumps({"error": words}).encode())
    double.answer = lambda body: refusal if field in body else (200, GOOD)
    with Endpoint(EndpointSettings(double.url, "m")) as opened:
        answers = [opened.ask(ReaderRequest(REQUEST.codes, body)) for _ in range(2)]
    assert [type(answer) for answer in answers] == [dict, dict] and len(double.bodies) == 3
    assert not [name for name in double.bodies[-1] if field in name]


def test_words_of_the_report_in_a_refusal_are_no_refusal_of_a_field(double: Double) -> None:
    report = "It crashes with logprobs\nand a grammar at temperature 0."
    body = {**REQUEST.body, "messages": [{"content": report}], "logprobs": True, "temperature": 0}
    flagged = {"error": {"message": "Your input was flagged", "metadata": {"flagged_input": report}}}
    double.answer = lambda _: (403, json.dumps(flagged).encode())
    with Endpoint(EndpointSettings(double.url, "m")) as opened:
        assert isinstance(opened.ask(ReaderRequest(REQUEST.codes, body)), Unanswered)
        double.answer = lambda _: (200, GOOD)
        opened.ask(REQUEST)
    assert len(double.bodies) == 2 and "response_format" in double.bodies[-1]


def test_an_endpoint_that_wants_the_limit_under_its_other_name_gets_it_so(double: Double) -> None:
    refusal = b"Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    double.answer = lambda body: (400, refusal) if "max_tokens" in body else (200, GOOD)
    with Endpoint(EndpointSettings(double.url, "m"), Tokens(60)) as opened:
        answers = [opened.ask(REQUEST) for _ in range(2)]
    assert [type(answer) for answer in answers] == [dict, dict]
    assert [body.get("max_completion_tokens") for body in double.bodies] == [None, 9, 9]
    double.answer = lambda _: (400, refusal)
    with Endpoint(EndpointSettings(double.url, "m")) as opened:
        assert opened.ask(REQUEST) == Unanswered("the second reader refused (HTTP 400)", "refused", status=400)
    assert len(double.bodies) == 5


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ({"finish_reason": "length", "message": {"content": None}}, "'s answer was cut off after 9 tokens"),
        ({"message": {"content": '<think>zebra</think>\n{"cause": "A"}'}}, " thinks before it answers"),
        ({"message": {"content": None, "reasoning_content": "zebra"}}, " thinks before it answers"),
        ({"message": {"content": "", "reasoning_content": "zebra"}}, " thinks before it answers"),
        ({"message": {"content": None, "refusal": "zebra"}}, " declined to answer"),
        ({"finish_reason": "stop", "message": {"content": None}}, " gave none of the offered answers"),
        (["zebra"], " gave none of the offered answers"),
    ],
)
def test_a_model_that_thinks_is_told_from_one_that_answers_something_else(
    double: Double, choice: object, why: str
) -> None:
    double.answer = lambda _: (200, json.dumps({"choices": [choice]}).encode())
    with Endpoint(EndpointSettings(double.url, "m")) as opened:
        said = opened.ask(REQUEST)
    hint = "; switch the model's thinking off" if "cut off" in why or "thinks" in why else ""
    assert said == Unanswered(f"the second reader{why}{hint}", "nonsense")


def test_an_endpoint_that_refuses_everything_is_not_asked_for_ever(double: Double) -> None:
    double.answer = lambda _: (400, b"response_format logprobs")
    with Endpoint(EndpointSettings(double.url, "m")) as opened:
        assert opened.ask(REQUEST) == Unanswered("the second reader refused (HTTP 400)", "refused", status=400)
    assert len(double.bodies) == 2


def test_tokens_that_were_used_count_not_those_that_were_feared(double: Double) -> None:
    double.answer = lambda _: (200, GOOD)
    with Endpoint(EndpointSettings(double.url, "m"), Tokens(40)) as endpoint:
        answers = [endpoint.ask(REQUEST) for _ in range(6)]
    assert [type(answer) for answer in answers[:3]] == [dict] * 3
    assert answers[-1] == Unanswered("the second reader's budget for today is used up", "budget")


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("ftp://x", "m"),
        ("x", "m"),
        ("http://u:p@x/v1", "m"),
        ("http://x", ""),
        ("http://localhost:PORT/v1", "m"),
        ("http://[::1/v1", "m"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, model: str) -> None:
    with pytest.raises(ConfigError, match="second reader"):
        EndpointSettings(url, model)


@pytest.mark.parametrize("key", ["schl\u00fcssel", "a\nb"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="its key holds other characters") as refused:
        EndpointSettings("http://x", "m", key=key)
    assert key not in str(refused.value)


def test_an_answer_that_is_too_long_was_paid_for_all_the_same(double: Double) -> None:
    double.answer = lambda _: (200, b" " * (2 << 20))
    with Endpoint(EndpointSettings(double.url, "m"), Tokens(15)) as endpoint:
        said = [endpoint.ask(REQUEST) for _ in range(2)]
    assert [getattr(answer, "result", None) for answer in said] == ["nonsense", "budget"]


@pytest.mark.parametrize(
    "variables",
    [
        {"ALL_PROXY": "socks5://user:zebra@127.0.0.1:1"},
        {"HTTP_PROXY": "http://127.0.0.1:zebra"},
        {"SSL_CERT_FILE": "/zebra"},
        {"NO_PROXY": "[::1]:zebra"},
    ],
)
def test_an_environment_that_the_client_cannot_use_is_one_line(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=next(iter(variables))) as error:
        Endpoint(EndpointSettings("http://127.0.0.1:1", "m"))
    assert "zebra" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://a..example/v1",
        f"http://{'a' * 70}.example/v1",
        "http://xn--/v1",
        "http://h/v1?version=1",
        "http://h/v1#part",
        "http://me:zebra@h/v1",
        "ftp://me:zebra@h/v1",
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match="expected an address such as") as error:
        EndpointSettings(url, "m")
    assert "zebra" not in str(error.value)


def test_an_address_of_the_call_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"expected the base URL, without /chat/completions"):
        EndpointSettings("http://h/v1/chat/completions/", "m")


def test_a_name_that_no_json_holds_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model 'm\\udcff'; expected a name"):
        EndpointSettings("http://h/v1", "m\udcff")
