"""`distriage study report`: what of each source is counted, corrected, replaced and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from distriage.model.taxonomy import default_taxonomy, parse_taxonomy
from distriage_training.study.faults import Fault, Origin, Source
from distriage_training.study.page import write_study
from distriage_training.study.report import study

from support.command_line import Command, assert_one_line
from support.studies import LABELS, confusions, faults, table
from support.toys import annotation, review, write_corpus, write_lines

TAXONOMY = default_taxonomy()


def test_a_study_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    """Else a paper takes the releases of another source."""
    predicted = Source("one", Origin.PREDICTED, faults(), "Made up.", "model")
    write_study(predicted, study(predicted, TAXONOMY, confusions()), tmp_path)
    written = {path.name for name in ("tables", "figures") for path in (tmp_path / name).iterdir()}
    assert {"framework-stage.csv", "release-fix.csv", "corrected-cause.csv", "corrected-cause.svg"} <= written
    (tmp_path / "tables" / "notes.csv").write_text("mine", encoding="utf-8")
    few = Source(
        "two", Origin.ANNOTATED, [Fault("a/b#1", "ray", "", {"kind": "bug", "fix": "framework-patch"})], "Made up."
    )
    write_study(few, study(few, TAXONOMY), tmp_path)
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "frequency-fix.csv",
        "frequency-fix.tex",
        "notes.csv",
    }
    pictures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert pictures == {"frequency-fix.svg", "frequency-fix-column.svg"}


def test_labels_that_do_not_apply_to_the_kind_a_person_gave_are_no_failure(command: Command, tmp_path: Path) -> None:
    rows = [review(f"a/b#{n}", axis, LABELS[axis]) for n in range(1, 31) for axis in ("symptom", "cause")]
    rows += [review(f"a/b#{n}", "kind", "question") for n in range(1, 11)]
    done = command("study", "report", write_lines(tmp_path / "r.jsonl", rows), "--output", tmp_path / "out")
    assert done.code == 0, done.err
    assert done.out.startswith("30 reports, 20 failures")
    assert [row["reports"] for row in table(tmp_path / "out", "frequency-symptom")] == ["20"]


def test_reviews_of_another_model_need_its_taxonomy_alone(
    keyword_bundle: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "r.jsonl", [review("a/b#1", "symptom", "hang")])
    done = command("study", "report", file, "--output", tmp_path / "out")
    assert_one_line(
        done, "r.jsonl:1: label: unknown label 'hang'", "reviews of another model's verdicts need its --model"
    )
    monkeypatch.delattr("distriage_training.study.run.Classifier")
    done = command("study", "report", file, "--model", keyword_bundle, "--output", tmp_path / "out")
    assert done.out.startswith("1 reports, 1 failures"), done.err


def test_figures_that_are_not_corrected_say_so(tmp_path: Path) -> None:
    others = {"symptom": "runtime-hang", "cause": "rank-desynchronization", "fix": "framework-patch"}
    counted = [*faults(30), *faults(90, stage="training-evaluation", **others)]
    source = Source("x", Origin.PREDICTED, counted, "Made up.", "model")
    page = write_study(source, study(source, TAXONOMY, confusions()), tmp_path).read_text(encoding="utf-8")
    # Cross tables, the flow, what concerns distributed use, by stage and symptom.
    assert page.count("As counted, not corrected for the model&#39;s errors.") == 3 + 1 + 2
    alone = replace(source, faults=[fault for fault in counted if fault.framework == "ray"])
    page = write_study(alone, study(alone, TAXONOMY, confusions()), tmp_path).read_text(encoding="utf-8")
    assert (
        page.count("As counted, not corrected for the model&#39;s errors.") == 3 + 1 + 2 + 4
    )  # and each axis over time


def test_a_correction_by_a_handful_of_reports_says_so(tmp_path: Path) -> None:
    """On 44 validation reports, 21 crashes of 174 failures became every second one."""
    source = Source("x", Origin.PREDICTED, faults(), "Made up.", "model")
    known, labels = confusions(), TAXONOMY.axes["stage"].label_ids
    page = write_study(source, study(source, TAXONOMY, known), tmp_path).read_text(encoding="utf-8")
    assert "validation reports: " not in page
    known["stage"][labels.index("inference")] //= 8
    page = write_study(source, study(source, TAXONOMY, known), tmp_path).read_text(encoding="utf-8")
    assert page.count(f"Labels with fewer than 10 validation reports: 1 of {len(labels)}.") == 1
    seen = {row["label"]: row["validation"] for row in table(tmp_path, "corrected-stage")}
    assert seen == {label: "5" if label == "inference" else "40" for label in labels}


def test_nothing_is_called_uncorrected_where_no_model_chose(tmp_path: Path) -> None:
    source = Source("x", Origin.ANNOTATED, faults(), "Made up.")
    page = write_study(source, study(source, TAXONOMY), tmp_path).read_text(encoding="utf-8")
    assert "not corrected" not in page and "are corrected" not in page


def test_releases_are_counted_among_the_texts_that_are_here(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # away from the texts of this checkout
    rows = [annotation(f"vllm-project/vllm#{n}", framework="vllm") for n in range(1, 101)]
    stated = {f"vllm-project/vllm#{n}": ("hangs", f"vLLM version: 0.{6 + n % 2}.0" * (n > 10)) for n in range(1, 61)}
    corpus = write_corpus(tmp_path / "corpus", rows, stated)
    done = command("study", "report", corpus, "--output", tmp_path / "out")
    assert done.code == 0, done.err
    assert "note: 40 of 100 reports have no text here" in " ".join(done.err.split())
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "50 of 60 failures whose text is here (those of 40 others are not) state a version" in page


@pytest.mark.parametrize(
    ("option", "row", "message"),
    [
        ("--split", {"title": "hangs"}, "--split goes with the corpus, found reports"),
        ("--split", {"who": "me"}, "--split goes with the corpus, found reviews"),
        ("--confidence", {"who": "me"}, "--confidence goes with the corpus, found reviews"),
        ("--origin", annotation("a/b#1"), "--origin: 'test'; expected raw, restated"),
        ("--model", annotation("a/b#1"), "--model goes with reviews, verdicts or reports, found annotations"),
        ("--limit", annotation("a/b#1"), "--limit goes with OWNER/REPO, found corpus"),
        ("--limit", {"title": "hangs"}, "--limit goes with OWNER/REPO, found reports"),
        ("--validation", {"who": "me"}, "--validation goes with labels that a model chose, found reviews"),
        ("--validation", annotation("a/b#1"), "--validation goes with labels that a model chose, found corpus"),
    ],
)
def test_an_option_that_does_not_go_with_the_source_is_refused(
    command: Command, tmp_path: Path, option: str, row: dict[str, Any], message: str
) -> None:
    source = write_lines(tmp_path / "source.jsonl", [row])
    (tmp_path / "run.toml").write_text('name = "toy"\n', encoding="utf-8")
    value = {"--validation": tmp_path / "run.toml", "--limit": 10}.get(option, "test")
    done = command("study", "report", source, option, value, "--output", tmp_path / "out")
    assert done.code == 2
    assert_one_line(done, message)


def test_a_model_without_an_axis_of_failures_cannot_be_studied(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would say that there is no failure among the reports."""
    text = 'name = "acme"\nversion = "1"\n[axis.area]\n[[area]]\nid = "install"\ndefinition = "Of it."\n'
    text += '[[area]]\nid = "run"\ndefinition = "Of it."\n'
    manifest = SimpleNamespace(name="acme")
    bundle = SimpleNamespace(path=tmp_path / "acme", taxonomy=parse_taxonomy(text, "acme"), manifest=manifest)
    monkeypatch.setattr("distriage_training.study.run.Bundle", lambda *_, **__: bundle)
    reports = write_lines(tmp_path / "reports.jsonl", [{"title": "hangs"}])
    done = command("study", "report", reports, "--output", tmp_path / "out")
    assert done.code == 2
    assert_one_line(done, "acme: axes area; expected one that requires a label of another, such as kind = bug")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file or folder; expected the corpus' folder"),
        ([{"what": 1}], "a line has what; expected the corpus' folder"),
        ([], "a line has nothing; expected"),
        ([{"title": "how", "body": ""}], "1 reports and no failure among them; nothing to study"),
        ([{"title": "hangs"}, {"title": 3}], "2: title: expected a string"),
        (
            [{"title": "hangs", "symptom": "n/a"}, {"title": "", "symptom": "oom"}],
            "2: symptom: oom is a label; expected",
        ),
        ([review("a/b#1", "cause", "x")], "1: axis: unknown axis 'cause'; known: kind, symptom, fix"),
        ([{"who": "me"}], "1: id: missing"),
        ([{"axes": {}}], "1: id: missing"),
        (['{"title": '], "1: not JSON"),
    ],
)
def test_what_is_no_source_is_refused_in_one_line(
    keyword_bundle: Path, command: Command, tmp_path: Path, content: list[Any] | None, message: str
) -> None:
    file = tmp_path / "source.jsonl"
    if content is not None:
        write_lines(file, content)
    done = command("study", "report", file, "--model", keyword_bundle, "--output", tmp_path / "out")
    assert done.code == 2
    assert_one_line(done, message)
    assert not (tmp_path / "out").exists()


