from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from distriage.classifier import Classifier
from distriage.recipe.text import prepare
from distriage_research.verdicts.neighbours import SimilarResult, measure_similar, similar_table

from support.known_issues import ISSUES, issue

# Words of issue 1 (hang, tuning), of issue 2 (oom, tuning), and of none; "how": a question, which is not asked for.
ASKED = [
    issue(11, "Watchdog", "barks at the ring of eight", "hang", "tuning", split="validation"),
    issue(12, "Embedding table", "does not fit", "oom", "patch", split="validation"),
    issue(13, "Tokenizer", "its own feet", "hang", "patch", split="validation"),
    issue(14, "how", "how", labels={"kind": "question"}, split="validation"),
]


@pytest.fixture(scope="module")
def measured(indexed_bundle: Path) -> SimilarResult:
    classifier = Classifier(indexed_bundle, threads=1)
    predictions = classifier.predict_inputs([prepare(record.title, record.body) for record in ASKED])
    return measure_similar(classifier, ASKED, predictions, ISSUES, Console(file=io.StringIO()))


def test_recall_is_the_share_of_reports_with_such_a_neighbour(measured: SimilarResult) -> None:
    assert (measured.n, measured.issues) == (3, 4)
    symptom, fix = measured.shared["symptom"], measured.shared["fix"]
    assert symptom.recall == pytest.approx(
        {"1": 2 / 3, "5": 1}
    )  # nearest: hang, oom, crash; all four issues are among the five
    assert fix.recall == pytest.approx({"1": 2 / 3, "5": 1})  # nearest: tuning, tuning, patch
    assert symptom.precision == pytest.approx(3 / 12)
    assert fix.precision == pytest.approx(6 / 12)


def test_baselines_draw_from_the_known_issues(measured: SimilarResult) -> None:
    symptom, fix = measured.shared["symptom"], measured.shared["fix"]
    assert symptom.random_recall == pytest.approx({"1": 1 / 4, "5": 1 - (3 / 4) ** 5})
    assert symptom.majority_recall == pytest.approx(2 / 3)  # hang, the first of four that are equally common
    assert fix.random_recall == pytest.approx({"1": 1 / 2, "5": 1 - (1 / 2) ** 5})


def test_the_table_has_a_row_for_each(measured: SimilarResult) -> None:
    table = similar_table(measured).splitlines()
    assert [line.split(" | ")[0] for line in table[4:]] == ["| symptom", "| fix"]
    assert "**0.667 / 1.000**" in table[4]
    assert all(line.count("|") == table[2].count("|") for line in table[2:])


def test_a_split_without_a_bug_has_nothing_to_measure(indexed_bundle: Path) -> None:
    classifier = Classifier(indexed_bundle, threads=1)
    measured = measure_similar(classifier, [], [], ISSUES, Console(file=io.StringIO()))
    assert (measured.n, measured.shared) == (0, {})
    assert len(similar_table(measured).splitlines()) == 4
