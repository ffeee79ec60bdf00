from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distriage.errors import CorpusError
from distriage.taxonomy import default_taxonomy
from distriage_training.corpus.jsonl import read_jsonl, write_jsonl
from distriage_training.corpus.load import load_records
from distriage_training.corpus.records import OWN_TEXTS, count_labels, read_annotations
from distriage_training.corpus.texts import import_texts, read_texts

from support.toys import CORPUS, QUESTION, annotation, texts, write_corpus, write_lines

TAXONOMY = default_taxonomy()


def problems_of(tmp_path: Path, *rows: object) -> tuple[list[str], list[str]]:
    """Ids of the valid records, and the problems without the file's name."""
    path = write_lines(tmp_path / "annotations.jsonl", rows)
    records, problems = read_annotations(path, TAXONOMY)
    assert all(problem.startswith(f"{path}:") for problem in problems)
    return [record.id for _, record in records], [problem.removeprefix(f"{path}:") for problem in problems]


def test_valid_annotations(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "annotations.jsonl", [annotation("a/b#1"), "", annotation("a/b#2", **QUESTION, distributed=False)]
    )
    records, problems = read_annotations(path, TAXONOMY)
    assert problems == []
    assert [(number, record.id) for number, record in records] == [(1, "a/b#1"), (3, "a/b#2")]
    bug, question = (record for _, record in records)
    assert (bug.label("kind"), bug.label("distributed"), bug.label("symptom")) == ("bug", "true", "runtime-hang")
    assert (question.label("kind"), question.label("distributed"), question.label("symptom")) == (
        "question",
        "false",
        None,
    )


