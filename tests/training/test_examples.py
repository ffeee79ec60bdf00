from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from distriage.errors import ConfigError, CorpusError
from distriage.recipe.text import prepare
from distriage.taxonomy import default_taxonomy
from distriage_training.config import TrainingConfig, load_config
from distriage_training.corpus.load import Splits, data_sha256, load_splits
from distriage_training.corpus.records import UNLABELLED, Reading, Record, label_numbers
from distriage_training.fit.encoder import load_tokenizer
from distriage_training.fit.examples import NO_NOTE, targets, tokenize

from support.toys import QUESTION, annotation, texts, write_config, write_corpus, write_lines

TAXONOMY_TOML = """name = "toys"
version = "1"
[axis.type]
[[type]]
id = "bug"
definition = "Fails."
[[type]]
id = "feature"
definition = "New."
[[type]]
id = "question"
definition = "Asks."
"""
TYPES = ("bug", "feature", "question")


def write_table(
    path: Path, rows: Sequence[Mapping[str, str]], columns: Sequence[str] = ("repo", "label", "title", "body")
) -> Path:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    content = out.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def table_rows(count: int) -> list[dict[str, str]]:
    return [
        {"repo": f"o/r{n % 2}", "label": TYPES[n % 3], "title": f"title, {n}", "body": f'line "one"\nline {n}'}
        for n in range(count)
    ]


def table_config(tmp_path: Path, **data: Any) -> Path:
    (tmp_path / "taxonomy.toml").write_text(TAXONOMY_TOML, encoding="utf-8")
    settings = {"format": "csv", "train": "train.csv", "label_columns": {"type": "label"}, "limit": None, **data}
    return write_config(tmp_path / "run.toml", top={"taxonomy": "taxonomy.toml"}, data=settings)


def load(path: Path, console: Console | None = None) -> Splits:
    config = load_config(path)
    return load_splits(config, config.load_taxonomy(), console)


def every(splits: Splits) -> list[Record]:
    return [*splits.train, *splits.validation, *splits.test, *splits.feedback]


