from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families

from distriage.classifier import Classifier
from distriage.errors import BundleError
from distriage.reading import read
from distriage.types import IssueReport, Mode
from distriage.verdict import Verdict
from distriage_serving.logs import JsonFormatter
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.engine import Engine
from distriage_serving.web.metrics import Metrics
from distriage_serving.web.problem import MEDIA_TYPE, Problem

from support import past_index
from support.server import GatedModel, LateModel, Running, running, until

KEY = "correct-horse-battery-staple"
OTHER_KEY = "second-key-of-the-same-server"
ROUTES = {
    "/v1/classify": "POST",
    "/v1/taxonomy": "GET",
    "/v1/models": "GET",
    "/livez": "GET",
    "/readyz": "GET",
    "/metrics": "GET",
    "/docs": "GET",
    "/openapi.json": "GET",
}
REPORTS = [
    {"title": "It hangs", "body": "The job hangs.", "id": "1"},
    {"title": "memory exhausted", "body": None, "id": "2"},
    {"title": "", "body": "How is it done? how how", "id": "3"},
    {"title": "segfault", "body": "segfault " * 50, "id": "4"},
]
HOSTILE = "<script>alert(1)</script>\r\nX-Evil: 1\x1b[31m\u202e ${{ github.token }} {{7*7}} '; DROP TABLE--"


@pytest.fixture(scope="module")
def server(keyword_bundle: Path) -> Iterator[Running]:
    with running(
        partial(Classifier, keyword_bundle, threads=1),
        max_body_bytes=200_000,
        max_reports=8,
        max_explained_reports=2,
        body_timeout_s=1,
    ) as started:
        yield started


