"""The corpus: annotations are checked, joined with texts, and counted."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import CorpusError
from distriage_research.corpus.view import count_labels
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.load import load_records
from distriage_training.corpus.records import OWN_TEXTS, Annotation, read_annotations
from distriage_training.corpus.texts import read_texts

from support.corpus_files import TAXONOMY
from support.toys import CORPUS, QUESTION, annotation, write_corpus, write_lines


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
        ({"bogus": 1}, f"2: unknown key bogus; known: {', '.join(Annotation.model_fields)}"),
        (
            {"kind": None},
            (
                "2: record: kind and distributed must not be null; only records of origin feedback "
                "or second-reader may leave them out"
            ),
        ),
        (
            {"stage": None},
            "2: record: a bug needs stage, symptom, cause, fix; filled: symptom, cause, fix",
        ),
        ({"kind": "question"}, "2: record: kind question must leave stage, symptom, cause, fix null"),
        (
            {"kind": "defect", "stage": None, "symptom": None, "cause": None, "fix": None},
            f"2: kind: unknown label 'defect' (taxonomy {TAXONOMY.version})",
        ),
        ({"symptom": "hang"}, f"2: symptom: unknown label 'hang' (taxonomy {TAXONOMY.version})"),
        ({"confidence": "middling"}, "2: confidence: expected 'high' or 'low'"),
        ({"cause_evidence": "guessed"}, "2: cause_evidence: expected 'stated' or 'inferred'"),
        (
            {"origin": "copied"},
            "2: origin: expected 'raw', 'restated', 'generated', 'feedback' or 'second-reader'",
        ),
        ({"split": "dev"}, "2: split: expected 'train', 'validation' or 'test'"),
        ({"readers": "two"}, "2: readers: expected a valid integer, unable to parse string as an integer"),
        ({"origin": "generated", "split": "test"}, "2: record: a generated report must not be in test"),
        (
            {"origin": "generated", "split": "validation"},
            "2: record: a generated report must not be in validation",
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
    assert problems_of(tmp_path, row) == ([], ["1: framework: missing"])


def test_a_generated_report_may_be_trained_on(tmp_path: Path) -> None:
    assert problems_of(tmp_path, annotation("a/b#1", origin="generated"))[1] == []


def test_every_unknown_label_of_a_record_is_reported(tmp_path: Path) -> None:
    assert problems_of(tmp_path, annotation("a/b#1", symptom="x", fix="y"))[1] == [
        f"1: symptom: unknown label 'x' (taxonomy {TAXONOMY.version})",
        f"1: fix: unknown label 'y' (taxonomy {TAXONOMY.version})",
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
            f"4: symptom: unknown label 'x' (taxonomy {TAXONOMY.version})",
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
        f"{corpus}/annotations.jsonl:1: stage: unknown label 'x' (taxonomy {TAXONOMY.version}) (and 1 more; see "
        f"`python training/research corpus check`)"
    )


def test_count_labels_counts_what_never_occurs(tmp_path: Path) -> None:
    with (CORPUS / "annotations.jsonl").open(encoding="utf-8") as stream:
        some = write_lines(tmp_path / "annotations.jsonl", islice(stream, 50))
    records = [record for _, record in read_annotations(some, TAXONOMY)[0]]
    assert len(records) == 50
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