def test_labels_of_a_foreign_axis_are_absent(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "annotations.jsonl", [annotation("a/b#1")])
    assert read_annotations(path, TAXONOMY)[0][0][1].label("type") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bogus": 1}, "2: bogus: Extra inputs are not permitted"),
        (
            {"kind": None},
            (
                "2: record: Value error, kind and distributed must not be null; only records of origin feedback "
                "may leave them out"
            ),
        ),
        (
            {"stage": None},
            "2: record: Value error, a bug needs stage, symptom, cause, fix; filled: symptom, cause, fix",
        ),
        ({"kind": "question"}, "2: record: Value error, kind question must leave stage, symptom, cause, fix null"),
        (
            {"kind": "defect", "stage": None, "symptom": None, "cause": None, "fix": None},
            "2: kind: unknown label 'defect' (taxonomy 1.0.0)",
        ),
        ({"symptom": "hang"}, "2: symptom: unknown label 'hang' (taxonomy 1.0.0)"),
        ({"confidence": "middling"}, "2: confidence: Input should be 'high' or 'low'"),
        ({"cause_evidence": "guessed"}, "2: cause_evidence: Input should be 'stated' or 'inferred'"),
        ({"origin": "copied"}, "2: origin: Input should be 'raw', 'restated', 'generated' or 'feedback'"),
        ({"split": "dev"}, "2: split: Input should be 'train', 'validation' or 'test'"),
        ({"readers": "two"}, "2: readers: Input should be a valid integer, unable to parse string as an integer"),
        ({"origin": "generated", "split": "test"}, "2: record: Value error, a generated report must not be in test"),
        (
            {"origin": "generated", "split": "validation"},
            "2: record: Value error, a generated report must not be in validation",
        ),
    ],
)
def test_a_breach_of_the_schema_names_file_line_and_field(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    valid, problems = problems_of(tmp_path, annotation("a/b#1"), annotation("a/b#2", **changes), annotation("a/b#3"))
    assert problems == [message]
    assert valid == ["a/b#1", "a/b#3"]


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    row = annotation("a/b#1")
    del row["framework"]
    assert problems_of(tmp_path, row) == ([], ["1: framework: Field required"])


def test_a_generated_report_may_be_trained_on(tmp_path: Path) -> None:
    assert problems_of(tmp_path, annotation("a/b#1", origin="generated"))[1] == []


def test_every_unknown_label_of_a_record_is_reported(tmp_path: Path) -> None:
    assert problems_of(tmp_path, annotation("a/b#1", symptom="x", fix="y"))[1] == [
        "1: symptom: unknown label 'x' (taxonomy 1.0.0)",
        "1: fix: unknown label 'y' (taxonomy 1.0.0)",
    ]


def test_duplicates_whatever_their_case(tmp_path: Path) -> None:
    rows = (
        annotation("Owner/Repo#1"),
        annotation("a/b#2"),
        annotation("owner/repo#1"),
        annotation("a/b#2", symptom="x"),
        annotation("A/B#2"),
    )
    assert problems_of(tmp_path, *rows) == (
        ["Owner/Repo#1", "a/b#2"],
        [
            "3: id owner/repo#1: duplicate of line 1",
            "4: symptom: unknown label 'x' (taxonomy 1.0.0)",
            "4: id a/b#2: duplicate of line 2",
            "5: id A/B#2: duplicate of line 2",
        ],
    )


def test_a_repository_that_moved_is_the_same_repository(tmp_path: Path) -> None:
    rows = (
        annotation("deepspeedai/DeepSpeed#1"),
        annotation("microsoft/DeepSpeed#1"),
        annotation("microsoft/DeepSpeed#2"),
    )
    assert problems_of(tmp_path, *rows) == (
        ["deepspeedai/DeepSpeed#1", "microsoft/DeepSpeed#2"],
        ["2: id microsoft/DeepSpeed#1: duplicate of line 1"],
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [('{"a": nope}', "2: not JSON: Expecting value at column 7"), ("[1]", "2: expected a JSON object, found list")],
)
def test_a_line_that_is_no_object(tmp_path: Path, line: str, message: str) -> None:
    path = write_lines(tmp_path / "a.jsonl", ["{}", line])
    with pytest.raises(CorpusError) as caught:
        list(read_jsonl(path))
    assert str(caught.value) == f"{path}:{message}"


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.jsonl: cannot be read: .*No such file"):
        list(read_jsonl(tmp_path / "none.jsonl"))
    (tmp_path / "latin.jsonl").write_bytes('{"a": "é"}\n'.encode("latin-1"))
    with pytest.raises(CorpusError, match=r"latin\.jsonl: cannot be read: .*utf-8"):
        list(read_jsonl(tmp_path / "latin.jsonl"))


@pytest.mark.parametrize("damage", ["not gzip", "cut off", "flipped"])
def test_damaged_gzip_is_one_line(tmp_path: Path, damage: str) -> None:
    content = bytearray(gzip.compress(json.dumps({"text": list(range(5000))}).encode()))
    if damage == "flipped":
        for i in range(40, 60):
            content[i] ^= 0xFF
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(
        {"not gzip": b"{}\n", "cut off": bytes(content[: len(content) // 2]), "flipped": bytes(content)}[damage]
    )
    with pytest.raises(CorpusError, match=r"a\.jsonl\.gz: cannot be read: \S+"):
        list(read_jsonl(path))


JSON_ROWS = st.lists(
    st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.booleans() | st.lists(st.text()))
)


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=JSON_ROWS)
def test_what_is_written_is_read_again(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "rows.jsonl"
    assert write_jsonl(path, rows) == len(rows)
    assert list(read_jsonl(path)) == list(enumerate(rows, 1))


def test_a_cut_off_emoji_does_not_stop_writing(tmp_path: Path) -> None:
    row = json.loads(r'{"id": "a/b#1", "title": "cut \ud83d", "body": null}')
    assert write_jsonl(tmp_path / "a.jsonl", [row]) == 1
    assert read_texts([tmp_path / "a.jsonl"]) == {"a/b#1": ("cut ?", "")}


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    write_jsonl(path, [{"n": 1}])

    def rows() -> Iterator[dict[str, int]]:
        yield from ({"n": n} for n in range(10_000))
        raise CorpusError("in the middle")

    with pytest.raises(CorpusError, match="in the middle"):
        write_jsonl(path, rows())
    assert list(read_jsonl(path)) == [(1, {"n": 1})]
    write_jsonl(path, [{"n": 2}])
    assert list(read_jsonl(path)) == [(1, {"n": 2})]
    assert [entry.name for entry in path.parent.iterdir()] == ["rows.jsonl"]


def test_texts_of_later_files_win_and_missing_files_are_empty(tmp_path: Path) -> None:
    first = write_lines(
        tmp_path / "1.jsonl", [{"id": "a", "title": "one", "body": None}, {"id": "b", "title": "b", "body": "B"}]
    )
    second = write_lines(tmp_path / "2.jsonl", [{"id": "a", "title": "two", "body": "x", "more": 1}])
    assert read_texts([first, tmp_path / "none.jsonl", second]) == {"a": ("two", "x"), "b": ("b", "B")}


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"id": "a", "title": "t"},
        {"id": "a", "body": "b"},
        {"id": 1, "title": "t", "body": ""},
        {"id": "a", "title": "t", "body": 5},
    ],
)
def test_a_line_that_is_no_text(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{"id": "x", "title": "t", "body": ""}, row])
    with pytest.raises(CorpusError) as caught:
        read_texts([path])
    assert str(caught.value).startswith(
        f"{path}:2: a text needs `id`, `title` and `body`, strings; found {'nothing' if not row else next(iter(row))}"
    )


