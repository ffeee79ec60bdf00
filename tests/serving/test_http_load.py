# ruff: noqa: F401, F811  # fixtures
"""Many requests at once, slow ones, and ones whose sender goes away."""

from __future__ import annotations

import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from distriage.classifier import Classifier

from support import local_http
from support.gated_model import GatedModel
from support.http_api import REPORTS, assert_problem, expected, gated, log_lines, post
from support.server import Running, running
from support.waiting import WAIT_S, until


def test_concurrent_requests_get_what_single_ones_get(gated: GatedModel, keyword_classifier: Classifier) -> None:
    texts = [
        f"{word} number {i}"
        for i, word in enumerate(["hangs", "segfault", "memory grows", "exhausted memory", "how"] * 4)
    ]
    with running(gated) as server, ThreadPoolExecutor(len(texts)) as pool:
        answers = [pool.submit(post, server.client, {"title": text}) for text in texts]
        until(lambda: _waiting(server) == len(texts) - 1)
        gated.open()
        verdicts = [answer.result().json() for answer in answers]
    assert sorted(gated.titles) == sorted(texts)
    assert [verdict["title"] for verdict in verdicts] == texts
    for text, verdict in zip(texts, verdicts, strict=True):
        assert verdict == expected(keyword_classifier, {"title": text, "body": "", "id": ""})


def test_a_full_queue_is_a_503_and_passes(gated: GatedModel) -> None:
    with running(gated, queue_reports=2, max_reports=2) as server, ThreadPoolExecutor(4) as pool:
        first = pool.submit(post, server.client, {"title": "first"})
        until(lambda: gated.titles == ["first"])
        second = pool.submit(post, server.client, {"reports": [{"title": "a"}, {"title": "b"}]})
        until(lambda: _waiting(server) == 2)
        assert_problem(post(server.client, {"title": "third"}), 503, "queue-full")
        assert 'distriage_model_queue_full_total{queue="plain"} 1.0' in server.client.get("/metrics").text
        gated.open()
        assert first.result().status_code == second.result().status_code == 200
        assert post(server.client, {"title": "third"}).status_code == 200


def read_answer(line: socket.socket) -> bytes:
    """One answer with a JSON object."""
    answer = b""
    while not answer.endswith(b"}"):
        answer += (more := line.recv(65536))
        assert more, "the connection ended"
    return answer


def test_a_request_too_many_is_refused_before_it_is_read(gated: GatedModel, log_lines: list[str]) -> None:
    """However broken the rest of it is, and over a connection that goes on."""
    body = b"not JSON"
    head = b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"
    with running(gated, max_requests=1, head_timeout_s=0.6) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, server.client, {"title": "first"})
        until(lambda: gated.titles == ["first"])
        with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as line:
            for _ in range(4):  # longer than a head may take
                line.sendall(head % len(body) + b"\r\n" + body)
                answer = read_answer(line)
                assert answer.startswith(b"HTTP/1.1 503 Service Unavailable") and b"retry-after: 1" in answer.lower()
                assert b'"code":"too-many-requests-at-once"' in answer
                time.sleep(0.2)
            line.sendall(head % len(body) + b"X-Request-ID: mine-1\r\n\r\n" + body)
            answer = read_answer(line)
            assert b"x-request-id: mine-1\r\n" in answer and answer.endswith(b'"request_id":"mine-1"}')
            line.sendall(head % len(body) + b"Connection: close\r\n\r\n" + body)  # takes the way of all others
            assert b'"code":"too-many-requests-at-once"' in read_answer(line)
        metrics = server.client.get("/metrics").text
        assert 'distriage_http_requests_total{method="POST",route="/v1/classify",status="503"} 6.0' in metrics
        assert sum('"event": "requests_refused"' in text for text in log_lines) == 1
        gated.open()
        assert first.result().status_code == 200


