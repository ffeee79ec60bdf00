"""schemathesis: requests made up from our own OpenAPI document, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings

from distriage.classifier import Classifier

from support.server import Running, running

if TYPE_CHECKING:  # schemathesis takes seconds to import, and each worker collects this file
    from schemathesis import Case

PATHS = ["/v1/classify", "/v1/taxonomy", "/v1/models", "/livez", "/readyz", "/metrics"]


@pytest.fixture(scope="module")
def server(keyword_bundle: Path) -> Iterator[Running]:
    with running(partial(Classifier, keyword_bundle, threads=1)) as started:
        yield started


# Only one route has an input that could be wrong.
CASES = [*((path, "positive") for path in PATHS), ("/v1/classify", "negative")]


@pytest.mark.parametrize(("path", "mode"), CASES)
def test_every_answer_is_documented_and_none_is_a_5xx(server: Running, path: str, mode: str) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install 'distriage[dev]'")
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

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
    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def call(case: Case[Any]) -> None:
        # A report of blanks is refused, and a bad record of a batch is marked in its place: no schema can say either.
        excluded = [positive_data_acceptance, negative_data_rejection]
        statuses.add(case.call_and_validate(timeout=60, excluded_checks=excluded).status_code)

    call()
    assert statuses <= {200, 422}, statuses
