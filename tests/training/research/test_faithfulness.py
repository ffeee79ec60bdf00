from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from rich.console import Console

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_research.verdicts.faithfulness import (
    FIGURE,
    STEPS,
    FaithfulnessResult,
    area,
    by_weight,
    draw_faithfulness,
    faithfulness_table,
    measure_faithfulness,
)
from distriage_training.corpus.records import Record

DULL = "\n".join(f"a dull line {chr(97 + i)}" for i in range(18))
# The label is carried by one line, the last: the worst case for taking the first lines.
REPORTS = [
    Record(f"a/b#{i}", "Trouble", f"{DULL}\nall is exhausted", {"symptom": "oom"}, "validation", "toys", "raw", "")
    for i in range(6)
]


@pytest.fixture(scope="module")
def measured(keyword_classifier: Classifier) -> FaithfulnessResult:
    short = Record("a/b#9", "It hangs", "", {"symptom": "hang"}, "validation", "toys", "raw", "")
    return measure_faithfulness(keyword_classifier, [*REPORTS, short], 7, 3, Console(file=io.StringIO()))


def test_the_area_is_that_of_the_trapezoids() -> None:
    assert area([1, 1, 1]) == 1
    assert area([1, 0]) == 0.5
    assert area([0, 1, 0, 0, 0]) == 0.25


def test_the_heaviest_lines_come_first_and_untried_ones_before_those_that_speak_against() -> None:
    assert by_weight([0.5, -1, 2], 5) == [2, 0, 3, 4, 1]


def test_curves_are_the_probabilities_along_the_way(
    measured: FaithfulnessResult, keyword_classifier: Classifier
) -> None:
    symptom = measured.axes["symptom"]
    whole, nothing = (
        keyword_classifier.predict(IssueReport("Trouble", body)).scores["symptom"].probabilities["oom"]
        for body in ("all is exhausted", "a dull line")
    )
    assert symptom.deletion["explain"].curve == pytest.approx([whole] + [nothing] * STEPS, abs=1e-5)
    assert symptom.insertion["explain"].curve == pytest.approx([nothing] + [whole] * STEPS, abs=1e-5)
    assert symptom.deletion["first"].curve == pytest.approx([whole] * STEPS + [nothing], abs=1e-5)
    assert symptom.insertion["first"].curve == pytest.approx([nothing] * STEPS + [whole], abs=1e-5)
    assert nothing < symptom.deletion["random"].area < whole


def test_explained_lines_beat_random_and_first_ones_where_one_line_carries_all(measured: FaithfulnessResult) -> None:
    symptom = measured.axes["symptom"]
    for order in ("random", "first"):
        assert symptom.deletion[order].gap_interval[1] < 0
        assert symptom.insertion[order].gap_interval[0] > 0


def test_only_labelled_axes_and_reports_of_several_lines_are_measured(measured: FaithfulnessResult) -> None:
    assert measured.reports == len(REPORTS)
    assert {axis: row.n for axis, row in measured.axes.items()} == {"symptom": len(REPORTS)}


def test_the_same_seed_gives_the_same_figures(keyword_classifier: Classifier) -> None:
    again, fewer = (
        measure_faithfulness(keyword_classifier, REPORTS, count, 3, Console(file=io.StringIO())) for count in (6, 2)
    )
    assert measure_faithfulness(keyword_classifier, REPORTS, 6, 3, Console(file=io.StringIO())) == again
    assert (again.reports, fewer.reports) == (6, 2)


def test_the_table_and_the_picture_show_every_axis_and_order(measured: FaithfulnessResult, tmp_path: Path) -> None:
    table = faithfulness_table(measured).splitlines()
    assert [line.split(" | ")[0] for line in table[4:]] == ["| symptom (6)", "| symptom (6)"]
    assert f"**{measured.axes['symptom'].deletion['explain'].area:.3f}**" in table[4]
    assert all(line.count("|") == table[2].count("|") for line in table[2:])
    draw_faithfulness(measured, tmp_path)
    picture = imread(tmp_path / FIGURE)
    assert min(picture.shape[:2]) > 300 and len(np.unique(picture[:, :, 0])) > 10
