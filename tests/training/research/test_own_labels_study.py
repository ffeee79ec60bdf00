"""`own-labels`: the figures of `learn`, TF-IDF and SetFit on later issues."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[train]'")

from distriage_research.experiments import contrastive, own_labels
from distriage_training.fit.encoder import PACKAGE

from support.command_line import Command, assert_one_line
from support.past_issues import REPOSITORY, WORDS, plain_history, write_history

KINDS = ["encoder and words", "TF-IDF"]


def table(file: Path, count: int) -> Path:
    """A table as NLBSE'24 has it, labels told by their words."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["repo", "created_at", "label", "title", "body"])
        for number in range(count):
            label = list(WORDS)[number % 3]
            rows.writerow([REPOSITORY, "2024-01-01 00:00:00", label, f"{WORDS[label]} {number}", WORDS[label]])
    return file


def test_later_issues_and_published_tables(research: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    history = write_history(tmp_path / "history.jsonl", plain_history())
    tables = (table(tmp_path / "train.csv", 60), table(tmp_path / "test.csv", 30))
    options = ("--model", keyword_bundle, "--output", tmp_path / "out", "--nlbse", *tables)
    finished = research("own-labels", history, *options)
    assert finished.code == 0, finished.err
    figures = json.loads((tmp_path / "out" / "own-labels.json").read_text(encoding="utf-8"))
    assert [row["features"] for row in figures["by_date"]] == KINDS
    for row in figures["by_date"]:
        assert (row["labels"], row["issues"], row["covered"]) == (3, 60, 60)
        assert row["right"] == row["given"] == 60 and row["micro_f1"] == 1
    (taken,) = (row["features"] for row in figures["by_date"] if row["chosen"])
    assert f"| {taken} * |" in finished.out and "| all | as `learn` chooses |  | 1.000 | 60/60 |" in finished.out
    assert figures["published"] == {name: {REPOSITORY: 1.0} for name in (*KINDS, "as `learn` chooses")}
    assert "| all | TF-IDF |  | 1.000 | 60/60 |" in finished.out and "| TF-IDF | 1.000 | 1.0000 |" in finished.out


def test_a_table_without_the_columns_is_refused(research: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    history = write_history(tmp_path / "history.jsonl", plain_history())
    wrong = tmp_path / "train.csv"
    wrong.write_text("a,b\n1,2\n", encoding="utf-8")
    finished = research("own-labels", history, "--model", keyword_bundle, "--nlbse", wrong, wrong)
    assert_one_line(finished, "train.csv: no column 'repo', 'label', 'title', 'body'; columns: a, b")
    finished = research("own-labels", history, "--model", keyword_bundle, "--nlbse", tmp_path / "none", wrong)
    assert_one_line(finished, "No such file")


@pytest.mark.slow
def test_setfit_sees_no_issue_that_the_heads_are_asked_about(
    keyword_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("setfit", reason="needs SetFit: pip install -r training/research/requirements.txt")
    from distriage.classifier import Classifier

    monkeypatch.setattr(contrastive, "STEPS", 1)
    monkeypatch.setattr(own_labels, "MAX_TOKENS", 16)
    asked: list[str] = []
    fine_tuned = contrastive.fine_tuned

    def noted(source: str, tokens: int, texts: list[str], *rest: Any) -> Any:
        asked.extend(texts)
        return fine_tuned(source, tokens, texts, *rest)

    monkeypatch.setattr(contrastive, "fine_tuned", noted)
    history = write_history(tmp_path / "history.jsonl", plain_history(120))
    classifier = Classifier(keyword_bundle, threads=1)
    rows = own_labels.by_date(classifier, [history], setfit=True, note=lambda _: None)
    assert [row.features for row in rows] == [*KINDS, "SetFit, same base"]
    assert rows[-1].issues == 24
    first = [issue["title"] for issue in plain_history(120)[: int(0.4 * 96)]]
    assert asked and all(any(text.startswith(f"{title} ") for title in first) for text in asked)


@pytest.mark.slow
def test_an_encoder_without_unlike_texts_stays_as_it_was() -> None:
    pytest.importorskip("setfit", reason="needs SetFit: pip install -r training/research/requirements.txt")
    texts = ["It hangs.", "It hangs again.", "All ranks wait."]
    tuned, plain = (contrastive.fine_tuned(PACKAGE, 16, texts, labels, 7) for labels in ([[1, 0]] * 3, [0, 0, 0]))
    assert np.array_equal(contrastive.vectors(tuned, texts), contrastive.vectors(plain, texts))
    assert contrastive.fine_tuned(PACKAGE, 16, [], [], 7).max_seq_length == 16
