from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from distriage.answer.feedback import ReviewRecord
from distriage.base.errors import CorpusError, TaxonomyError
from distriage.base.references import IssueReference
from distriage.model.bundle import thread_digest
from distriage.model.taxonomy import default_taxonomy
from distriage_research.corpus.reviews import import_reviews, split_of
from distriage_training.corpus.load import load_records
from distriage_training.corpus.records import read_annotations
from distriage_training.corpus.reviews import read_reviews

from support.command_line import Command, assert_one_line
from support.toys import annotation, review, texts, write_corpus, write_lines

TAXONOMY = default_taxonomy()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two readings, one of them in the test split."""
    rows = [
        annotation("Owner/Repo#1", split="test"),
        annotation("owner/repo#2", framework="ray"),
        annotation("owner/repo#3", framework="ray"),
    ]
    write_lines(tmp_path / "texts.jsonl", texts(["Owner/Repo#1", "owner/repo#2"]))
    return write_corpus(tmp_path / "corpus", rows)


def bring(corpus: Path, *rows: object) -> Any:
    return import_reviews(
        write_lines(corpus.parent / "reviews.jsonl", rows), corpus, corpus.parent / "texts.jsonl", TAXONOMY
    )


def records(corpus: Path) -> dict[str, Any]:
    found, problems = read_annotations(corpus / "annotations.jsonl", TAXONOMY)
    assert problems == []
    return {record.id: record for _, record in found if record.origin == "feedback"}


def test_verdicts_become_records_with_texts(corpus: Path) -> None:
    report = bring(
        corpus,
        review("owner/repo#7", "symptom", "runtime-hang"),
        review("owner/repo#7", "distributed", "true"),
        review("x/y#8", "kind", "question"),
    )
    assert (report.train + report.validation, report.changed, report.annotated, report.without_label) == (2, 2, 0, 0)
    bug, question = records(corpus)["owner/repo#7"], records(corpus)["x/y#8"]
    assert (bug.source, bug.framework, bug.created, bug.split) == (
        "feedback",
        "ray",
        "2026-01-02T03:04:05Z",
        split_of("owner/repo#7"),
    )
    assert [bug.label(axis) for axis in TAXONOMY.axes] == [None, "true", None, "runtime-hang", None, None]
    assert (question.kind, question.framework) == ("question", "other")
    loaded, missing = load_records(corpus, corpus.parent / "texts.jsonl", TAXONOMY)
    assert [one.id for one in missing] == ["owner/repo#3"]
    assert [(record.title, record.body, dict(record.labels)) for record in loaded if record.id == "x/y#8"] == [
        ("title of x/y#8", "it\u2028hangs", {"kind": "question"})
    ]
    assert "maintainer" not in (corpus / "annotations.jsonl").read_text(encoding="utf-8")


def test_a_second_call_changes_nothing_and_a_newer_verdict_replaces(corpus: Path) -> None:
    rows = [review("owner/repo#7", "symptom", "runtime-hang"), review("owner/repo#9", "stage", "inference")]
    bring(corpus, *rows)
    files = [corpus / "annotations.jsonl", corpus.parent / "texts.jsonl"]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    assert bring(corpus, *reversed(rows)).changed == 0
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before
    assert bring(corpus, review("Owner/repo#7", "symptom", "setup-hang", title="new")).changed == 1
    assert {record.symptom for record in records(corpus).values()} == {"setup-hang", None}


def test_readings_stay_byte_for_byte_and_no_test_report_is_taken(corpus: Path) -> None:
    before = (corpus / "annotations.jsonl").read_bytes()
    report = bring(
        corpus, review("owner/repo#1", "symptom", "runtime-hang"), review("owner/repo#5", "symptom", "runtime-hang")
    )
    assert (report.annotated, report.changed) == (1, 1)
    assert (corpus / "annotations.jsonl").read_bytes().startswith(before)
    assert list(records(corpus)) == ["owner/repo#5"]


def test_what_people_only_took_away_makes_no_record(corpus: Path) -> None:
    report = bring(
        corpus,
        review("a/b#1", "symptom", None, how="unlabel"),
        review("a/b#2", "kind", "feature"),
        review("a/b#2", "symptom", "runtime-hang"),
    )
    assert report.without_label == 1
    assert (records(corpus)["a/b#2"].kind, records(corpus)["a/b#2"].symptom) == ("feature", None)


def test_a_label_that_is_taken_back_takes_its_record_along(corpus: Path) -> None:
    bring(corpus, review("owner/repo#7", "symptom", "runtime-hang"), review("owner/repo#9", "stage", "inference"))
    for changed in (1, 0):
        report = bring(corpus, review("Owner/repo#7", "symptom", None, how="unlabel"))
        assert (report.changed, report.without_label) == (changed, 1)
    assert list(records(corpus)) == ["owner/repo#9"]


def test_a_review_without_a_label_leaves_the_record_of_a_second_reader(corpus: Path) -> None:
    rows = [annotation("owner/repo#7", origin="second-reader", source="second-reader")]
    before = write_corpus(corpus, rows).joinpath("annotations.jsonl").read_bytes()
    report = bring(corpus, review("owner/repo#7", "symptom", None, how="unlabel"))
    assert (report.changed, report.without_label) == (0, 1)
    assert (corpus / "annotations.jsonl").read_bytes() == before


def test_a_last_line_without_an_end_stays_a_line_of_its_own(corpus: Path) -> None:
    file = corpus / "annotations.jsonl"
    file.write_bytes(before := file.read_bytes().rstrip(b"\n"))
    bring(corpus, review("owner/repo#7", "symptom", "runtime-hang"))
    assert file.read_bytes().startswith(before + b"\n") and list(records(corpus)) == ["owner/repo#7"]


def test_withheld_threads_are_left_out(corpus: Path, research: Command) -> None:
    withheld = corpus.parent / "withheld.txt"
    withheld.write_text(thread_digest("owner/repo#7") + "\n", encoding="utf-8")
    file = write_lines(corpus.parent / "reviews.jsonl", [review("Owner/Repo#7", "symptom", "runtime-hang")])
    before = (corpus / "annotations.jsonl").read_bytes()
    places = ("--corpus", corpus, "--texts", corpus.parent / "texts.jsonl")
    done = research("corpus", "import-reviews", file, *places, "--withheld", withheld)
    assert done.out == (
        "0 records for train, 0 for validation; 0 new or changed; left out: 1 withheld, 0 annotated already, "
        "0 without a label\n"
    )
    assert (corpus / "annotations.jsonl").read_bytes() == before


def test_the_split_is_never_test_and_never_changes() -> None:
    splits = [split_of(f"owner/repo#{number}") for number in range(1000)]
    assert set(splits) == {"train", "validation"} and 150 < splits.count("validation") < 250
    assert splits == [split_of(f"OWNER/repo#{number}") for number in range(1000)]
    assert split_of("microsoft/DeepSpeed#5") == split_of("deepspeedai/DeepSpeed#5")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"who": None}, "2: who: expected a valid string"),
        ({"surprise": 1}, "2: unknown key surprise; known: "),
        ({"id": "owner"}, "2: id: expected text that matches pattern"),
        ({"axis": "colour"}, "2: axis: unknown axis 'colour'; known: kind"),
        ({"label": "stuck"}, f"2: label: unknown label 'stuck' of axis symptom (taxonomy {TAXONOMY.version})"),
        ({"probability": 1.5}, "2: probability: expected less than or equal to 1"),
        ({"at": "yesterday"}, "2: at: expected a valid datetime"),
        ({"at": "2026-02-02T03:04:05"}, "2: at: expected timezone info"),
        ({"how": "guess"}, "2: how: expected 'queue', 'command', 'label', 'unlabel', 'approve' or 'dismiss'"),
        ({"id": "a/b#1"}, "2: a/b#1, axis symptom: duplicate of line 1"),
        ({"url": "javascript:alert(1)"}, "2: url: expected text that matches pattern"),
        ({"body": "\ud800"}, "2: review: Invalid JSON"),
    ],
)
def test_a_line_that_is_no_review_is_named_and_nothing_is_written(
    corpus: Path, row: dict[str, Any], message: str
) -> None:
    before = (corpus / "annotations.jsonl").read_bytes()
    file = corpus.parent / "reviews.jsonl"
    lines = [
        json.dumps(review("a/b#1", "symptom", "runtime-hang")),
        json.dumps(review("a/b#2", "symptom", "runtime-hang") | row),
    ]
    with pytest.raises((CorpusError, TaxonomyError)) as refused:
        bring(corpus, *lines)
    assert str(refused.value).startswith(f"{file}:{message}")
    assert (corpus / "annotations.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"split": "test"},
            ("1: record: feedback records must not be in the test split: the maintainer had seen the model's answer"),
        ),
        (
            {"kind": None, "distributed": None, "stage": None, "symptom": None, "cause": None, "fix": None},
            "1: record: no label at all; expected",
        ),
        ({"kind": "question"}, "1: record: kind question must leave stage, symptom, cause, fix null"),
    ],
)
def test_a_feedback_record_that_breaks_the_schema(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write_lines(
        tmp_path / "annotations.jsonl", [annotation("a/b#1", origin="feedback", source="feedback") | changes]
    )
    assert read_annotations(path, TAXONOMY)[1][0].startswith(f"{path}:{message}")


def test_the_store_s_verdicts_are_what_training_reads(corpus: Path, command: Command, research: Command) -> None:
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'distriage[serve]'")
    from distriage_serving.store import Issue, Review, Store

    url = f"sqlite:///{corpus.parent / 'bot.db'}"
    with Store.open(url) as store:
        store.save_repository("owner/repo", display_name="Owner/Repo")
        for number in (7, 8):
            store.save_issue(
                Issue(
                    repository="owner/repo",
                    number=number,
                    title="A hang \ud800",
                    body="<b>",
                    author="x",
                    url="https://g/7",
                    created_at=1.7e9,
                    updated_at=1.7e9,
                )
            )
        said = [
            (7, "symptom", "setup-hang", 1.0),
            (7, "symptom", "runtime-hang", 2.0),
            (7, "stage", None, 3.0),
            (8, "symptom", "setup-hang", 4.0),
            (9, "fix", "framework-patch", 5.0),
        ]
        for number, axis, label, at in said:
            store.add_reviews(
                Review(
                    repository="owner/repo", number=number, axis=axis, label=label, who="m", how="queue", at=1.7e9 + at
                )
            )
        undone = store.reviews(issue=IssueReference("owner/repo", 8))[0]
        store.undo_reviews(undone.id)
    output = corpus.parent / "reviews.jsonl"
    assert command("reviews", "export", "--database", url, "--output", output).err == f"2 reviews in {output}\n"
    (thread,) = read_reviews(output, TAXONOMY)
    assert [(row.id, row.axis, row.label, row.who) for row in thread] == [
        ("Owner/Repo#7", "symptom", "runtime-hang", "m"),
        ("Owner/Repo#7", "stage", None, "m"),
    ]
    printed = command("reviews", "export", "--database", url)
    assert printed.out == output.read_text(encoding="utf-8")
    assert ReviewRecord.model_validate_json(printed.out.splitlines()[0]).title == "A hang \ufffd"
    done = research("corpus", "import-reviews", output, "--corpus", corpus, "--texts", corpus.parent / "texts.jsonl")
    assert done.out.endswith("1 new or changed; left out: 0 withheld, 0 annotated already, 0 without a label\n")
    assert list(records(corpus)) == ["Owner/Repo#7"]


def test_no_database_is_made_where_there_is_none(command: Command, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'distriage[serve]'")
    assert_one_line(
        command("reviews", "export", "--database", f"sqlite:///{tmp_path / 'none.db'}"), "none.db: no such file"
    )
    assert list(tmp_path.iterdir()) == []
