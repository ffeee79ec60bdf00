"""Examples of a person's own tables, and what all examples become."""

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

from distriage.base.errors import ConfigError, CorpusError
from distriage.model.taxonomy import default_taxonomy
from distriage.recipe.text import prepare
from distriage_training.config import load_config
from distriage_training.corpus.load import data_sha256, load_splits
from distriage_training.corpus.records import UNLABELLED, Reading, Record, label_numbers
from distriage_training.corpus.tables import read_csv, read_tables
from distriage_training.fit.encoder import load_tokenizer
from distriage_training.fit.examples import NO_NOTE, tokenize

from support.examples import every, load, record
from support.toys import write_config

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


def test_records_of_tables(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", table_rows(60))
    write_table(tmp_path / "test.csv.gz", table_rows(64)[60:])
    splits = load(table_config(tmp_path, test="test.csv.gz", group_column="repo", validation_fraction=0.3))
    assert splits.counts() | {"train": 0, "validation": 0} == {
        "train": 0,
        "validation": 0,
        "test": 4,
    }
    assert len(splits.train) + len(splits.validation) == 60
    first = splits.test[1]
    digest = hashlib.sha256(b'title, 61line "one"\nline 61').hexdigest()
    assert first == Record(
        digest, "title, 61", 'line "one"\nline 61', {"type": "feature"}, "test", "table", "raw", "o/r1"
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


def test_a_row_is_the_same_issue_wherever_it_stands_and_whatever_the_file_is_called(tmp_path: Path) -> None:
    """`trained-on.txt` knows a report again by its id: trackers list the newest first, so rows move."""
    rows = table_rows(120)
    write_table(tmp_path / "train.csv", rows[:60])
    before = {record.title: record.id for record in every(load(table_config(tmp_path)))}
    write_table(tmp_path / "newer.csv", [*rows[60:], *rows[:60]])
    after = {record.title: record.id for record in every(load(table_config(tmp_path, train="newer.csv")))}
    assert before.items() <= after.items()
    assert len(set(after.values())) == 120


def test_an_address_names_the_issue_and_does_not_move_it(tmp_path: Path) -> None:
    """The index shows it, and a back-test leaves out what the model was trained on."""
    rows = table_rows(60)
    write_table(tmp_path / "train.csv", rows)
    before = {record.title: record.split for record in every(load(table_config(tmp_path, validation_fraction=0.3)))}
    rows = [{**row, "url": f"https://github.com/o/r/issues/{n}" if n else ""} for n, row in enumerate(rows)]
    write_table(tmp_path / "train.csv", rows, ("title", "body", "label", "url"))
    found = {record.title: record for record in every(load(table_config(tmp_path, validation_fraction=0.3)))}
    assert {title: record.split for title, record in found.items()} == before
    assert (found["title, 7"].id, found["title, 7"].url) == ("o/r#7", "https://github.com/o/r/issues/7")
    assert (len(found["title, 0"].id), found["title, 0"].url) == (64, "")


def test_a_larger_fraction_sets_more_apart(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", table_rows(200))
    small, large = ({r.id for r in load(table_config(tmp_path, validation_fraction=f)).validation} for f in (0.1, 0.4))
    assert small < large


def test_the_hash_of_the_text_decides(tmp_path: Path) -> None:
    write_table(tmp_path / "train.csv", table_rows(100))
    splits = load(table_config(tmp_path, validation_fraction=0.25))
    for split, records in (("train", splits.train), ("validation", splits.validation), ("test", splits.test)):
        for one in records:
            part = int(hashlib.sha256((one.title + one.body).encode()).hexdigest()[:8], 16) / 2**32
            assert (part < 0.25) == (split == "validation")
            assert one.split == split


@pytest.mark.parametrize("column", ["repo", "label", "title", "body"])
def test_a_missing_column_is_named(tmp_path: Path, column: str) -> None:
    columns = [name for name in ("repo", "label", "title", "body") if name != column]
    write_table(tmp_path / "train.csv", table_rows(60), columns)
    with pytest.raises(CorpusError) as caught:
        load(table_config(tmp_path, group_column="repo"))
    assert str(caught.value) == f"{tmp_path}/train.csv: no column {column!r}; columns: {', '.join(columns)}"


@pytest.mark.parametrize("name", ["train.csv", "train.csv.gz"])
def test_a_table_of_excel_begins_with_a_byte_order_mark(tmp_path: Path, name: str) -> None:
    table = write_table(tmp_path / "plain.csv", table_rows(60), ("title", "body", "label"))
    content = b"\xef\xbb\xbf" + table.read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert len(every(load(table_config(tmp_path, train=name, validation_fraction=0.3)))) == 60


def test_an_empty_cell_is_no_label(tmp_path: Path) -> None:
    """As where an axis requires a label of another one that the report does not have."""
    area = '[axis.area]\nrequires = { axis = "type", label = "bug" }\n' + "".join(
        f'[[area]]\nid = "{label}"\ndefinition = "Of it."\n' for label in ("install", "run")
    )
    settings = table_config(tmp_path, label_columns={"type": "label", "area": "area"}, validation_fraction=0.3)
    (tmp_path / "taxonomy.toml").write_text(TAXONOMY_TOML + area, encoding="utf-8")
    rows = [
        {**row, "area": ("install", "run")[n % 2] if row["label"] == "bug" else ""}
        for n, row in enumerate(table_rows(60))
    ]
    write_table(tmp_path / "train.csv", rows, ("label", "area", "title", "body"))
    found = every(load(settings))
    assert {label for record in found if (label := record.labels.get("area"))} == {"install", "run"}
    assert all(("area" in record.labels) == (record.labels["type"] == "bug") for record in found)


def test_a_row_without_any_label_is_named(tmp_path: Path) -> None:
    rows = table_rows(5)
    rows[3]["label"] = ""
    write_table(tmp_path / "train.csv", rows)
    with pytest.raises(CorpusError) as caught:
        load(table_config(tmp_path))
    assert str(caught.value) == f"{tmp_path}/train.csv: row 5: no label at all; expected one or more"


def test_an_unknown_label_names_file_and_row(tmp_path: Path) -> None:
    rows = table_rows(5)
    rows[3]["label"] = "defect"
    write_table(tmp_path / "train.csv", rows)
    with pytest.raises(CorpusError) as caught:
        load(table_config(tmp_path))
    assert (
        str(caught.value)
        == f"{tmp_path}/train.csv: row 5: label: unknown label 'defect'; known: bug, feature, question"
    )


def test_all_faults_of_a_table_are_named_at_once(tmp_path: Path) -> None:
    rows = table_rows(20)
    rows[0]["label"] = " feature "  # as a spreadsheet's cells are
    for number, label in ((2, "bgu"), (3, ""), (4, "bgu")):
        rows[number]["label"] = label
    for number in range(10, 20):
        rows[number]["label"] = "N/A"
    write_table(tmp_path / "train.csv", rows)
    with pytest.raises(CorpusError) as caught:
        load(table_config(tmp_path))
    assert str(caught.value).removeprefix(f"{tmp_path}/train.csv: ") == (
        "rows 4, 6: label: unknown label 'bgu'; did you mean bug? known: bug, feature, question"
        " | row 5: no label at all; expected one or more"
        " | rows 12, 13, 14, 15, 16 and 5 more: label: unknown label 'N/A'; known: bug, feature, question"
    )


def test_one_text_with_two_answers_is_refused(tmp_path: Path) -> None:
    """As where the tables of two annotators were put below each other."""
    rows = table_rows(60)
    write_table(tmp_path / "train.csv", [*rows, rows[4]])
    assert len(every(load(table_config(tmp_path)))) == 61
    write_table(tmp_path / "train.csv", [*rows, rows[4], {**rows[3], "label": "question"}])
    with pytest.raises(CorpusError) as caught:
        load(table_config(tmp_path))
    assert str(caught.value).endswith(
        "train.csv: row 63: label: question, but bug in row 5, which has the same text or address; expected one answer"
    )


def test_an_issue_whose_text_was_edited_is_one_and_two_that_say_the_same_are_two(tmp_path: Path) -> None:
    def addressed(rows: Sequence[Mapping[str, str]], edit: str = "") -> list[dict[str, str]]:
        return [
            {**row, "title": row["title"] + edit, "url": f"https://github.com/o/r/issues/{n + 1}"}
            for n, row in enumerate(rows)
        ]

    columns = ("title", "body", "label", "url")
    rows, helpless = addressed(table_rows(120)), {"title": "Help", "body": ""}
    more = [
        {**helpless, "label": label, "url": f"https://github.com/o/r/issues/{n}"}
        for n, label in ((201, "bug"), (202, "question"))
    ]
    write_table(tmp_path / "train.csv", [*rows, *more, *addressed(table_rows(120), " (solved)")], columns)
    write_table(tmp_path / "test.csv", addressed(table_rows(20), " again"), columns)
    config = load_config(table_config(tmp_path, test="test.csv", validation_fraction=0.3))
    records, left_out = read_tables(config, config.data, config.load_taxonomy())
    assert left_out == 40
    splits = {(record.id, record.split) for record in records if record.split != "test"}
    assert len(splits) == 102 and {split for _, split in splits} == {"train", "validation"}
    other = {**rows[3], "title": "Edited", "label": "question", "url": rows[3]["url"].replace("o/r", "O/R")}
    write_table(tmp_path / "train.csv", [*rows, other], columns)
    with pytest.raises(CorpusError, match=r"row 122: label: question, but bug in row 5, which has the same text or"):
        load(config.path)


def test_texts_that_differ_in_case_alone_are_on_one_side_of_the_cut(tmp_path: Path) -> None:
    rows = table_rows(60)
    write_table(tmp_path / "train.csv", [*rows, *({**row, "title": row["title"].upper()} for row in rows)])
    found = {
        (record.title.lower(), record.split) for record in every(load(table_config(tmp_path, validation_fraction=0.3)))
    }
    assert len(found) == 60


def test_rows_have_the_numbers_of_a_spreadsheet(tmp_path: Path) -> None:
    content = 'title,body,label\n\na,"two\nlines",bug\n\n\nb,c,defect,more\n'
    (tmp_path / "train.csv").write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=r"train\.csv: row 6: label: unknown label 'defect'"):
        load(table_config(tmp_path))


@pytest.mark.parametrize(
    ("addresses", "id_", "url"),
    [
        (
            {"html_url": "https://github.com/o/r/issues/2", "url": "https://api.github.com/repos/o/r/issues/2"},
            "o/r#2",
            "https://github.com/o/r/issues/2",
        ),
        (
            {"url": "https://ghe.acme.org/api/v3/repos/o/r/issues/2"},
            "o/r#2",
            "https://ghe.acme.org/api/v3/repos/o/r/issues/2",
        ),
        ({"url": "https://tracker.acme.org/2"}, None, "https://tracker.acme.org/2"),
        ({"url": "javascript:alert(1)"}, None, ""),
    ],
)
def test_an_address_may_be_that_of_the_api(
    tmp_path: Path, addresses: Mapping[str, str], id_: str | None, url: str
) -> None:
    write_table(
        tmp_path / "train.csv",
        [*table_rows(60), {**table_rows(1)[0], "title": "this", **addresses}],
        ("title", "body", "label", "html_url", "url"),
    )
    (found,) = (
        record for record in every(load(table_config(tmp_path, validation_fraction=0.3))) if record.title == "this"
    )
    assert found.url == url and (found.id == id_ if id_ else len(found.id) == 64)


def test_what_is_tested_is_not_learned_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table_rows(70)
    write_table(tmp_path / "train.csv", [{**row, "title": row["title"].upper() + " "} for row in rows])
    write_table(tmp_path / "test.csv", rows[60:])
    config = load_config(table_config(tmp_path, test="test.csv", validation_fraction=0.3))
    splits = load_splits(config, config.load_taxonomy(), Console())
    assert splits.counts()["test"] == 10 and len(every(splits)) == 70
    assert "note: 10 rows of" in capsys.readouterr().out
    with pytest.raises(ConfigError, match=r"run\.toml: all rows of .*train\.csv are in .*train\.csv, too"):
        load(table_config(tmp_path, test="train.csv"))


def test_a_label_whose_condition_is_not_met_is_refused(tmp_path: Path) -> None:
    area = '[axis.area]\nrequires = { axis = "type", label = "bug" }\n' + "".join(
        f'[[area]]\nid = "{label}"\ndefinition = "Of it."\n' for label in ("install", "run")
    )
    settings = table_config(tmp_path, label_columns={"type": "label", "area": "area"})
    (tmp_path / "taxonomy.toml").write_text(TAXONOMY_TOML + area, encoding="utf-8")
    rows = [{**row, "area": ("install", "run")[n % 2]} for n, row in enumerate(table_rows(4))]
    write_table(tmp_path / "train.csv", rows, ("label", "area", "title", "body"))
    with pytest.raises(CorpusError) as caught:
        load(settings)
    assert str(caught.value).removeprefix(f"{tmp_path}/train.csv: ") == (
        "row 3: area: run, but type is feature; expected an empty cell"
        " | row 4: area: install, but type is question; expected an empty cell"
    )


def test_a_short_record_names_file_and_row(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("title,body,label\na,b,bug\nonly a title\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"train\.csv: row 3: no label at all; expected one or more"):
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
    assert digest == data_sha256([replace(base[0], group="x", url="x"), base[1]])
    changed = [
        replace(base[0], id="a/b#3"),
        replace(base[0], title="Title"),
        replace(base[0], body="bod"),
        replace(base[0], labels={**base[0].labels, "symptom": "runtime-hang"}),
        replace(base[0], split="validation"),
        replace(base[0], source="x"),
        replace(base[0], note="x"),
        replace(base[0], sure=False),
        replace(base[0], others=(Reading(base[0].labels, "x", sure=True),)),
        replace(base[0], others=(Reading(base[0].labels, "x", sure=False),)),
    ]
    assert len({digest, data_sha256(base[:1]), *(data_sha256([one, base[1]]) for one in changed)}) == 12


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


def test_a_table_s_faults_are_named_and_a_short_row_is_filled_up(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("repo,title,body\na/b,only a title\na/b,long," + "x" * 200_000 + "\n", encoding="utf-8")
    short, long = read_csv(table, ["repo", "title", "body"])
    assert short == {"repo": "a/b", "title": "only a title", "body": ""} and len(long["body"]) == 200_000
    with pytest.raises(CorpusError, match=r"a\.csv: no column 'label', 'at'; columns: repo, title, body"):
        list(read_csv(table, ["label", "title", "at"]))
    whole = gzip.compress(table.read_bytes())
    for name, content in (
        ("cut.csv.gz", whole[: len(whole) // 2]),
        ("none.csv.gz", b"title"),
        ("latin.csv", b"title\n\xe9"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CorpusError, match=f"{name}: cannot be read: "):
            list(read_csv(tmp_path / name, ["title"]))
