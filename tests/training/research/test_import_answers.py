"""`python training/research corpus import-answers`: labels of a calibrated second reader become training records."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from distriage.base.errors import CorpusError
from distriage.model.bundle import thread_digest
from distriage.model.taxonomy import Taxonomy, default_taxonomy, parse_taxonomy
from distriage.second_reader.request import NONE_OF_THESE
from distriage_research.corpus.reviews import import_reviews, split_of
from distriage_research.corpus.view import print_stats
from distriage_training.config import TrainingConfig
from distriage_training.corpus.load import known_issues, load_records
from distriage_training.corpus.records import read_annotations
from distriage_training.fit.examples import targets
from distriage_training.study.sources import read_corpus

from support.command_line import Command, Finished, assert_one_line
from support.examples import load
from support.keyword_model import TAXONOMY
from support.reader import WORDS, answered, calibration_file, options
from support.toys import annotation, review, texts, write_config, write_corpus, write_lines

TOY = parse_taxonomy(TAXONOMY, "toy")
LABELS = {"symptom": "oom", "fix": "patch"}  # of the toy taxonomy
NONE = Path("none.jsonl")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Readings in all splits, and a review."""
    rows = [
        annotation("Owner/Repo#1", split="test", **LABELS),
        annotation("owner/repo#2", split="validation", framework="ray", **LABELS),
        annotation("owner/repo#3", framework="ray", **LABELS),
        annotation("owner/repo#4", origin="feedback", source="feedback", framework="ray", **LABELS),
    ]
    write_lines(tmp_path / "texts.jsonl", texts(["Owner/Repo#1"]))
    return write_corpus(tmp_path / "corpus", rows)


def reports(folder: Path, identifiers: Sequence[object]) -> Path:
    rows = [
        {"id": identifier, "title": f"Strange {n}", "body": f"{WORDS} why at step {n}."}
        for n, identifier in enumerate(identifiers)
    ]
    return write_lines(folder / "reports.jsonl", rows)


def leak(_: str) -> str:
    return "leak"


@pytest.fixture
def bring(command: Command, research: Command, keyword_bundle: Path, corpus: Path) -> Callable[..., Finished]:
    """Export, answer and import reports with these ids."""

    def run(identifiers: Sequence[object], said: Callable[[str], str] = leak, *more: object) -> Finished:
        folder, model = corpus.parent, options(keyword_bundle)
        file = reports(folder, identifiers)
        exported = command("second-reader", "export", file, *model)
        answers = answered(folder, exported.out, said)
        places = ("--corpus", corpus, "--texts", folder / "texts.jsonl")
        calibrated = ("--reader-calibration", calibration_file(folder))
        return research("corpus", "import-answers", file, answers, *calibrated, *model, *places, *more)

    return run


def records(corpus: Path, taxonomy: Taxonomy = TOY) -> dict[str, Any]:
    found, problems = read_annotations(corpus / "annotations.jsonl", taxonomy)
    assert problems == []
    return {record.id: record for _, record in found if record.origin == "second-reader"}


def test_labels_that_are_sure_enough_become_training_records(corpus: Path, bring: Callable[..., Finished]) -> None:
    before = (corpus / "annotations.jsonl").read_bytes()
    said = {0: "leak", 1: NONE_OF_THESE}
    done = bring(["owner/repo#7", "x/y#8"], lambda line: said[int("at step 1." in line)])
    assert done.out == (
        "1 records for train; 1 new or changed; left out: 0 in validation or test, 0 withheld, 0 annotated already, "
        "0 without an answer, 1 without a label that is sure enough\n"
    )
    (found,) = records(corpus).values()
    assert (found.id, found.source, found.split, found.framework) == ("owner/repo#7", "second-reader", "train", "ray")
    assert found.url == "https://github.com/owner/repo/issues/7"
    # The calibration knows symptoms only; kind is the first reader's, and no label of it.
    assert [found.label(axis) for axis in ("kind", "stage", "symptom", "cause", "fix")] == [
        None, None, "leak", None, None,
    ]  # fmt: skip
    loaded, _ = load_records(corpus, corpus.parent / "texts.jsonl", TOY)
    (record,) = [record for record in loaded if record.origin == "second-reader"]
    assert (record.title, dict(record.labels)) == ("Strange 0", {"symptom": "leak"})
    assert (corpus / "annotations.jsonl").read_bytes().startswith(before)


def test_what_the_corpus_holds_and_what_is_withheld_is_left_out(
    corpus: Path, bring: Callable[..., Finished], tmp_path: Path
) -> None:
    withheld = tmp_path / "withheld.txt"
    withheld.write_text(thread_digest("owner/repo#9") + "\n", encoding="utf-8")
    before = (corpus / "annotations.jsonl").read_bytes()
    done = bring([f"Owner/repo#{n}" for n in (1, 2, 3, 4, 9)], leak, "--withheld", withheld)
    assert done.out == (
        "0 records for train; 0 new or changed; left out: 2 in validation or test, 1 withheld, 2 annotated already, "
        "0 without an answer, 0 without a label that is sure enough\n"
    )
    assert (corpus / "annotations.jsonl").read_bytes() == before


def test_a_surer_mode_accepts_less(bring: Callable[..., Finished]) -> None:
    done = bring(["owner/repo#7"], leak, "--mode", "precise")  # the calibration promises nothing for it
    assert "0 records for train" in done.out and "1 without a label that is sure enough" in done.out
    assert "0 without an answer, 0 without a label" in bring(["owner/repo#7"]).out