def test_records_of_tables(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", table_rows(60))
    write_table(tmp_path / "test.csv.gz", table_rows(4))
    splits = load(table_config(tmp_path, test="test.csv.gz", group_column="repo", validation_fraction=0.3))
    assert splits.counts() | {"train": 0, "validation": 0} == {
        "train": 0,
        "validation": 0,
        "test": 4,
    }
    assert len(splits.train) + len(splits.validation) == 60
    first = splits.test[1]
    assert first == Record(
        "test.csv.gz:2", "title, 1", 'line "one"\nline 1', {"type": "feature"}, "test", "table", "raw", "o/r1"
    )


def test_a_column_before_the_title(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", table_rows(60))
    splits = load(table_config(tmp_path, title_prefix_column="repo", validation_fraction=0.3))
    assert {"o/r0: title, 0", "o/r1: title, 1"} <= {record.title for record in every(splits)}


def test_the_split_by_hash_is_stable_when_a_table_grows(tmp_path: Path) -> None:
    config = table_config(tmp_path, validation_fraction=0.25)
    rows = table_rows(400)
    write_table(tmp_path / "train.csv", rows[:200])
    before = {record.title: record.split for record in every(load(config))}
    write_table(tmp_path / "train.csv", [*rows[200:], *reversed(rows[:200])])
    after = {record.title: record.split for record in every(load(config))}
    assert len(after) == 400
    assert before.items() <= after.items()
    share = sum(split == "validation" for split in after.values()) / 400
    assert 0.18 < share < 0.32


def test_a_larger_fraction_sets_more_apart(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", table_rows(200))
    small, large = ({r.id for r in load(table_config(tmp_path, validation_fraction=f)).validation} for f in (0.1, 0.4))
    assert small < large


def test_the_hash_of_the_text_decides(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", table_rows(100))
    splits = load(table_config(tmp_path, validation_fraction=0.25))
    for split, records in (("train", splits.train), ("validation", splits.validation), ("test", splits.test)):
        for record in records:
            part = int(hashlib.sha256((record.title + record.body).encode()).hexdigest()[:8], 16) / 2**32
            assert (part < 0.25) == (split == "validation")
            assert record.split == split


@pytest.mark.parametrize("column", ["repo", "label", "title", "body"])
def test_a_missing_column_is_named(tmp_path: Path, column: str) -> None:
    columns = [name for name in ("repo", "label", "title", "body") if name != column]
    write_table(tmp_path / "train.csv", table_rows(60), columns)
    with pytest.raises(CorpusError) as caught:
        load(table_config(tmp_path, group_column="repo"))
    assert str(caught.value) == f"{tmp_path}/train.csv: no column {column!r}; columns: {', '.join(columns)}"


def test_an_unknown_label_names_file_and_record(tmp_path: Path) -> None:
    rows = table_rows(5)
    rows[3]["label"] = "defect"
    write_table(tmp_path / "train.csv", rows)
    with pytest.raises(CorpusError) as caught:
        load(table_config(tmp_path))
    assert (
        str(caught.value)
        == f"{tmp_path}/train.csv: record 4: label: unknown label 'defect'; known: bug, feature, question"
    )


def test_a_short_record_names_file_and_record(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("title,body,label\na,b,bug\nonly a title\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"train\.csv: record 2: label: unknown label None; known: bug"):
        load(table_config(tmp_path))


@pytest.mark.parametrize("content", [None, b"\x80\x81", gzip.compress(b"title,body,label\n" * 2000, mtime=0)[:40], b""])
def test_an_unreadable_table(tmp_path: Path, content: bytes | None) -> None:
    name = "train.csv.gz" if content and content.startswith(b"\x1f\x8b") else "train.csv"
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=rf"{name}: {'no column' if content == b'' else 'cannot be read'}"):
        load(table_config(tmp_path, train=name))


@pytest.mark.parametrize(
    "data", [{"train": None}, {"label_columns": {}}, {"label_columns": {"type": "label", "kind": "label"}}]
)
def test_tables_need_a_column_for_each_axis(tmp_path: Path, data: dict[str, Any]) -> None:
    write_table(tmp_path / "train.csv", table_rows(60))
    with pytest.raises(
        ConfigError, match=r"run\.toml: data\.format csv needs `train` and `label_columns` for each of the axes type"
    ):
        load(table_config(tmp_path, **data))


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
        r"validation",
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


def record(identifier: str = "a/b#1", **changes: Any) -> Record:
    base = Record(
        identifier,
        "title",
        "body",
        {"kind": "bug", "distributed": "false", "symptom": "native-crash"},
        "train",
        "toys",
        "raw",
        "ray",
    )
    return replace(base, **changes)


def test_label_numbers_are_places_on_the_axes() -> None:
    taxonomy = default_taxonomy()
    expected = [
        taxonomy.axes["kind"].label_ids.index("bug"),
        taxonomy.axes["distributed"].label_ids.index("false"),
        UNLABELLED,
        taxonomy.axes["symptom"].label_ids.index("native-crash"),
        UNLABELLED,
        UNLABELLED,
    ]
    assert list(taxonomy.axes) == ["kind", "distributed", "stage", "symptom", "cause", "fix"]
    assert label_numbers(record(), taxonomy) == expected
    assert label_numbers(record(labels={}), taxonomy) == [UNLABELLED] * 6


def test_the_data_hash_covers_all_that_is_learnt_from() -> None:
    base = [record("a/b#1"), record("a/b#2", title="标题 \ud83d")]
    digest = data_sha256(base)
    assert digest == data_sha256(base[::-1])
    assert digest == data_sha256([replace(base[0], source="x", group="x"), base[1]])
    changed = [
        replace(base[0], id="a/b#3"),
        replace(base[0], title="Title"),
        replace(base[0], body="bod"),
        replace(base[0], labels={**base[0].labels, "symptom": "runtime-hang"}),
        replace(base[0], split="validation"),
    ]
    assert len({digest, data_sha256(base[:1]), *(data_sha256([one, base[1]]) for one in changed)}) == 7


def test_tokenize(tmp_path: Path) -> None:
    taxonomy = default_taxonomy()
    path = write_config(tmp_path / "run.toml", training={"label_weights": {"odd": {"symptom": 0.3, "kind": 0.0}}})
    config = load_config(path)
    tokenizer = load_tokenizer(config.encoder)
    records = [
        record(),
        record(
            "a/b#2",
            source="odd",
            note="watchdog fired",
            body="NCCL error: watchdog timeout\n" + "so many words here " * 100,
            labels={"kind": "bug"},
        ),
    ]
    data = tokenize(records, tokenizer, taxonomy, config)
    ids = data["input_ids"]
    assert data["length"] == [len(row) for row in ids]
    assert len(ids[1]) == config.encoder.max_tokens == 48
    assert tokenizer.decode(ids[0]) == "title body"
    assert ids[1] == tokenizer.encode(prepare(records[1].title, records[1].body).text).ids
    assert data["labels"] == [[label_numbers(one, taxonomy)] for one in records]
    assert data["weights"] == [[[1.0] * 6], [[0.0, 1.0, 1.0, 0.3, 1.0, 1.0]]]
    assert data["note"] == [NO_NOTE, 1]
    assert data["source"] == ["toys", "odd"]


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
