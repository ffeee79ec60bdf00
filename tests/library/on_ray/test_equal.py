"""A report gets the same answer in whatever way it is asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from distriage_research.bench import equal

from support.reports import restated_reports

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Ray and pandas, about themselves


@pytest.mark.usefixtures("node", "kept_graphs")
def test_the_shipped_model_decides_the_same_in_whatever_way_it_is_asked(shipped_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="needs fastapi: pip install 'distriage[serve]'")
    reports = restated_reports(72)  # a whole batch of 64, and a part of one
    found = equal.measure(shipped_bundle, reports, tmp_path)
    assert found["reports"] == len(reports) == 72
    assert list(found["ways"]) == ["64 at once", "two threads", "command line, a process a core", "HTTP", "Ray"]
    assert {way: row["decisions"] for way, row in found["ways"].items()} == dict.fromkeys(found["ways"], 0)
    del found["ways"]["two threads"]  # sums in fp32: the fourth digit of a probability may differ
    assert {way: row["verdicts"] for way, row in found["ways"].items()} == dict.fromkeys(found["ways"], 0)
