"""`readers`: the model, a second reader and both together on annotated reports."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from distriage_research.verdicts.readers import SecondReaderResult

from support.command_line import Command, Finished, assert_one_line
from support.reader import WORDS, answered, calibration_file, options
from support.toys import annotation, write_config, write_corpus, write_lines

COUNT = 30  # validation reports: the first ten raw, the others restated; every fifth is `oom`, the model's favourite


@pytest.fixture
def measure(research: Command, keyword_bundle: Path, tmp_path: Path) -> Callable[..., Finished]:
    rows = [
        annotation("a/b#1", symptom="oom", fix="tuning"),
        annotation("a/b#2", symptom="leak", fix="patch"),
        annotation("a/b#3", kind="question", **dict.fromkeys(("stage", "symptom", "cause", "fix"))),
    ]
    for n in range(COUNT):
        origin = "raw" if n < 10 else "restated"
        changes = {"split": "validation", "origin": origin, "symptom": "leak" if n % 5 else "oom", "fix": "patch"}
        rows.append(annotation(f"c/d#{n + 1}", **changes))
    texts = {str(row["id"]): (f"Strange {n}", f"{WORDS} why at step {n}.") for n, row in enumerate(rows)}
    write_corpus(tmp_path / "corpus", rows, {row["id"]: texts[row["id"]] for row in rows if row["origin"] != "raw"})
    raw = [{"id": row["id"], "title": texts[row["id"]][0], "body": texts[row["id"]][1]} for row in rows]
    write_lines(tmp_path / "texts.jsonl", [text for text, row in zip(raw, rows, strict=True) if row["origin"] == "raw"])
    data = {"corpus": str(tmp_path / "corpus"), "texts": str(tmp_path / "texts.jsonl"), "limit": None}
    config = write_config(tmp_path / "run.toml", data=data)

    def run(*more: object) -> Finished:
        return research("readers", config, "--output", tmp_path / "out", "--model", keyword_bundle, *more)

    return run


def rows_of(text: str) -> list[list[str]]:
    """The cells of the table of both readers."""
    found = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()]
    return [row for row in found if row[0] in {"raw", "restated", "all"}]


def test_questions_then_figures_by_origin(measure: Callable[..., Finished], tmp_path: Path) -> None:
    asked = measure("--reader-model", "m")
    requests = tmp_path / "out" / "requests.jsonl"
    assert asked.code == 0, asked.err
    assert f"{COUNT} questions to m have no answer: {requests}" in re.sub(r"\s+", " ", asked.err)
    assert rows_of(asked.out) == [] and not (tmp_path / "out" / "figures.json").exists()
    lines = requests.read_text(encoding="utf-8")
    assert len(lines.splitlines()) == COUNT

    last = lines.splitlines()[-1]
    answers = answered(tmp_path, lines.replace(last + "\n", ""), lambda _: "leak")
    reader = ("--reader-model", "m", "--reader-answers", answers)
    done = measure(*reader, "--reader-calibration", calibration_file(tmp_path))
    assert requests.read_text(encoding="utf-8") == last + "\n"
    assert "Second reader m: 29 of 30 questions answered." in done.out
    rows = {(row[0], row[1]): row[2:] for row in rows_of(done.out)}
    # The model prefers `oom` by a hair, and gives no label; the second reader says `leak` to all but the last report.
    assert rows["raw", "symptom"] == [
        "10", "0.200", "0.800 (100%)", "**0.800**", "1.000",
        "none (0%)", "0.80 (100%)", "none (0%)", "none (0%)",
    ]  # fmt: skip
    assert rows["restated", "symptom"] == [
        "20", "0.200", "0.789 (95%)", "**0.750**", "0.950",
        "none (0%)", "0.79 (95%)", "none (0%)", "none (0%)",
    ]  # fmt: skip
    assert rows["all", "symptom"][0] == "30"
    assert {group for group, _ in rows} == {"raw", "restated", "all"}
    found = SecondReaderResult.model_validate_json((tmp_path / "out" / "figures.json").read_bytes())
    assert (found.questions, found.unanswered) == (30, 1)


def test_without_a_calibration_nothing_more_is_given(measure: Callable[..., Finished], tmp_path: Path) -> None:
    measure("--reader-model", "m")
    answers = answered(tmp_path, (tmp_path / "out" / "requests.jsonl").read_text(encoding="utf-8"), lambda _: "leak")
    done = measure("--reader-model", "m", "--reader-answers", answers)
    (row,) = [row for row in rows_of(done.out) if row[:2] == ["all", "symptom"]]
    assert row[5] == "**0.800**" and row[7:] == ["none (0%)"] * 4


def test_it_is_the_same_as_the_comparison_of_the_library(
    measure: Callable[..., Finished], command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    measure("--reader-model", "m")
    answers = answered(tmp_path, (tmp_path / "out" / "requests.jsonl").read_text(encoding="utf-8"), lambda _: "leak")
    calibrated = ("--reader-calibration", calibration_file(tmp_path))
    done = measure("--reader-model", "m", "--reader-answers", answers, *calibrated)
    reports = write_lines(
        tmp_path / "reports.jsonl",
        (
            {
                "title": f"Strange {n + 3}",
                "body": f"{WORDS} why at step {n + 3}.",
                "labels": {"kind": "bug", "symptom": "leak" if n % 5 else "oom", "fix": "patch"},
            }
            for n in range(COUNT)
        ),
    )
    other = command("second-reader", "evaluate", reports, answers, *calibrated, *options(keyword_bundle))
    theirs = [re.split(r"  +", line.strip()) for line in other.out.splitlines()[1:]]
    ours = [row for row in rows_of(done.out) if row[0] == "all"]
    assert len(ours) == len(theirs) == 3
    for mine, row in zip(ours, theirs, strict=True):
        assert [cell.strip("*") for cell in mine[:7]] == [cell.replace("nan (0%)", "none") for cell in row[:7]]


def test_answers_that_are_not_there_are_refused(measure: Callable[..., Finished], tmp_path: Path) -> None:
    assert_one_line(
        measure("--reader-model", "m", "--reader-answers", tmp_path / "none.jsonl"), "none.jsonl: cannot be read"
    )
