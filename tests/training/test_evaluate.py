"""What `distriage evaluate` measures, writes and records."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray
from rich.console import Console

from distriage.base.errors import ConfigError, CorpusError
from distriage.base.types import IssueReport, Mode, Outcome
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.model.taxonomy import default_taxonomy
from distriage.recipe.text import prepare
from distriage_training.config import load_config
from distriage_training.corpus.agreement import compare
from distriage_training.corpus.load import Splits, load_splits
from distriage_training.corpus.readings import read_readings
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.measure import scoring
from distriage_training.measure.baselines import TfidfBaseline
from distriage_training.measure.evaluate import evaluate
from distriage_training.measure.evaluation import Evaluation
from distriage_training.measure.report import report
from distriage_training.release.model_card import record_in_bundle

from support.toys import CORPUS, REPOSITORY, annotation, write_config, write_corpus, write_lines

TAXONOMY = default_taxonomy()
AXES = list(TAXONOMY.axes)
CONFIG = load_config(REPOSITORY / "configs" / "tiny.toml")
FIGURES = {"reliability.png", "precision-coverage.png", *(f"confusion-{axis}.png" for axis in AXES)}
Measured = tuple[dict[str, Any], Path]


@pytest.fixture(scope="module")
def splits() -> Splits:
    return load_splits(CONFIG, TAXONOMY)


@pytest.fixture(scope="module")
def probabilities(tiny_classifier: Classifier, splits: Splits) -> dict[str, NDArray[np.float64]]:
    predictions = tiny_classifier.predict_inputs([prepare(r.title, r.body) for r in splits.test])
    return {axis: np.array([list(p.scores[axis].probabilities.values()) for p in predictions]) for axis in AXES}


@pytest.fixture(scope="module")
def measured(tiny_classifier: Classifier, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """The tiny model on the test split (the smaller one), with its baselines."""
    folder = tmp_path_factory.mktemp("evaluation") / "deep" / "report"
    evaluate(tiny_classifier, CONFIG, "test", folder, Console(file=io.StringIO()))
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8")), folder


def truth_of(records: list[Record], axis: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that are labelled on an axis, and their labels."""
    numbers = np.array([label_numbers(record, TAXONOMY)[AXES.index(axis)] for record in records])
    return np.flatnonzero(numbers >= 0), numbers[numbers >= 0]


def test_everything_is_written(measured: Measured) -> None:
    document, folder = measured
    assert {path.name for path in folder.iterdir()} == {"metrics.json", "report.md", *FIGURES}
    found = Evaluation.model_validate(document)
    assert json.loads(found.model_dump_json(exclude_none=True)) == document
    assert (folder / "report.md").read_text(encoding="utf-8") == report(found)


def test_figures_are_pictures(measured: Measured) -> None:
    for name in FIGURES:
        picture = imread(measured[1] / name)
        assert min(picture.shape[:2]) > 300
        assert len(np.unique(picture[:, :, 0])) > 10


def test_scores_are_those_of_the_predictions(
    measured: Measured, splits: Splits, probabilities: dict[str, NDArray[np.float64]]
) -> None:
    document = measured[0]
    assert (document["model"], document["split"], document["records"]) == ("tiny", "test", len(splits.test))
    assert list(document["axes"]) == AXES
    for axis, row in document["axes"].items():
        rows, truth = truth_of(splits.test, axis)
        found = probabilities[axis][rows]
        assert row["n"] == len(truth) > 0
        # int8 rounds by its batch
        assert row["accuracy"] == pytest.approx(scoring.accuracy(truth, found.argmax(1)), abs=0.02)
        assert row["macro_f1"] == pytest.approx(scoring.macro_f1(truth, found.argmax(1)), abs=0.03)
        assert row["brier"] == pytest.approx(scoring.brier(truth, found), abs=0.02)
        assert set(row["coverage"]) == {"0.80", "0.90", "0.95"}
        for name in ("accuracy", "macro_f1"):
            low, high = row[f"{name}_interval"]
            assert 0 <= low < high <= 1
            assert low <= row[name] <= high
    assert document["axes"]["cause"]["n"] < document["axes"]["kind"]["n"] == len(splits.test)


def test_baselines_stand_beside_them(measured: Measured, splits: Splits) -> None:
    baseline = TfidfBaseline(splits.train)
    for axis, row in measured[0]["axes"].items():
        _, train = truth_of(splits.train, axis)
        rows, truth = truth_of(splits.test, axis)
        share = float((truth == np.bincount(train).argmax()).mean())
        assert row["majority"]["accuracy"] == pytest.approx(share)
        numbers = np.array([label_numbers(record, TAXONOMY)[AXES.index(axis)] for record in splits.train])
        predicted = baseline.predict(numbers, [splits.test[i] for i in rows])
        assert row["tfidf_lr"] == {
            "accuracy": scoring.accuracy(truth, predicted),
            "macro_f1": scoring.macro_f1(truth, predicted),
        }


