"""The HTTP API as its tests use it: routes, reports, the one form of errors, and a server."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage_serving.logs import JsonFormatter
from distriage_serving.web.problem import MEDIA_TYPE, Problem

from support.gated_model import GatedModel
from support.server import Running, running

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


@pytest.fixture(scope="module")
def server(keyword_bundle: Path) -> Iterator[Running]:
    with running(
        partial(Classifier, keyword_bundle, threads=1),
        max_body_bytes=200_000,
        max_reports=8,
        max_explained_reports=2,
        body_timeout_s=5,
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