@pytest.mark.slow
def test_too_many_requests_at_once_are_refused_but_probes_are_answered(gated: GatedModel) -> None:
    with running(gated, max_requests=1) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, server.client, {"title": "first"})
        until(lambda: gated.titles == ["first"])
        assert_problem(server.client.get("/v1/models"), 503, "too-many-requests-at-once")
        assert_problem(server.client.get("/nothing"), 404, "not-found")  # a kind of its own
        assert [server.client.get(path).status_code for path in ("/livez", "/readyz", "/metrics")] == [200, 200, 200]
        gated.open()
        assert first.result().status_code == 200
        assert server.client.get("/v1/models").status_code == 200


def test_a_request_that_takes_too_long_is_a_503(gated: GatedModel, log_lines: list[str]) -> None:
    with running(gated, request_timeout_s=0.3) as server:
        assert_problem(post(server.client, {"title": "first"}), 503, "timeout")
        assert_problem(post(server.client, {"title": "second"}), 503, "timeout")
        gated.open()
        until(lambda: post(server.client, {"title": "third"}).status_code == 200)
    assert "second" not in gated.titles  # nobody waited for it any more
    assert "request_failed" not in "".join(log_lines)


def test_a_client_that_goes_away_takes_its_report_out_of_the_queue(gated: GatedModel, log_lines: list[str]) -> None:
    with running(gated) as server, ThreadPoolExecutor(4) as pool:
        first = pool.submit(post, server.client, {"title": "first"})
        until(lambda: gated.titles == ["first"])
        with pytest.raises(httpx.ReadTimeout):
            local_http.post(
                f"http://127.0.0.1:{server.port}/v1/classify",
                json={"title": "gone"},
                timeout=httpx.Timeout(30, read=0.3),
            )
        third = pool.submit(post, server.client, {"title": "third"})
        until(lambda: any('"status": 499' in line for line in log_lines) and _waiting(server) == 1)
        gated.open()
        assert first.result().json()["title"] == "first" and third.result().json()["title"] == "third"
    assert gated.titles == ["first", "third"]


def test_reports_with_explain_hold_up_no_others(keyword_bundle: Path, tmp_path: Path) -> None:
    with (
        running(GatedModel(keyword_bundle, tmp_path, only="explained")) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        explained = pool.submit(
            post, server.client, {"title": "explained", "body": "It hangs\nand hangs", "explain": True}
        )
        until((tmp_path / "calls").read_text)
        assert post(server.client, REPORTS[0]).status_code == 200
        assert not explained.done()
        (tmp_path / "gate").touch()
        assert explained.result().json()["axes"]["symptom"]["evidence"]


@pytest.mark.slow
def test_a_report_that_never_lets_go_of_the_gil_is_given_up_and_holds_up_no_probe(gated: GatedModel) -> None:
    """`quagga` sends the model's process into an exponential pattern, in native code: no Python runs there any more."""
    gated.open()
    with running(gated, report_timeout_s=1, max_explained_reports=1) as server, ThreadPoolExecutor(3) as pool:
        frozen = pool.submit(post, server.client, {"title": "quagga"})
        batch = pool.submit(post, server.client, {"reports": [{"title": "quagga", "id": "q"}, REPORTS[0]]})
        waits_s = []
        while not (frozen.done() and batch.done()):
            started_s = time.perf_counter()
            assert server.client.get("/livez").status_code == 200
            waits_s.append(time.perf_counter() - started_s)
            time.sleep(0.02)
        problem = assert_problem(frozen.result(), 422, "invalid-request")
        assert "more than 1 s of computing time" in problem["detail"]
        first, second = batch.result().json()["verdicts"]
        assert first["id"] == "q" and "computing time" in first["error"] and second["axes"]
        assert post(server.client, REPORTS[1]).status_code == 200
    # Each of the two would hold up a probe for its second; on a busy machine one may be late by itself.
    assert len(waits_s) > 10 and sorted(waits_s)[-2] < 1


def _waiting(server: Running) -> int:
    match = re.search(r'distriage_model_queue_reports\{queue="plain"\} (\d+)', server.client.get("/metrics").text)
    assert match is not None
    return int(match.group(1))
