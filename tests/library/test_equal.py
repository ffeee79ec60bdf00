"""The shipped model gives a report the same decisions in whatever way it is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distriage.bench import equal
from distriage.classifier import Classifier
from distriage.types import IssueReport

from support.reports import restated_reports


@pytest.mark.slow
def test_decisions_are_equal_in_batches_threads_processes_and_over_http(shipped_bundle: Path, tmp_path: Path) -> None:
    """`test_cluster.py` has Ray."""
    pytest.importorskip("fastapi", reason="needs fastapi: pip install 'distriage[serve]'")
    reports = restated_reports()
    found = equal.measure(shipped_bundle, reports, tmp_path, ray=False)
    assert found["reports"] == len(reports) == 200
    assert list(found["ways"]) == ["64 at once", "two threads", "command line, a process a core", "HTTP"]
    assert {way: row["decisions"] for way, row in found["ways"].items()} == dict.fromkeys(found["ways"], 0)
    del found["ways"]["two threads"]  # sums in fp32: the fourth digit of a probability may differ
    assert {way: row["verdicts"] for way, row in found["ways"].items()} == dict.fromkeys(found["ways"], 0)


def test_a_difference_is_counted(keyword_classifier: Classifier) -> None:
    one, other = (
        json.loads(keyword_classifier.classify(IssueReport(title, "")).model_dump_json())
        for title in ("it hangs", "a segfault")
    )
    near = json.loads(json.dumps(one))
    near["axes"]["symptom"]["probability"] += 0.0001
    assert equal._differences([one, one, one], [one, near, other]) == {"decisions": 1, "verdicts": 2}