def test_groups_part_the_records(
    measured: Measured, splits: Splits, probabilities: dict[str, NDArray[np.float64]]
) -> None:
    for axis, groups in measured[0]["groups"].items():
        rows, truth = truth_of(splits.test, axis)
        for kind in ("origin ", "group "):
            assert sum(row["n"] for key, row in groups.items() if key.startswith(kind)) == len(rows)
        key = f"group {splits.test[rows[0]].group}"
        members = [i for i, row in enumerate(rows) if f"group {splits.test[row].group}" == key]
        assert groups[key]["n"] == len(members)
        predicted = probabilities[axis][rows].argmax(1)
        assert groups[key]["accuracy"] == pytest.approx(scoring.accuracy(truth[members], predicted[members]), abs=0.1)
        assert groups[key]["accuracy_interval"][0] <= groups[key]["accuracy"] <= groups[key]["accuracy_interval"][1]
        right = scoring.among_likeliest(truth, probabilities[axis][rows], 3)
        assert groups[key]["among_three"] == pytest.approx(right[members].mean(), abs=0.1)


def test_origins_together_give_what_all_get(measured: Measured) -> None:
    for axis, groups in measured[0]["groups"].items():
        origins = [row for name, row in groups.items() if name.startswith("origin ")]
        for mode, table in measured[0]["thresholds"].items():
            given = sum(row["applied"][mode]["coverage"] * row["n"] for row in origins)
            assert given == pytest.approx(table[axis]["coverage"] * sum(row["n"] for row in origins))


def test_chinese_reports_are_a_group(measured: Measured, splits: Splits) -> None:
    chinese = sum(any("\u4e00" <= char <= "\u9fff" for char in r.title + r.body[:500]) for r in splits.test)
    assert 0 < chinese < len(splits.test)
    assert measured[0]["groups"]["kind"]["language Chinese"]["n"] == chinese


def test_what_the_policy_applies(measured: Measured, splits: Splits, tiny_classifier: Classifier) -> None:
    found = [tiny_classifier.examine(IssueReport(record.title, record.body)) for record in splits.test]
    table = measured[0]["thresholds"]
    assert list(table) == ["balanced", "precise"]
    for mode in (Mode.BALANCED, Mode.PRECISE):
        verdicts = [findings.verdict(mode) for findings in found]
        for axis in AXES:
            labelled = [(r, v.axes[axis]) for r, v in zip(splits.test, verdicts, strict=True) if axis in r.labels]
            applied = [(r, said) for r, said in labelled if said.outcome is Outcome.APPLY]
            cell = table[mode.value][axis]
            assert cell["coverage"] == pytest.approx(len(applied) / len(labelled), abs=1e-4)
            if "precision" not in cell:
                assert cell["coverage"] == 0
            else:
                right = sum(said.label == r.labels[axis] for r, said in applied)
                assert cell["precision"] == pytest.approx(right / len(applied), abs=1e-4)
    assert any("precision" in cell for cell in table["balanced"].values())


def test_the_agreement_is_that_on_the_measured_reports(measured: Measured, splits: Splits) -> None:
    here = {record.id for record in splits.test}
    readings = {
        reader: {key: row for key, row in rows.items() if key in here}
        for reader, rows in read_readings(CORPUS / "readings.jsonl").items()
    }
    agreement = measured[0]["agreement"]
    for name, other in (("whole_thread", "first"), ("as_filed", "as-filed")):
        expected = compare(readings["second"], readings[other], TAXONOMY)
        assert {axis: row["kappa"] for axis, row in agreement.get(name, {}).items()} == {
            axis: found.kappa for axis, found in expected.items()
        }