def test_records_join_annotations_and_texts(tmp_path: Path) -> None:
    rows = [
        annotation("a/b#1"),
        annotation("a/b#2", **QUESTION, split="test", framework="ray"),
        annotation("a/b#3", origin="restated", split="validation"),
    ]
    corpus = write_corpus(tmp_path / "corpus", rows, {"a/b#3": ("restated title", "restated body")})
    store = write_lines(
        tmp_path / "texts.jsonl",
        [{"id": "a/b#1", "title": "t", "body": None}, {"id": "a/b#3", "title": "raw", "body": "raw"}],
    )
    records, missing = load_records(corpus, store, TAXONOMY)
    assert [one.id for one in missing] == ["a/b#2"]
    assert [(r.id, r.title, r.body, r.split, r.origin, r.group) for r in records] == [
        ("a/b#1", "t", "", "train", "raw", "deepspeed"),
        ("a/b#3", "restated title", "restated body", "validation", "restated", "deepspeed"),
    ]
    assert records[0].labels == {
        "kind": "bug",
        "distributed": "true",
        "stage": "training-evaluation",
        "symptom": "runtime-hang",
        "cause": "incorrect-logic",
        "fix": "framework-patch",
    }
    records, missing = load_records(corpus, tmp_path / "none.jsonl", TAXONOMY)
    assert ([r.id for r in records], [one.id for one in missing]) == (["a/b#3"], ["a/b#1", "a/b#2"])