def test_a_second_call_changes_nothing(corpus: Path, bring: Callable[..., Finished]) -> None:
    bring(["owner/repo#7", "owner/repo#8"])
    files = [corpus / "annotations.jsonl", corpus.parent / "texts.jsonl"]
    before = [file.read_bytes() for file in files]
    assert bring(["owner/repo#7", "owner/repo#8"]).out.startswith("2 records for train; 0 new or changed;")
    assert [file.read_bytes() for file in files] == before
    assert bring(["owner/repo#8"], lambda _: "oom").out.startswith("1 records for train; 1 new or changed;")
    assert {key: record.symptom for key, record in records(corpus).items()} == {
        "owner/repo#7": "leak",
        "owner/repo#8": "oom",
    }


def test_an_answer_that_is_no_longer_sure_takes_its_record_along(corpus: Path, bring: Callable[..., Finished]) -> None:
    bring(["owner/repo#7", "owner/repo#8"])
    for changed in (1, 0):
        done = bring(["Owner/repo#7"], lambda _: NONE_OF_THESE)
        assert done.out.startswith(f"0 records for train; {changed} new or changed;")
    assert list(records(corpus)) == ["owner/repo#8"]


@pytest.mark.parametrize(
    ("identifiers", "message"),
    [
        (["a/b#1", "r2"], "reports.jsonl:2: id: 'r2'; expected owner/repo#number"),
        (["a/b#1", 7], "reports.jsonl:2: id: '7'; expected owner/repo#number"),
        (["microsoft/DeepSpeed#1", "deepspeedai/deepspeed#1"], "reports.jsonl:2: id: deepspeedai/deepspeed#1 is the"),
    ],
)
def test_a_report_without_a_thread_of_its_own_is_named_and_nothing_is_written(
    corpus: Path, bring: Callable[..., Finished], identifiers: list[object], message: str
) -> None:
    before = (corpus / "annotations.jsonl").read_bytes()
    assert_one_line(bring(identifiers), message)
    assert (corpus / "annotations.jsonl").read_bytes() == before


def test_a_calibration_is_needed(research: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    file = reports(tmp_path, ["a/b#1"])
    done = research("corpus", "import-answers", file, file, *options(keyword_bundle))
    assert done.code == 2 and "--reader-calibration" in done.err


# ---------------------------------------------------------------- the records in the corpus


@pytest.mark.parametrize("split", ["validation", "test"])
def test_no_such_record_is_measured_with(tmp_path: Path, split: str) -> None:
    row = annotation("a/b#1", origin="second-reader", source="second-reader", split=split)
    corpus = write_corpus(tmp_path, [row])
    with pytest.raises(
        CorpusError, match=rf"annotations\.jsonl:1: .*a/b#1: labels of a second reader .* not in {split}"
    ):
        load_records(corpus, NONE, default_taxonomy())


def test_a_review_outranks_a_second_reader_and_stays_in_train(tmp_path: Path) -> None:
    thread = next(f"a/b#{n}" for n in range(1, 99) if split_of(f"a/b#{n}") == "validation")
    row = annotation(thread, origin="second-reader", source="second-reader", kind=None, distributed=None)
    corpus = write_corpus(tmp_path / "corpus", [row])
    file = write_lines(tmp_path / "reviews.jsonl", [review(thread, "symptom", "setup-hang")])
    for changed in (1, 0):
        done = import_reviews(file, corpus, tmp_path / "texts.jsonl", default_taxonomy())
        assert (done.train, done.validation, done.changed, done.annotated) == (1, 0, changed, 0)
    (only,) = [record for _, record in read_annotations(corpus / "annotations.jsonl", default_taxonomy())[0]]
    assert (only.origin, only.symptom, only.cause, only.split) == ("feedback", "setup-hang", None, "train")


@pytest.fixture
def taught_config(tmp_path: Path) -> Path:
    """A configuration whose training records are three readings and one of a second reader."""
    changed = {"stage": "inference", "symptom": "native-crash", "cause": "data-defect", "fix": "environment-repair"}
    rows = [
        annotation("a/b#1"),
        annotation("a/b#2", distributed=False, **changed),
        annotation("a/b#3", kind="question", **dict.fromkeys(changed)),
        annotation("a/b#4", split="validation"),
        annotation("a/b#5", origin="second-reader", source="second-reader"),
    ]
    write_corpus(tmp_path / "corpus", rows)
    write_lines(tmp_path / "texts.jsonl", texts([row["id"] for row in rows]))
    data = {"corpus": str(tmp_path / "corpus"), "texts": str(tmp_path / "texts.jsonl"), "limit": None}
    return write_config(tmp_path / "run.toml", data=data)


def test_its_source_has_a_weight_and_it_is_no_known_issue(taught_config: Path) -> None:
    taxonomy = default_taxonomy()
    splits = load(taught_config)
    (taught,) = [record for record in splits.train if record.origin == "second-reader"]
    assert [record.id for record in known_issues(splits.train, taxonomy)] == ["a/b#1", "a/b#2"]
    ((_, weights),) = targets(taught, taxonomy, TrainingConfig(label_weights={"second-reader": {"symptom": 0.25}}))
    assert dict(zip(taxonomy.axes, weights, strict=True)) == dict.fromkeys(taxonomy.axes, 1.0) | {"symptom": 0.25}
    faults = read_corpus(taught_config.parent / "corpus", taxonomy, {}).faults
    assert [fault.id for fault in faults] == ["a/b#1", "a/b#2", "a/b#3", "a/b#4"]


def test_the_statistics_show_the_origin(tmp_path: Path) -> None:
    row = annotation("a/b#2", origin="second-reader", source="second-reader")
    out = io.StringIO()
    print_stats(Console(file=out, width=100), write_corpus(tmp_path, [annotation("a/b#1"), row]), default_taxonomy())
    assert [line.split() for line in out.getvalue().splitlines() if line.startswith("second-reader")] == [
        ["second-reader", "1", "0", "0", "1"]
    ]