@pytest.fixture
def gated(keyword_bundle: Path, tmp_path: Path) -> Iterator[GatedModel]:
    model = GatedModel(keyword_bundle, tmp_path)
    yield model
    model.open()


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """All that the process logs meanwhile, as it would be printed."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler = Keep()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)


def assert_problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The one shape of every error, and the headers of every answer."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == MEDIA_TYPE
    assert response.headers["x-content-type-options"] == "nosniff"
    problem = Problem.model_validate_json(response.content)
    assert (problem.status, problem.code, problem.request_id) == (status, code, response.headers["x-request-id"])
    assert (problem.errors is not None) == (status == 422)
    if status == 503:
        assert int(response.headers["retry-after"]) >= 1
    content: dict[str, Any] = response.json()
    return content


def post(client: httpx.Client, content: object, **headers: str) -> httpx.Response:
    return client.post("/v1/classify", json=content, headers=headers)


def expected(
    classifier: Classifier, fields: Mapping[str, str | None], mode: Mode = Mode.BALANCED, *, explain: bool = False
) -> dict[str, Any]:
    report = IssueReport(fields["title"] or "", fields["body"] or "", fields["id"] or "")
    return classifier.classify(report, mode, explain=explain).model_dump(mode="json")


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("mode", list(Mode))
def test_one_report(server: Running, keyword_classifier: Classifier, mode: Mode) -> None:
    response = post(server.client, {**REPORTS[0], "mode": mode.value})
    assert response.status_code == 200 and response.headers["content-type"] == "application/json"
    assert response.json() == expected(keyword_classifier, REPORTS[0], mode)
    Verdict.model_validate_json(response.content)


def test_a_batch_keeps_its_order_and_equals_single_calls(server: Running, keyword_classifier: Classifier) -> None:
    response = post(server.client, {"reports": REPORTS, "mode": "precise"})
    assert response.json() == {"verdicts": [expected(keyword_classifier, report, Mode.PRECISE) for report in REPORTS]}


def test_a_blank_report_of_a_batch_has_its_error_in_its_place(server: Running) -> None:
    verdicts = post(server.client, {"reports": [{"title": " ", "id": "blank"}, REPORTS[0], {}]}).json()["verdicts"]
    assert ["error" in verdict for verdict in verdicts] == [True, False, True]
    assert verdicts[0]["id"] == "blank" and "expected a title or a body" in verdicts[0]["error"]


def test_explain_names_lines(server: Running, keyword_classifier: Classifier) -> None:
    response = post(server.client, {**REPORTS[0], "explain": True})
    assert response.json() == expected(keyword_classifier, REPORTS[0], explain=True)
    assert response.json()["axes"]["symptom"]["evidence"]
    assert post(server.client, REPORTS[0]).json()["axes"]["symptom"]["evidence"] is None


def test_similar_names_known_issues(indexed_bundle: Path) -> None:
    classifier = Classifier(indexed_bundle, threads=1)
    known = {**REPORTS[0], "similar": True}
    with running(partial(Classifier, classifier.bundle.path, threads=1)) as server:
        nearest = classifier.similar.nearest(read(IssueReport("It hangs", "The job hangs.", "1")))
        assert [item["id"] for item in post(server.client, known).json()["similar"]] == [item.id for item in nearest]
        assert post(server.client, REPORTS[0]).json()["similar"] is None
        batch = post(server.client, {"reports": REPORTS, "similar": True}).json()["verdicts"]
        assert all(len(verdict["similar"]) == len(nearest) for verdict in batch)


def test_own_labels_are_named(keyword_bundle: Path, own_labels: Path) -> None:
    classifier = Classifier(keyword_bundle, threads=1, own=own_labels)
    with running(partial(Classifier, keyword_bundle, threads=1, own=own_labels)) as server:
        answer = post(server.client, REPORTS[0]).json()
        assert answer == expected(classifier, REPORTS[0]) and len(answer["own"]) == 3
        assert post(server.client, {**REPORTS[0], "id": "other/repo#1"}).json()["own"] is None


def test_a_model_without_an_index_refuses_to_name_similar_issues(server: Running) -> None:
    assert_problem(post(server.client, {**REPORTS[0], "similar": True}), 422, "invalid-request")


def test_duplicates_are_looked_up_in_a_repository_s_past_issues(shipped_bundle: Path, tmp_path: Path) -> None:
    past_index.write_asked_before(tmp_path, Classifier(shipped_bundle, threads=1))
    new = {"title": past_index.TITLE, "body": past_index.BODY, "id": "owner/repo#9"}
    with running(partial(Classifier, shipped_bundle, threads=1), past=tmp_path) as server:
        (item,) = post(server.client, {**new, "duplicates": "OWNER/Repo"}).json()["duplicates"]
        assert (item["id"], item["state"], item["url"]) == (
            "Owner/Repo#1",
            "closed",
            "https://github.com/Owner/Repo/issues/1",
        )
        assert item["probability"] > 0.7 and post(server.client, new).json()["duplicates"] is None
        others = [{"title": "Docs: a typo"}, {"title": " "}, {**new, "id": "owner/repo#1"}, new]
        batch = post(server.client, {"reports": others, "duplicates": "owner/repo"}).json()["verdicts"]
        assert [len(verdict.get("duplicates", "failed")) for verdict in batch] == [0, len("failed"), 0, 1]


@pytest.mark.parametrize("keys", [{}, {"api_keys": [KEY]}], ids=["none", "one"])
def test_past_issues_in_the_database_are_looked_at_only_where_keys_are_set(
    keyword_bundle: Path, sqlite_store: Store, keys: dict[str, Any]
) -> None:
    sqlite_store.begin_past("owner/repo", "toy")
    asked = {**REPORTS[0], "duplicates": "owner/repo"}
    with running(partial(Classifier, keyword_bundle, threads=1), store=sqlite_store, **keys) as server:
        answer = post(server.client, asked, Authorization=f"Bearer {KEY}")
    assert (answer.status_code, answer.json().get("duplicates")) == ((200, []) if keys else (422, None))


@pytest.mark.parametrize("repository", ["owner/other", "../../etc/passwd", "", 1])
def test_a_repository_without_an_index_has_no_duplicates(server: Running, repository: object) -> None:
    problem = assert_problem(post(server.client, {**REPORTS[0], "duplicates": repository}), 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == "#/duplicates"


def test_taxonomy_and_models_are_those_of_the_bundle(server: Running, keyword_classifier: Classifier) -> None:
    taxonomy = server.client.get("/v1/taxonomy").json()
    assert {axis: [label["id"] for label in entry["labels"]] for axis, entry in taxonomy["axes"].items()} == {
        axis: list(calibration.labels) for axis, calibration in keyword_classifier.bundle.manifest.axes.items()
    }
    (model,) = server.client.get("/v1/models").json()["models"]
    assert (model["name"], model["taxonomy"]["version"], model["axes"]) == (
        "toy",
        "1",
        {"kind": 2, "symptom": 4, "fix": 2},
    )


def test_the_docs_need_nothing_from_outside(server: Running) -> None:
    page = server.client.get("/docs")
    assert page.status_code == 200 and page.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search(r"<script|(?:src|href)=.https?:", page.text)
    assert all(path in page.text for path in ROUTES if path not in {"/docs", "/openapi.json"})


def test_metrics_count_and_hold_nothing_of_a_report(server: Running) -> None:
    post(server.client, {"title": "zebra hangs", "id": "owner/zebra#4711"})
    server.client.request("ZEBRA", "/zebra")
    text = server.client.get("/metrics").text
    assert "zebra" not in text.lower()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    (build,) = families["distriage_build_info"].samples
    assert (build.labels["model"], build.labels["taxonomy_version"], build.value) == ("toy", "1", 1)
    assert {sample.value for sample in families["distriage_ready"].samples} == {1}
    counted = {tuple(sample.labels.values()): sample.value for sample in families["distriage_http_requests"].samples}
    assert counted["POST", "/v1/classify", "200"] >= 1 and counted["other", "unmatched", "404"] == 1
    assert (
        sum(sample.value for sample in families["distriage_decisions"].samples if sample.labels["axis"] == "kind") >= 1
    )
    assert all(name.startswith(("distriage_", "process_")) for name in families)
    assert sum(len(family.samples) for family in families.values()) < 400


# ---------------------------------------------------------------- errors


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


@pytest.mark.parametrize("path", [*ROUTES, "/nothing"])
def test_bodies_that_are_too_large_or_too_slow(server: Running, path: str) -> None:
    method = ROUTES.get(path, "GET")
    assert_problem(server.client.request(method, path, content=b"x" * 200_001), 413, "content-too-large")
    assert_problem(
        server.client.request(method, path, content=iter([b"x" * 50_000] * 5)), 413, "content-too-large"
    )  # chunked: counted while it comes
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc".encode())
        connection.settimeout(30)
        answer = b""
        while chunk := connection.recv(65536):
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
        ('{"title": "\\ud800"}', "#"),
        ("\xff".encode("latin-1"), "#"),
        ('{"title": 1}', "#/title"),
        ('{"title": "x", "colour": 1}', "#/colour"),
        ('{"title": "x", "a/b~c": 1}', "#/a~1b~0c"),
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


def test_many_faults_are_cut_short(server: Running) -> None:
    problem = assert_problem(post(server.client, {"k" * 900 + str(i): 1 for i in range(100)}), 422, "invalid-request")
    assert len(problem["errors"]) == 20 and max(len(error["pointer"]) for error in problem["errors"]) <= 200


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
    assert re.fullmatch(r"RuntimeError at server\.py:\d+", line["reason"])
    assert "zebra" not in "".join(log_lines)


@pytest.mark.parametrize("path", ROUTES)
def test_every_route_turns_a_failure_into_a_problem(keyword_bundle: Path, path: str) -> None:
    with running(partial(Classifier, keyword_bundle, threads=1)) as server:
        for route in server.app.router.routes:
            _break(route)
        assert_problem(server.client.request(ROUTES[path], path, json={"title": "x"}), 500, "internal-error")


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


# ---------------------------------------------------------------- keys, ids, text


def test_keys(keyword_bundle: Path) -> None:
    with running(
        partial(Classifier, keyword_bundle, threads=1), api_keys=[KEY, OTHER_KEY], max_body_bytes=2000
    ) as server:
        for path, method in ROUTES.items():
            response = server.client.request(method, path, content=b"{}")
            if path.startswith("/v1/"):
                assert_problem(response, 401, "unauthorized")
                assert response.headers["www-authenticate"].startswith("Bearer ")
            else:
                assert response.status_code == 200
        assert_problem(post(server.client, REPORTS[0], Authorization=f"Bearer {KEY}x"), 401, "unauthorized")
        assert_problem(server.client.get("/v1/unknown"), 401, "unauthorized")
        for key in (KEY, OTHER_KEY):
            assert post(server.client, REPORTS[0], Authorization=f"Bearer {key}").status_code == 200
        # Without a key, nothing of the body is kept.
        assert_problem(server.client.post("/v1/classify", content=iter([b"x" * 50_000] * 20)), 401, "unauthorized")
        document = server.client.get("/openapi.json").json()
        assert document["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
        assert {
            path
            for path, methods in document["paths"].items()
            if any("security" in operation for operation in methods.values())
        } == {path for path in ROUTES if path.startswith("/v1/")}
        validate(document)


def test_request_ids_are_taken_over_if_sane(server: Running) -> None:
    for good in ("a", "4bf92f35-77b3_4da6.A3CE", "x" * 64):
        assert server.client.get("/livez", headers={"X-Request-Id": good}).headers["x-request-id"] == good
    for bad in ("", "x" * 65, "a b", "<script>", "ünï".encode(), 'a"b', "a,b"):
        given = server.client.get("/nothing", headers={"X-Request-Id": bad}).headers["x-request-id"]
        assert re.fullmatch(r"[0-9a-f]{32}", given)
    assert len({server.client.get("/livez").headers["x-request-id"] for _ in range(20)}) == 20


def test_hostile_text_comes_back_only_inside_json(server: Running) -> None:
    for content in (
        {"title": HOSTILE, "body": HOSTILE, "id": HOSTILE},
        {"reports": [{"id": HOSTILE}, {"title": HOSTILE}]},
        {HOSTILE: 1},
        {"title": "x", "mode": HOSTILE},
    ):
        response = post(server.client, content)
        assert response.headers["content-type"] in {"application/json", MEDIA_TYPE}
        assert "x-evil" not in response.headers
        response.json()
        assert "\x1b" not in response.text and "\r" not in response.text
    assert post(server.client, {"title": "x", "id": HOSTILE}).json()["id"] == HOSTILE


def test_log_lines_are_json_and_hold_no_text_of_an_issue(server: Running, log_lines: list[str]) -> None:
    calls = [
        {"title": "zebra hangs", "body": "zebra\n" * 3, "id": "zebra#1"},
        {"reports": [{"title": "zebra"}, {"id": "zebra"}], "explain": True},
        {"title": "zebra", "zebra": 1},
        {"title": ["zebra"]},
        {"id": "zebra"},
    ]
    ids = [post(server.client, call).headers["x-request-id"] for call in calls]
    server.client.get("/zebra?zebra=zebra", headers={"User-Agent": "zebra", "X-Request-Id": "zebra zebra"})
    server.client.request("ZEBRA", "/livez")
    until(lambda: sum('"request"' in line for line in log_lines) >= len(calls) + 2)
    lines = [json.loads(line) for line in log_lines]
    said = {line["request_id"]: line for line in lines if line.get("event") == "request"}
    assert set(ids) <= set(said)
    assert (
        said[ids[0]].items()
        >= {
            "method": "POST",
            "route": "/v1/classify",
            "status": 200,
            "reports": 1,
            "mode": "balanced",
            "level": "info",
        }.items()
    )
    assert said[ids[1]]["reports"] == 2 and said[ids[2]]["status"] == 422
    # The client's own log, which is in this process too, is not ours.
    ours = "".join(
        line
        for line, parsed in zip(log_lines, lines, strict=True)
        if not parsed["logger"].startswith(("httpx", "httpcore"))
    )
    assert "zebra" not in ours.lower().replace('"method": "zebra"', "")


def test_other_libraries_cannot_put_text_into_the_log() -> None:
    try:
        raise ValueError("zebra")
    except ValueError as error:
        record = logging.LogRecord(
            "asyncio",
            logging.ERROR,
            __file__,
            1,
            "never retrieved: zebra",
            (),
            (ValueError, error, error.__traceback__),
        )
    line = json.loads(JsonFormatter().format(record))
    assert (line["logger"], line["exception"]) == ("asyncio", "ValueError") and "zebra" not in json.dumps(line)


# ---------------------------------------------------------------- many at once


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
        assert 'distriage_queue_full_total{queue="plain"} 1.0' in server.client.get("/metrics").text
        gated.open()
        assert first.result().status_code == second.result().status_code == 200
        assert post(server.client, {"title": "third"}).status_code == 200


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
            httpx.post(
                f"http://127.0.0.1:{server.port}/v1/classify",
                json={"title": "gone"},
                timeout=httpx.Timeout(30, read=0.3),
                trust_env=False,
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
        problem = assert_problem(frozen.result(), 422, "invalid-request")
        assert "more than 1 s of computing time" in problem["detail"]
        first, second = batch.result().json()["verdicts"]
        assert first["id"] == "q" and "computing time" in first["error"] and second["axes"]
        assert post(server.client, REPORTS[1]).status_code == 200
    assert len(waits_s) > 10 and max(waits_s) < 1


def _waiting(server: Running) -> int:
    match = re.search(r'distriage_queue_reports\{queue="plain"\} (\d+)', server.client.get("/metrics").text)
    assert match is not None
    return int(match.group(1))


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


# ---------------------------------------------------------------- the OpenAPI document


def test_the_document_is_valid_and_declares_every_route_and_error(server: Running) -> None:
    document = server.client.get("/openapi.json").json()
    validate(document)
    assert set(document["paths"]) == set(ROUTES) - {"/docs", "/openapi.json"}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            wanted = (
                {"200", "408", "413", "500", "503"}
                | ({"401"} if path.startswith("/v1/") else set())
                | ({"415", "422"} if "requestBody" in operation else set())
            )
            assert set(operation["responses"]) == wanted
    for answer in document["components"]["responses"].values():
        assert list(answer["content"]) == [MEDIA_TYPE]
    assert {"NotFound", "MethodNotAllowed"} <= set(document["components"]["responses"])
    assert document["components"]["schemas"]["ClassifyBatch"]["properties"]["reports"]["maxItems"] == 8