def test_open_failures_of_one_cause_are_in_a_table(command: Command, shipped_bundle: Path, tmp_path: Path) -> None:
    body = "```\nShardError: rank {} lost its shard of the optimizer\n```\nvLLM 0.8.5 on two nodes with NCCL."
    rows = [
        {
            "id": f"vllm-project/vllm#{number}",
            "title": "Training crashes with ShardError",
            "body": body.format(number),
            "created": f"2024-05-0{number}",
            "state": state,
            "reactions": number,
        }
        for number, state in ((1, "open"), (2, "closed"), (3, "open"), (4, ""))
    ]
    rows.append({"title": "It hangs"})
    file = write_lines(tmp_path / "reports.jsonl", rows)
    done = command("study", "report", file, "--output", tmp_path / "out", "--model", shipped_bundle)
    assert done.code == 0, done.err
    (row,) = table(tmp_path / "out", "clusters")
    assert row == {
        "issues": "vllm-project/vllm#1 vllm-project/vllm#3 vllm-project/vllm#4",
        "title of the oldest": "Training crashes with ShardError",
        "open": "3",
        "closed": "1",
        "reactions": "8",
        "latest version": "0.8",
        "first": "2024-05-01",
        "last": "2024-05-04",
    }


def test_generated_reports_are_refused_with_the_reason(command: Command, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", [annotation("a/b#1")])
    done = command("study", "report", corpus, "--origin", "generated", "--output", tmp_path / "out")
    assert_one_line(done, "--origin: 'generated'; expected raw, restated; generated reports have no thread")


def test_a_published_file_of_a_split_is_studied(command: Command, tmp_path: Path) -> None:
    rows = [annotation(f"a/b#{n}") for n in range(1, 4)]
    for row in rows:
        del row["split"]
    file = write_lines(tmp_path / "annotations-test.jsonl", rows)
    done = command("study", "report", file, "--split", "test", "--output", tmp_path / "out")
    assert done.out.startswith("3 reports, 3 failures"), done.err
    other = write_lines(tmp_path / "annotations.jsonl", rows)
    assert_one_line(command("study", "report", other, "--output", tmp_path / "out"), ":1: split: ")
