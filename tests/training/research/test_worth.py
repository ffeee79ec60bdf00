"""The weights of questions and checks: fitted again, they are those in the wheel."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distriage.answer.worth import CHECK, QUESTION, fits
from distriage.classifier import Classifier
from distriage_research.verdicts import worth
from distriage_training.corpus.jsonl import read_jsonl

from support.command_line import Command
from support.toys import write_lines

TEXT = {"id": "a/b#1", "title": "Training with DeepSpeed 0.18.2 hangs", "body": "It stops after 100 steps on 8 GPUs."}


def known() -> list[dict[str, object]]:
    return [row for _, row in read_jsonl(worth.JUDGED)]


def test_fitting_again_gives_the_file_of_the_wheel() -> None:
    assert worth.as_toml(worth.fitted(known())) == worth.WEIGHTS.read_text(encoding="utf-8")


def test_the_cut_holds_what_it_promises_on_held_out_reports() -> None:
    # Readers judged nine of the questions, and refused one.
    for kind, wanted, unwanted, by_readers in ((QUESTION, 0.92, 0.08, 0.88), (CHECK, 0.8, 0.05, 0.8)):
        lines = worth.Judgements(kind, known())
        shown = lines.today & (lines.held_out() >= fits()[kind].least)
        judged = lines.today & lines.by_readers
        assert (shown & judged).sum() == pytest.approx(worth.STAY[kind] * judged.sum(), abs=1)
        assert lines.approved[shown].mean() >= wanted and lines.refused[shown].mean() <= unwanted
        assert lines.approved[shown & judged].mean() >= by_readers


def test_a_regression_finds_the_weights_that_made_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "PENALTY", 1e-6)
    rng = np.random.default_rng(3)
    x = rng.normal(2, 3, (20_000, 2))
    y = 1 / (1 + np.exp(-(0.5 + x @ [1.0, -0.4])))
    count = np.where(x[:, 0] > 0, 1.0, 0.5)
    bias, weights = worth.regression(x, y, count)
    assert weights == pytest.approx([1.0, -0.4], abs=0.05) and bias == pytest.approx(0.5, abs=0.1)


def test_new_judgements_are_measured_and_fitted(
    research: Command, shipped_classifier: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del shipped_classifier  # skips the test where no model is shipped
    mine, weights = tmp_path / "worth.jsonl", tmp_path / "worth.toml"
    mine.write_bytes(worth.JUDGED.read_bytes())
    monkeypatch.setattr(worth, "JUDGED", mine)
    monkeypatch.setattr(worth, "WEIGHTS", weights)
    readings = [
        write_lines(
            tmp_path / f"reader{number}.jsonl",
            [
                {
                    "id": TEXT["id"],
                    "questions": [{"fact": "error", "judgement": said}],
                    "checks": [{"check": "Run it.", "judgement": found}],
                }
            ],
        )
        for number, (said, found) in enumerate((("sensible", "useful"), ("answered", "generic")))
    ]
    texts = write_lines(tmp_path / "texts.jsonl", [TEXT])
    done = research("worth", *readings, "--texts", texts)
    assert done.code == 0 and "| questions, all | 994 |" in done.out
    last = json.loads(mine.read_text(encoding="utf-8").splitlines()[-1])
    assert last["id"] == TEXT["id"]
    assert (last["questions"], last["checks"]) == ([["error", 0.5, True]], [[0.5, 0.0, True]])
    assert last["measures"]["known"] == 1.0 and set(last["measures"]) <= set(worth.MEASURES)
    assert weights.read_text(encoding="utf-8").startswith("# Written by `python training/research worth`")
    assert "no text" in research("worth", readings[0]).err

    again = write_lines(tmp_path / "again.jsonl", [{**TEXT, "title": "It hangs"}])
    assert research("worth", "--texts", again).code == 0
    other = json.loads(mine.read_text(encoding="utf-8").splitlines()[-1])
    assert other["id"] == TEXT["id"] and "known" not in other["measures"]