def test_the_report_shows_n_baselines_intervals_and_agreement(measured: Measured) -> None:
    document, folder = measured
    lines = (folder / "report.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# tiny, split test ({document['records']} reports)"
    missing = document["without_text"]
    assert missing == load_splits(CONFIG, TAXONOMY).without_text["test"] > 0
    assert document["records"] < document["annotated"] - missing  # of which the configuration takes a part
    assert lines[2].startswith(f"**Not comparable with the model card**: {missing} of 300 annotated")
    header = lines[4]
    for part in (
        "| n |",
        "majority",
        "TF-IDF + LR",
        "95 % interval",
        "ECE",
        "coverage at 80 / 90 / 95 %",
        "among 3 / 5 likeliest",
        "reader as filed",
        "two readers",
    ):
        assert part in header
    for axis, row in document["axes"].items():
        (line,) = (line for line in lines if line.startswith(f"| {axis} | {row['n']} | "))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == header.count("|") - 1

        def pair(scores: dict[str, float]) -> str:
            return f"{scores['accuracy']:.3f} / {scores['macro_f1']:.3f}"

        low, high = row["accuracy_interval"]
        assert cells[2:5] == [pair(row["majority"]), pair(row["tfidf_lr"]), f"**{pair(row)}**"]
        assert cells[5].startswith(f"{low:.2f}–{high:.2f} / ")
        found = (document["agreement"].get(name, {}).get(axis) for name in ("as_filed", "whole_thread"))
        assert cells[-2:] == ["" if row is None else pair(row) for row in found]
    assert "Applied at the shipped thresholds: precision (coverage)" in lines
    assert any(line.startswith("| balanced | ") for line in lines)
    assert sum(line.startswith("| origin restated | ") for line in lines) == 4
    assert {"right label among three", "balanced: precision (coverage)"} <= {line.split(" | ")[0][2:] for line in lines}


@pytest.mark.usefixtures("no_figures")
def test_without_baselines_and_with_readings_of_other_reports(
    tiny_classifier: Classifier, splits: Splits, tmp_path: Path
) -> None:
    """A small corpus of one's own, no baseline wanted; the split `validation`."""
    rows, restated = [], {}
    records = [*splits.train[:40], *splits.validation[:30]]
    for record in records:
        labels = {axis: record.labels.get(axis) for axis in AXES} | {
            "distributed": record.labels["distributed"] == "true"
        }
        evidence = None if labels["cause"] is None else "stated"
        rows.append(
            annotation(
                record.id,
                **labels,
                cause_evidence=evidence,
                fix_evidence=evidence,
                split=record.split,
                origin="restated",
            )
        )
        restated[record.id] = (record.title, record.body)
    write_corpus(tmp_path / "corpus", rows, restated)
    measured, others = ([r for r in records if r.split == split][:4] for split in ("validation", "train"))
    write_lines(
        tmp_path / "corpus" / "readings.jsonl",
        [
            {"reader": reader, "id": record.id, "kind": "bug" if record in measured else kind}
            for reader, kind in (("first", "question"), ("second", "feature"))
            for record in [*measured, *others]
        ],
    )
    config = load_config(write_config(tmp_path / "run.toml", data={"corpus": "corpus", "limit": None}))
    found = evaluate(
        tiny_classifier, config, "validation", tmp_path / "out", Console(file=io.StringIO()), baselines=False
    )
    assert (found.records, found.split, found.without_text) == (30, "validation", 0)
    agreed = found.agreement["whole_thread"]["kind"]  # on the measured reports, not on those of training
    assert (list(found.agreement), agreed.n, agreed.accuracy) == (["whole_thread"], 4, 1.0)
    assert all(row.tfidf_lr is None for row in found.axes.values())
    assert "Not comparable" not in report(found)
    kind = next(line for line in report(found).splitlines() if line.startswith("| kind | 30 | "))
    assert [cell.strip() for cell in kind.strip("|").split("|")][3] == ""
    with pytest.raises(CorpusError, match="split test: no record with a text"):
        evaluate(tiny_classifier, config, "test", tmp_path / "none", Console(file=io.StringIO()))
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file: File exists; expected a folder to write to"):
        evaluate(tiny_classifier, config, "validation", tmp_path / "file", Console(file=io.StringIO()))


def test_recording_keeps_the_bundle_valid(measured: Measured, tiny_bundle: Path, tmp_path: Path) -> None:
    document = measured[0]
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    before = Bundle(folder)
    found = Evaluation.model_validate(document)
    record_in_bundle(before, found.model_copy(update={"split": "validation"}))
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "## Evaluation (validation split)" in card
    record_in_bundle(Bundle(folder), found)
    after = Bundle(folder)
    summary = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert summary["evaluation_test"] == document
    assert summary["evaluation_validation"]["axes"] == summary["evaluation_test"]["axes"]
    assert summary["validation"] == json.loads((tiny_bundle / "metrics.json").read_text(encoding="utf-8"))["validation"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    row = document["axes"]["cause"]
    assert "## Evaluation (test split)" in card
    assert f"| cause | {row['n']} | {row['accuracy']:.3f} | {row['macro_f1']:.3f} |" in card
    changed = {name for name, file in after.manifest.files.items() if before.manifest.files[name] != file}
    assert changed == {"metrics.json", "README.md"}
    assert after.manifest.model_copy(update={"files": {}}) == before.manifest.model_copy(update={"files": {}})
    assert {path.name for path in folder.iterdir()} == {path.name for path in tiny_bundle.iterdir()}
