# ruff: noqa: F401, F811  # fixtures
"""Every error has the one form of problems, whatever is wrong and wherever."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import BundleError
from distriage.classifier import Classifier
from distriage.reading.report import MAX_REPORT_BYTES
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.web.engine import Engine
from distriage_serving.web.routes import classify

from support.gated_model import GatedModel, LateModel
from support.http_api import REPORTS, ROUTES, assert_problem, gated, log_lines, post, server
from support.server import Running, running
from support.waiting import WAIT_S, until


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/classify/",
        "/v1/classify/x",
        "/v2/models",
        "//v1/classify",
        "/%00",
        "/" + "x" * 3000,
        "/livez/../x",
        "/redoc",
    ],
)
def test_unknown_paths(server: Running, path: str) -> None:
    assert_problem(server.client.get(path), 404, "not-found")


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")


@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path, right in ROUTES.items() for method in METHODS if method != right]
)
def test_other_methods(server: Running, path: str, method: str) -> None:
    response = server.client.request(method, path)
    assert_problem(response, 405, "method-not-allowed")
    assert response.headers["allow"] == ROUTES[path]


@pytest.fixture(scope="module")
def slow_senders(server: Running) -> Iterator[dict[str, socket.socket]]:
    """Path -> a connection that sends the beginning of a body there, and stays; all at once, since each takes long."""
    with ExitStack() as stack:
        senders = {}
        for path in (*ROUTES, "/nothing"):
            sender = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            method = ROUTES.get(path, "GET")
            sender.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc".encode())
            sender.settimeout(WAIT_S)
            senders[path] = sender
        yield senders


@pytest.mark.parametrize("path", [*ROUTES, "/nothing"])
def test_bodies_that_are_too_large_or_too_slow(
    server: Running, slow_senders: dict[str, socket.socket], path: str
) -> None:
    method = ROUTES.get(path, "GET")
    assert_problem(server.client.request(method, path, content=b"x" * 200_001), 413, "content-too-large")
    assert_problem(
        server.client.request(method, path, content=iter([b"x" * 50_000] * 5)), 413, "content-too-large"
    )  # chunked: counted while it comes
    answer = b""
    while chunk := slow_senders[path].recv(65536):
        answer += chunk
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"code":"body-timeout"' in answer


def test_a_body_that_is_announced_too_large_is_not_waited_for(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        connection.settimeout(30)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "text/json",
    ],
)
def test_other_media_types(server: Running, kind: str) -> None:
    response = server.client.post("/v1/classify", content=b'{"title": "x"}', headers={"Content-Type": kind})
    assert_problem(response, 415, "unsupported-media-type")
    assert response.headers["accept"] == "application/json"


def test_compressed_bodies_are_refused(server: Running) -> None:
    response = server.client.post(
        "/v1/classify", content=b"\x1f\x8b", headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}
    )
    assert_problem(response, 415, "unsupported-media-type")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ("", "#"),
        ("{", "#"),
        ("[]", "#"),
        ("null", "#"),
        ("[" * 100_000, "#"),
        ("\xff".encode("latin-1"), "#"),
        ('{"title": 1}', "#/title"),
        ('{"title": "x", "colour": 1}', "#/colour"),
        ('{"title": "x", "a/b~c": 1}', "#/a~1b~0c"),
        ('{"report": {"title": "x"}}', "#/report"),
        ('{"reports": [{"title": "x", "batch": 1}]}', "#/reports/0/batch"),
        ('{"title": "x", "mode": "bold"}', "#/mode"),
        ('{"title": "x", "explain": 1}', "#/explain"),
        ('{"title": "x", "id": "' + "i" * 201 + '"}', "#/id"),
        ('{"title": " ", "body": null}', "#"),
        ("{}", "#"),
        ('{"reports": []}', "#/reports"),
        ('{"reports": {}}', "#/reports"),
        ('{"reports": [{"title": "x"}, {"body": 2}]}', "#/reports/1/body"),
        ('{"reports": [{"title": "x"}], "title": "x"}', "#/title"),
        ('{"reports": [{"title": "x", "mode": "best"}]}', "#/reports/0/mode"),
        (json.dumps({"reports": [{"title": "x"}] * 9}), "#/reports"),
        (json.dumps({"reports": [{"title": "x"}] * 3, "explain": True}), "#/reports"),
    ],
)
def test_bodies_that_do_not_fit(server: Running, body: str | bytes, pointer: str) -> None:
    response = server.client.post("/v1/classify", content=body, headers={"Content-Type": "application/json"})
    problem = assert_problem(response, 422, "invalid-request")
    assert pointer in [error["pointer"] for error in problem["errors"]]
    assert len(response.content) < 5000


def test_a_byte_order_mark_is_no_fault(server: Running) -> None:
    body = b'\xef\xbb\xbf{"title": "It hangs"}'
    response = server.client.post("/v1/classify", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200 and response.json()["title"] == "It hangs"


def test_a_report_that_is_too_large_costs_a_batch_no_other_answer(keyword_bundle: Path) -> None:
    large = {"title": "x", "body": "a" * (MAX_REPORT_BYTES + 1), "id": "large"}
    with running(partial(Classifier, keyword_bundle, threads=1)) as server:
        large_one, other = post(server.client, {"reports": [large, REPORTS[0]]}).json()["verdicts"]
        assert_problem(post(server.client, large), 422, "invalid-request")
    assert large_one["id"] == "large" and "at most 1,048,576 are read" in large_one["error"] and other["axes"]


def test_half_a_pair_of_surrogates_is_read_as_elsewhere(server: Running) -> None:
    """A client may cut a text in the middle of a character."""
    headers = {"Content-Type": "application/json"}
    response = server.client.post("/v1/classify", content='{"title": "It hangs \\ud83d"}', headers=headers)
    assert response.status_code == 200 and response.json()["title"] == "It hangs \ufffd"


def test_many_faults_are_cut_short(server: Running) -> None:
    problem = assert_problem(post(server.client, {"k" * 900 + str(i): 1 for i in range(100)}), 422, "invalid-request")
    assert len(problem["errors"]) == 20 and max(len(error["pointer"]) for error in problem["errors"]) <= 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"reports": [' + b"{}," * 30_000 + b"{}]}",
        b'{"title": [' + b"[]," * 30_000 + b"[]]}",
        b"{" + b",".join(b'"%d":1' % key for key in range(15_000)) + b"}",
        b'{"reports": [{' + b",".join(b'"%d":1' % key for key in range(12_000)) + b"}]}",
    ],
    ids=["reports", "title", "keys", "keys of a report"],
)
def test_a_body_of_countless_values_is_refused_unread(
    server: Running, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classify, "REQUEST", None)  # reading 8 MB of them took minutes and gigabytes
    response = server.client.post("/v1/classify", content=body, headers={"Content-Type": "application/json"})
    problem = assert_problem(response, 422, "invalid-request")
    assert "more than" in problem["detail"] and "values" in problem["detail"]


def test_text_that_looks_like_json_is_no_value(server: Running) -> None:
    assert post(server.client, {"title": "x", "body": '\\"[{,' * 20_000}).status_code == 200


def test_an_unforeseen_failure_is_a_500_that_tells_nothing(gated: GatedModel, log_lines: list[str]) -> None:
    gated.open()
    with running(gated) as server:
        response = post(server.client, {"title": "zebra"})
        assert_problem(response, 500, "internal-error")
        assert "zebra" not in response.text and "RuntimeError" not in response.text
        assert post(server.client, REPORTS[0]).status_code == 200
    (line,) = [json.loads(line) for line in log_lines if "request_failed" in line]
    assert (line["exception"], line["request_id"]) == ("ModelError", response.headers["x-request-id"])
    (line,) = [json.loads(line) for line in log_lines if "report_failed" in line]
    assert re.fullmatch(r"RuntimeError at gated_model\.py:\d+", line["reason"])
    assert "zebra" not in "".join(log_lines)


def test_a_model_that_is_killed_is_a_503_and_passes(gated: GatedModel, log_lines: list[str]) -> None:
    gated.open()
    with running(gated) as server:
        assert_problem(post(server.client, {"title": "dodo"}), 503, "not-ready")
        assert post(server.client, {"title": "a hang"}).status_code == 200
        answer, gone = post(server.client, {"reports": [{"title": "a hang"}, {"title": "dodo"}]}).json()["verdicts"]
        assert answer["title"] == "a hang" and "send it again" in gone["error"]
    assert sum('"event": "report_failed"' in line for line in log_lines) == 2


def test_a_report_on_which_the_model_fails_costs_a_batch_no_other_answer(gated: GatedModel) -> None:
    gated.open()
    reports = [{"title": "a hang"}, {"title": "zebra", "id": "two"}, {"title": " "}, {"title": "another hang"}]
    with running(gated) as server:
        response = post(server.client, {"reports": reports})
        counts = server.client.get("/metrics").text
    first, second, third, fourth = response.json()["verdicts"]
    assert second == {"schema_version": 1, "id": "two", "error": "the model failed on this report"}
    assert "empty" in third["error"] and [answer["title"] for answer in (first, fourth)] == ["a hang", "another hang"]
    assert 'distriage_reports_total{result="failed"} 1.0' in counts


@pytest.fixture(scope="module")
def broken(keyword_bundle: Path) -> Iterator[Running]:
    """A server each of whose routes fails."""
    with running(partial(Classifier, keyword_bundle, threads=1)) as server:
        for route in server.app.router.routes:
            _break(route)
        yield server


@pytest.mark.parametrize("path", ROUTES)
def test_every_route_turns_a_failure_into_a_problem(broken: Running, path: str) -> None:
    assert_problem(broken.client.request(ROUTES[path], path, json={"title": "x"}), 500, "internal-error")


def _break(route: Any) -> None:
    async def fail(*_: object) -> None:
        raise KeyError("zebra")

    route.handle = fail
    if hasattr(route, "original_router"):  # newer FastAPI keeps included routers as they are
        route.matches = lambda _: _refuse_to_match()


def _refuse_to_match() -> Any:
    raise KeyError("zebra")


def test_before_the_model_is_loaded_only_the_process_is_alive(keyword_bundle: Path, tmp_path: Path) -> None:
    with running(LateModel(keyword_bundle, tmp_path / "arrived"), wait=False) as server:
        until(lambda: server.client.get("/livez").status_code == 200)
        for path in ("/readyz", "/v1/taxonomy", "/v1/models"):
            assert_problem(server.client.get(path), 503, "not-ready")
        assert_problem(post(server.client, REPORTS[0]), 503, "not-ready")
        assert server.client.get("/metrics").status_code == 200
        (tmp_path / "arrived").touch()
        until(lambda: server.client.get("/readyz").status_code == 200)
        assert server.client.get("/readyz").json() == {"status": "ready", "model": "toy"}


def test_a_model_that_cannot_be_loaded_is_reported() -> None:
    async def scenario() -> Engine:
        told: list[bool] = []
        engine = Engine(Settings(), Metrics(), partial(open, "/gone"), lambda: told.append(True))  # type: ignore[arg-type]
        await engine.start()
        await engine.close()
        assert told == [True]
        return engine

    error = asyncio.run(scenario()).load_error
    assert isinstance(error, BundleError) and str(error).startswith("FileNotFoundError at ")
