from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from distriage.classifier import Classifier
from distriage.model.bundle import INDEX, Bundle
from distriage.model.taxonomy import default_taxonomy
from distriage.recipe.text import prepare
from distriage_training.measure.evaluation import SimilarResult
from distriage_training.measure.neighbours import measure_similar, similar_table

from support.command_line import Command, assert_one_line
from support.known_issues import ISSUES, issue
from support.toys import annotation, write_config, write_corpus

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


def test_the_exported_bundle_has_an_index_and_the_command_replaces_it(
    tiny_copy: Path, tmp_path: Path, command: Command
) -> None:
    before = Bundle(tiny_copy).manifest
    assert INDEX in before.files
    split = {"1": "train", "2": "train", "3": "validation"}
    rows = [
        annotation(f"a/b#{number}", origin="restated", split=name, kind="bug", distributed=number == "1")
        for number, name in split.items()
    ]
    rows += [
        annotation(
            "a/b#4",
            origin="restated",
            kind="other",
            stage=None,
            symptom=None,
            cause=None,
            cause_evidence=None,
            fix=None,
            fix_evidence=None,
        )
    ]
    rows[1].update(stage="inference", symptom="setup-hang", cause="rank-desynchronization", fix="distributed-tuning")
    write_corpus(tmp_path / "corpus", rows, {row["id"]: ("title", "body") for row in rows})
    write_config(tmp_path / "run.toml", data={"corpus": "corpus", "limit": None})
    done = command("index", tmp_path / "run.toml", "--model", tiny_copy)
    assert done.code == 0, done.err
    assert "index: 2 known issues" in done.err
    after = Bundle(tiny_copy).manifest
    assert after.files[INDEX] != before.files[INDEX]
    assert {name: record for name, record in after.files.items() if name != INDEX} == {
        name: record for name, record in before.files.items() if name != INDEX
    }
    shown = command("classify", "--similar", "--model", tiny_copy, stdin=b"# title\n\nbody")
    assert "https://github.com/a/b/issues/1" in shown.out
    assert "runtime-hang" in shown.out and "setup-hang" in shown.out
    assert_one_line(command("index", tmp_path / "run.toml", "--model", tmp_path / "nowhere"), "nowhere")


def test_labels_of_neighbours_are_of_the_taxonomy(tiny_classifier: Classifier) -> None:
    from distriage.answer.similar import Similar
    from distriage.base.types import IssueReport
    from distriage.reading.report import read

    taxonomy = default_taxonomy()
    report = read(IssueReport("NCCL timeout", "It hangs on two nodes."))
    for neighbour in Similar(tiny_classifier.bundle).nearest(report, tiny_classifier.predict(report)):
        assert neighbour.url == f"https://github.com/{neighbour.id.replace('#', '/issues/')}"
        assert neighbour.labels.keys() == taxonomy.axes.keys()
        assert all(label in taxonomy.axes[axis].label_ids for axis, label in neighbour.labels.items())
