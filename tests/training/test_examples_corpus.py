"""Examples of the corpus: splits, weights, further readings."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from distriage.base.errors import ConfigError, CorpusError
from distriage.model.taxonomy import default_taxonomy
from distriage_training.config import TrainingConfig, load_config
from distriage_training.corpus.load import data_sha256, load_splits
from distriage_training.corpus.records import UNLABELLED, Reading, Record, label_numbers
from distriage_training.fit.examples import targets

from support.examples import every, load, record
from support.toys import QUESTION, annotation, texts, write_config, write_corpus, write_lines


def corpus_config(tmp_path: Path, rows: Sequence[dict[str, Any]], stored: Sequence[str], **tables: Any) -> Path:
    write_corpus(tmp_path / "corpus", rows)
    write_lines(tmp_path / "texts.jsonl", texts(stored))
    data = {"corpus": "corpus", "texts": "texts.jsonl", "limit": None, **tables.pop("data", {})}
    return write_config(tmp_path / "run.toml", data=data, **tables)


OTHER = {
    "distributed": False,
    "stage": "inference",
    "symptom": "native-crash",
    "cause": "data-defect",
    "fix": "environment-repair",
}
ROWS = [
    *(annotation(f"a/b#{n}") for n in range(10)),
    *(annotation(f"a/b#{n}", **OTHER) for n in range(10, 20)),
    annotation("a/b#20", **QUESTION),
    annotation("a/b#21", split="validation"),
    annotation("a/b#22", split="test"),
]
IDS = [str(row["id"]) for row in ROWS]


def test_records_of_the_corpus_by_split(tmp_path: Path) -> None:
    out = io.StringIO()
    splits = load(corpus_config(tmp_path, ROWS, IDS), Console(file=out))
    assert splits.counts() == {"train": 21, "validation": 1, "test": 1}
    assert (out.getvalue(), splits.without_text) == ("", {})


def test_reviews_of_people_are_trained_on_but_never_measured_with_the_annotated(tmp_path: Path) -> None:
    rows = [annotation(f"x/y#{n}", origin="feedback", split="validation" if n % 2 else "train") for n in range(4)]
    splits = load(corpus_config(tmp_path, [*ROWS, *rows], [*IDS, *(f"x/y#{n}" for n in range(4))]))
    assert [record.id for record in splits.feedback] == ["x/y#1", "x/y#3"]
    assert [record.id for record in splits.validation] == ["a/b#21"]
    assert {"x/y#0", "x/y#2"} < {record.id for record in splits.train}
    assert splits.counts() == {"train": 23, "validation": 3, "test": 1}


def test_reports_without_a_text_are_counted(tmp_path: Path) -> None:
    out = io.StringIO()
    kept = [i for i in IDS if i not in {"a/b#0", "a/b#22"}]
    splits = load(corpus_config(tmp_path, ROWS, kept), Console(file=out, width=300))
    assert (len(splits.train), splits.test) == (20, [])
    assert splits.without_text == {"train": 1, "test": 1}
    assert "2 of 23 annotated reports have no text here and are left out" in out.getvalue()
    with pytest.raises(CorpusError, match="split test: no record with a text"):
        splits.measured("test")


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_split_without_a_text_is_refused(tmp_path: Path, split: str) -> None:
    kept = [str(row["id"]) for row in ROWS if row["split"] != split]
    with pytest.raises(CorpusError, match=rf"run\.toml: no record with a text in split {split}"):
        load(corpus_config(tmp_path, ROWS, kept))


def test_limit_draws_training_records_the_same_way_each_time(tmp_path: Path) -> None:
    config = corpus_config(tmp_path, ROWS, IDS, data={"limit": 15})
    first, second = (load(config) for _ in range(2))
    assert len({record.id for record in first.train}) == 15
    assert first == second
    assert (len(first.validation), len(first.test)) == (1, 1)
    other = load(corpus_config(tmp_path, ROWS, IDS, data={"limit": 15}, top={"seed": 8}))
    assert [record.id for record in other.train] != [record.id for record in first.train]


def test_an_axis_with_one_label_cannot_be_learnt(tmp_path: Path) -> None:
    rows = [row | ({"fix": "framework-patch"} if row["fix"] else {}) for row in ROWS]
    with pytest.raises(
        CorpusError,
        match=r"run\.toml: axis fix: labels in split train: framework-patch; expected two or more, and one in "
        r"validation \(records in train: \d+, in validation: \d+\)",
    ):
        load(corpus_config(tmp_path, rows, IDS))


def test_an_axis_without_a_label_in_validation_cannot_be_calibrated(tmp_path: Path) -> None:
    rows = [
        row if row["split"] != "validation" else annotation(row["id"], **QUESTION, split="validation") for row in ROWS
    ]
    with pytest.raises(
        CorpusError,
        match=r"axis stage: labels in split train: inference, training-evaluation; expected two or more, and "
        r"one in validation",
    ):
        load(corpus_config(tmp_path, rows, IDS))


def test_label_weights_of_an_unknown_axis_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"run\.toml: training\.label_weights\.toys: unknown axis fxi; known: kind, distributed"
    ):
        load(corpus_config(tmp_path, ROWS, IDS, training={"label_weights": {"toys": {"fix": 0.3, "fxi": 0.3}}}))
    with pytest.raises(
        ConfigError, match=r"run\.toml: training\.unsure_weights: unknown axis fxi; known: kind, distributed"
    ):
        load(corpus_config(tmp_path, ROWS, IDS, training={"unsure_weights": {"fxi": 0.3}}))


def test_a_label_counts_by_its_source_and_the_annotators_confidence(tmp_path: Path) -> None:
    rows = [{**row, "confidence": "low" if row["id"] == ROWS[0]["id"] else "high"} for row in ROWS]
    settings = load_config(
        write_config(
            tmp_path / "w.toml", training={"label_weights": {"odd": {"fix": 0.4}}, "unsure_weights": {"fix": 0.5}}
        )
    ).training
    records = {record.id: record for record in every(load(corpus_config(tmp_path, rows, IDS)))}
    unsure = records.pop(ROWS[0]["id"])
    assert not unsure.sure
    assert all(record.sure for record in records.values())
    assert weights_of(unsure, settings) == [{"cause": 1.0, "fix": 0.5}]
    assert weights_of(replace(unsure, source="odd"), settings) == [{"cause": 1.0, "fix": 0.2}]


def weights_of(record: Record, settings: TrainingConfig) -> list[dict[str, float]]:
    taxonomy = default_taxonomy()
    return [
        {axis: weight for axis, weight in zip(taxonomy.axes, weights, strict=True) if axis in ("cause", "fix")}
        for _, weights in targets(record, taxonomy, settings)
    ]


def test_readers_share_the_weight_and_confirm_each_other() -> None:
    settings = TrainingConfig(label_weights={"quick": {"cause": 0.5}}, unsure_weights={"cause": 0.5, "fix": 0.5})
    first = {"kind": "bug", "cause": "incorrect-logic", "fix": "framework-patch"}
    other = Reading(
        {"kind": "bug", "cause": "missing-validation", "fix": "framework-patch"}, source="quick", sure=False
    )
    both = record(labels=first, sure=False, others=(other,))
    assert weights_of(both, settings) == [{"cause": 0.25, "fix": 0.5}, {"cause": 0.125, "fix": 0.5}]
    numbers = [numbers for numbers, _ in targets(both, default_taxonomy(), settings)]
    assert numbers == [label_numbers(both, default_taxonomy()), label_numbers(other, default_taxonomy())]
    assert numbers[0][4] != numbers[1][4]
    assert numbers[0][5] == numbers[1][5]


def test_a_reading_with_odds_is_shared_by_its_label_and_the_alternative() -> None:
    settings = TrainingConfig(label_weights={"careful": {"fix": 0.5}})
    labels = {"kind": "bug", "cause": "incorrect-logic", "fix": "framework-patch"}
    careful = Reading(
        labels, source="careful", sure=True, odds={"cause": 0.75, "fix": 1.0}, alternatives={"cause": "api-misuse"}
    )
    alone, first, second = targets(record(labels=labels, others=(careful,)), default_taxonomy(), settings)
    cause, fix = list(default_taxonomy().axes).index("cause"), list(default_taxonomy().axes).index("fix")
    assert [alone[1][cause], first[1][cause], second[1][cause]] == [0.5, 0.375, 0.125]
    assert [alone[1][fix], first[1][fix], second[1][fix]] == [0.5, 0.25, 0.0]
    assert alone[0] == first[0]
    assert second[0][cause] == default_taxonomy().axes["cause"].label_ids.index("api-misuse")
    assert second[0][fix] == UNLABELLED


def test_odds_of_readings_are_read_and_checked(tmp_path: Path) -> None:
    labels = {"stage": "inference", "symptom": "runtime-hang"}
    reading = {"reader": "careful", "id": ROWS[0]["id"], **labels, "odds": {"stage": 80}}
    path = corpus_config(tmp_path, ROWS, IDS, data={"readers": ["careful"]})
    readings = tmp_path / "corpus" / "readings.jsonl"

    def others(**changes: object) -> tuple[Reading, ...]:
        write_lines(readings, [{**reading, **changes}])
        return next(one for one in every(load(path)) if one.id == ROWS[0]["id"]).others

    (found,) = others(alternative={"stage": "build-import"})
    assert found == Reading(labels, "careful", sure=True, odds={"stage": 0.8}, alternatives={"stage": "build-import"})
    with pytest.raises(CorpusError, match="expected `odds` and `alternative` of the same axes"):
        others()
    with pytest.raises(CorpusError, match="stage: unknown label 'bild'"):
        others(alternative={"stage": "bild"})
    with pytest.raises(CorpusError, match=r"odds: stage: 0\.8; expected a whole number of percent"):
        others(alternative={"stage": "build-import"}, odds={"stage": 0.8})


def test_further_readings_join_the_records_of_training(tmp_path: Path) -> None:
    before = data_sha256(load(corpus_config(tmp_path, ROWS, IDS)).train)
    reading = {
        "reader": "second",
        "id": ROWS[0]["id"],
        "kind": "bug",
        "distributed": True,
        "stage": None,
        "confidence": "low",
    }
    readings = write_lines(
        tmp_path / "corpus" / "readings.jsonl", [reading, {**reading, "reader": "third", "kind": "feature"}]
    )
    path = corpus_config(tmp_path, ROWS, IDS, data={"readers": ["second"]})
    records = {one.id: one for one in every(load(path))}
    assert records[ROWS[0]["id"]].others == (Reading({"kind": "bug", "distributed": "true"}, "second", sure=False),)
    assert all(not one.others for one in records.values() if one.id != ROWS[0]["id"])
    assert data_sha256(load(path).train) != before
    write_lines(readings, [{**reading, "kind": "bugg"}])
    with pytest.raises(CorpusError, match=r"readings\.jsonl: .*, read by 'second': kind: unknown label 'bugg'"):
        load(path)
    write_lines(readings, [{**reading, "reader": "third"}])
    with pytest.raises(CorpusError, match=r"readings\.jsonl: no reader 'second'; readers: third"):
        load(path)


def test_a_limited_draw_has_two_labels_of_every_axis(tmp_path: Path) -> None:
    """Whatever the draw: a corpus in which one label in fifty is rare."""
    taxonomy = default_taxonomy()
    rows = [
        annotation(f"a/b#{n}", origin="restated", distributed=n % 50 != 7, split="train" if n % 5 else "validation")
        for n in range(200)
    ]
    rows += [
        annotation(f"a/q#{n}", **QUESTION, origin="restated", split="train" if n else "validation") for n in range(2)
    ]
    for row in rows[1:3]:
        row.update(stage="inference", symptom="low-throughput", cause="data-defect", fix="environment-repair")
    write_corpus(tmp_path / "corpus", rows, {row["id"]: (f"title of {row['id']}", f"body {row['id']}") for row in rows})
    for seed in range(5):
        data = {"limit": 16, "corpus": str(tmp_path / "corpus")}
        config = load_config(write_config(tmp_path / "run.toml", top={"seed": seed}, data=data))
        train = load_splits(config, taxonomy).train
        assert len(train) == len({one.id for one in train}) == 16
        for axis in taxonomy.axes:
            assert len({one.labels[axis] for one in train if axis in one.labels}) >= 2
