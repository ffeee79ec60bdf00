"""schemathesis: requests made up from our own OpenAPI document, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

pytest.importorskip("schemathesis", reason="needs schemathesis: pip install 'distriage[dev]'")

import schemathesis
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from distriage.classifier import Classifier

from support.server import Running, running

PATHS = ["/v1/classify", "/v1/taxonomy", "/v1/models", "/livez", "/readyz", "/metrics"]


@pytest.fixture(scope="module")
def server(keyword_bundle: Path) -> Iterator[Running]:
    with running(partial(Classifier, keyword_bundle, threads=1)) as started:
        yield started


# A report of blanks is refused, and a bad record of a batch is marked in its place: no schema can say either.
NOT_SAID_BY_THE_SCHEMA = [positive_data_acceptance, negative_data_rejection]
# Only one route has an input that could be wrong.
CASES = [*((path, GenerationMode.POSITIVE) for path in PATHS), ("/v1/classify", GenerationMode.NEGATIVE)]


@pytest.mark.parametrize(("path", "mode"), CASES)
def test_every_answer_is_documented_and_none_is_a_5xx(server: Running, path: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/openapi.json")
    assert set(schema.raw_schema["paths"]) == set(PATHS)
    operation = schema[path]["POST" if path == "/v1/classify" else "GET"]
    statuses: set[int] = set()

    # Hypothesis is imported by itself: schemathesis' own pytest plugin wants one test function a schema.
    @settings(
        max_examples=30 if path == "/v1/classify" else 3,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case: schemathesis.Case) -> None:
        statuses.add(case.call_and_validate(timeout=60, excluded_checks=NOT_SAID_BY_THE_SCHEMA).status_code)

    call()
    assert statuses <= {200, 422}, statuses