def test_records_of_an_invalid_corpus_are_refused(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, [annotation("a/b#1", stage="x", fix="y")])
    with pytest.raises(CorpusError) as caught:
        load_records(corpus, tmp_path / "none.jsonl", TAXONOMY)
    assert str(caught.value) == (
        f"{corpus}/annotations.jsonl:1: stage: unknown label 'x' (taxonomy 1.0.0) (and 1 more; see "
        f"`distriage corpus check`)"
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [annotation(f"a/b#{n}") for n in range(1, 5)] + [annotation("a/b#9", origin="restated")]
    return write_corpus(tmp_path / "corpus", rows, {"a/b#9": ("t", "b")})


def test_import_from_a_folder(tmp_path: Path, corpus: Path) -> None:
    source = tmp_path / "source"
    write_lines(source / "deep" / "one.jsonl", texts(["a/b#1", "c/d#1"]))
    (source / "two.jsonl.gz").write_bytes(
        gzip.compress(json.dumps({"id": "a/b#2", "title": "zipped", "body": None}).encode() + b"\n")
    )
    write_lines(source / "annotations.jsonl", [annotation("a/b#3")])  # another kind of file
    (source / "marks.txt").write_text("not JSON", encoding="utf-8")
    store = tmp_path / "store" / "texts.jsonl"
    assert import_texts(source, corpus, store, TAXONOMY) == (2, 1, 2)
    assert sorted(read_texts([store])) == ["a/b#1", "a/b#2"]
    assert read_texts([store])["a/b#2"] == ("zipped", "")
    assert sorted(read_texts([store.with_name("unlabelled.jsonl")])) == ["c/d#1"]
    assert sorted(entry.name for entry in store.parent.iterdir()) == ["texts.jsonl", "unlabelled.jsonl"]


def test_a_second_import_adds_to_the_first(tmp_path: Path, corpus: Path) -> None:
    store = tmp_path / "texts.jsonl"
    write_lines(tmp_path / "one" / "a.jsonl", texts(["a/b#1", "c/d#1"]))
    write_lines(
        tmp_path / "two" / "a.jsonl", [*texts(["a/b#2", "c/d#2"]), {"id": "a/b#1", "title": "newer", "body": ""}]
    )
    assert import_texts(tmp_path / "one", corpus, store, TAXONOMY) == (1, 1, 3)
    assert import_texts(tmp_path / "two", corpus, store, TAXONOMY) == (2, 2, 2)
    assert read_texts([store])["a/b#1"] == ("newer", "")
    assert sorted(read_texts([store.with_name("unlabelled.jsonl")])) == ["c/d#1", "c/d#2"]
    write_lines(corpus / "annotations.jsonl", [annotation("c/d#1"), annotation("a/b#1")])
    assert import_texts(tmp_path / "two", corpus, store, TAXONOMY) == (2, 2, 0)
    assert sorted(read_texts([store])) == ["a/b#1", "c/d#1"]


def test_import_without_texts(tmp_path: Path, corpus: Path) -> None:
    store = write_lines(tmp_path / "texts.jsonl", texts(["a/b#1"]))
    before = store.read_bytes()
    with pytest.raises(CorpusError, match=r"missing: not a folder; expected one with \*\.jsonl"):
        import_texts(tmp_path / "missing", corpus, store, TAXONOMY)
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        CorpusError, match=r"empty: no text found; expected \*\.jsonl or \*\.jsonl\.gz with id, title and body"
    ):
        import_texts(tmp_path / "empty", corpus, store, TAXONOMY)
    bad = write_lines(tmp_path / "bad" / "a.jsonl", [*texts(["a/b#2"]), {"id": "a/b#3", "title": None, "body": ""}])
    with pytest.raises(CorpusError, match=rf"{bad}:2: a text needs"):
        import_texts(tmp_path / "bad", corpus, store, TAXONOMY)
    assert store.read_bytes() == before


def test_count_labels_counts_what_never_occurs() -> None:
    records = [record for _, record in read_annotations(CORPUS / "annotations.jsonl", TAXONOMY)[0][:50]]
    counts = count_labels(records, TAXONOMY)
    assert set(counts) == set(TAXONOMY.axes)
    for axis in TAXONOMY.axes.values():
        assert set(counts[axis.id]) == set(axis.label_ids)
        assert all(
            count == sum(record.label(axis.id) == label for record in records)
            for label, count in counts[axis.id].items()
        )


def test_the_repository_s_own_corpus() -> None:
    numbered, problems = read_annotations(CORPUS / "annotations.jsonl", TAXONOMY)
    assert problems == []
    records = {record.id: record for _, record in numbered}
    for origin, name in OWN_TEXTS.items():
        own = read_texts([CORPUS / name])
        assert {i for i, record in records.items() if record.origin == origin} == set(own)
        assert all(title.strip() and body.strip() for title, body in own.values())
    assert {record.split for record in records.values()} == {"train", "validation", "test"}
    readings = [row for _, row in read_jsonl(CORPUS / "readings.jsonl")]
    assert {row["id"] for row in readings} <= set(records)
    measured = {records[row["id"]].split for row in readings if row["reader"] in {"first", "second", "as-filed"}}
    assert measured == {"test"}  # the readers whose agreement stands beside a model's test scores
