from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.github.answer import Answer, Broken, Gone, Ok, Refused, Unchanged, Wait, rate_limit_reset, read_answer
from distriage.github.limits import LONGEST_WAIT_S, UNSTATED_WAIT_S, OwnLimits, Unstated

NOW = 1_000.0
JSON = {"content-type": "application/json; charset=utf-8"}
MESSAGE = b'{"message": "No"}'


@pytest.mark.parametrize(
    ("status", "headers", "body", "answer"),
    [
        (200, JSON, b'{"a": 1}', Ok({"a": 1}, b'{"a": 1}')),
        (201, JSON | {"etag": 'W/"x"'}, b"[]", Ok([], b"[]", etag='W/"x"')),
        (204, {}, b"", Ok(None, b"")),
        (200, {"content-type": "application/vnd.github.raw+json"}, b"a: 1", Ok(None, b"a: 1")),
        (200, JSON, b'{"a": ', Broken("GitHub's answer is not JSON")),
        (200, {"content-type": "text/html"}, b"<h1>Welcome to this network", Broken("GitHub's answer is not JSON")),
        (200, JSON, b"[" * 100_000, Broken("GitHub's answer is not JSON")),
        (304, {}, b"", Unchanged()),
        (301, {"location": "/x"}, b"", Refused(301, "no reason given", already_exists=False)),
        (401, JSON, MESSAGE, Refused(401, "No", already_exists=False, token_may_be_old=True)),
        (403, JSON, MESSAGE, Refused(403, "No", already_exists=False)),
        (
            403,
            JSON,
            b'{"message": "Resource not accessible by integration"}',
            Refused(403, "Resource not accessible by integration", already_exists=False, token_may_be_old=True),
        ),
        (403, JSON | {"retry-after": "5"}, MESSAGE, Wait(NOW + 5)),
        (403, JSON, b'{"message": "You have exceeded a secondary rate limit"}', Wait(None)),
        (429, {}, b"", Wait(None)),
        (404, JSON, MESSAGE, Gone(404, "No")),
        (410, JSON, MESSAGE, Gone(410, "No")),
        (422, JSON, MESSAGE, Refused(422, "No", already_exists=False)),
        (
            422,
            JSON,
            b'{"message": "Validation Failed", "errors": [{"code": "already_exists"}]}',
            Refused(422, "Validation Failed (already_exists)", already_exists=True),
        ),
        (404, {}, b"<html>", Gone(404, "no reason given")),
        (
            422,
            JSON,
            b'{"message": "Validation Failed", "errors": [{"field": "state_reason", "code": "invalid"}, "Long", 1]}',
            Refused(422, "Validation Failed (state_reason invalid; Long)", already_exists=False),
        ),
        (400, JSON, json.dumps({"message": "x" * 999}).encode(), Refused(400, "x" * 200, already_exists=False)),
        (500, {}, b"<html>", Broken("GitHub fails (500)")),
        (502, JSON, MESSAGE, Broken("GitHub fails (502)")),
    ],
)
def test_what_an_answer_means(status: int, headers: dict[str, str], body: bytes, answer: Answer) -> None:
    assert read_answer(status, headers, body, NOW) == answer


def test_the_next_page_is_the_query_of_githubs_link() -> None:
    link = '<https://x.example/a?page=1>; rel="prev", <https://x.example/b?per_page=100&after=a%3Db&since=>; rel="next"'
    answer = read_answer(200, JSON | {"link": link}, b"[]", NOW)
    assert isinstance(answer, Ok) and answer.following == {"per_page": "100", "after": "a=b", "since": ""}
    last = read_answer(200, JSON | {"link": '<https://x/?page=1>; rel="first"'}, b"[]", NOW)
    assert isinstance(last, Ok) and last.following is None


@given(
    st.integers(100, 599),
    st.dictionaries(st.sampled_from(["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "link"]), st.text()),
    st.binary() | st.sampled_from([b"null", b"[[]]", b'{"message": {}}', b'{"message": null}']),
)
def test_no_answer_breaks_the_reading(status: int, headers: dict[str, str], body: bytes) -> None:
    answer = read_answer(status, headers, body, NOW)
    assert isinstance(answer, Ok) <= (200 <= status < 300)
    assert isinstance(answer, Wait) <= (status in {403, 429})


@pytest.mark.parametrize(
    ("headers", "reset_s"),
    [
        ({}, None),
        ({"retry-after": "30"}, 1030),
        ({"retry-after": "\u00b2"}, None),
        ({"retry-after": "9" * 5000}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "5000"}, 5000),
        ({"x-ratelimit-remaining": "7", "x-ratelimit-reset": "5000"}, None),
        ({"x-ratelimit-remaining": "0"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None),
        ({"retry-after": "30", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "5000"}, 1030),
    ],
)
def test_when_the_next_request_is_allowed(headers: dict[str, str], reset_s: float | None) -> None:
    assert rate_limit_reset(headers, now=1000) == reset_s


@pytest.mark.parametrize(("now", "reset_s"), [(1000, 1060), (1005, 1065), (1600, 1660), (995, 1055)])
def test_a_limit_ends_by_github_s_clock(now: float, reset_s: float) -> None:
    """Otherwise a clock that is ahead takes it for over, and asks again and again."""
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1060", "date": "Thu, 01 Jan 1970 00:16:40 GMT"}
    assert rate_limit_reset(headers, now) == reset_s
    assert rate_limit_reset(headers | {"date": "hostile"}, now) == 1060


@pytest.mark.parametrize(
    ("stated", "wait_s"), [(1030, 30), (1000, UNSTATED_WAIT_S), (995, UNSTATED_WAIT_S), (9e9, LONGEST_WAIT_S)]
)
def test_no_limit_is_over_when_it_is_told(stated: float, wait_s: float) -> None:
    assert OwnLimits(lambda: 1000.0).reached(stated) == 1000 + wait_s


@pytest.mark.parametrize(
    ("last", "now", "next_"),
    [
        (None, 0.0, Unstated(60, 60)),
        (Unstated(60, 60), 59.0, Unstated(60, 60)),  # a request that was under way
        (Unstated(60, 60), 60.0, Unstated(180, 120)),
        (Unstated(60, 60), 120.0, Unstated(240, 120)),
        (Unstated(60, 60), 121.0, Unstated(181, 60)),
        (Unstated(180, 120), 290.0, Unstated(530, 240)),
        (Unstated(9000, 3600), 9001.0, Unstated(12601, 3600)),
    ],
)
def test_a_limit_without_a_time_is_waited_for_longer_each_time(
    last: Unstated | None, now: float, next_: Unstated
) -> None:
    assert Unstated.after(last, now) == next_
