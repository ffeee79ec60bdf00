"""The weights of versions without a name: fitted again, they are those in the wheel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distriage_research.verdicts import versions
from distriage_research.verdicts.worth import as_toml
from distriage_training.corpus.jsonl import read_jsonl

from support.command_line import Command
from support.toys import write_lines


def known() -> list[dict[str, object]]:
    return [row for _, row in read_jsonl(versions.JUDGED)]


def test_fitting_again_gives_the_file_of_the_wheel() -> None:
    assert as_toml(versions.fitted(known()), "versions") == versions.WEIGHTS.read_text(encoding="utf-8")


def test_nine_of_ten_versions_are_right_where_a_repository_was_not_seen() -> None:
    rows = known()
    right, wrong, missed = versions.outcomes(rows, versions.held_out(rows), versions.LEAST)
    assert right / (right + wrong) > 0.89 and right / (right + missed) > 0.7


def test_a_judged_report_is_measured_and_fitted(
    research: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, weights = tmp_path / "versions.jsonl", tmp_path / "weights.toml"
    some = versions.JUDGED.read_text("utf-8").splitlines(keepends=True)[::10]  # all take four seconds to fit
    mine.write_text("".join(some), "utf-8")
    monkeypatch.setattr(versions, "JUDGED", mine)
    monkeypatch.setattr(versions, "WEIGHTS", weights)
    body = "Wizard version: 0.6.1, Python 3.11"
    row = {"id": "acme/wizard#7", "title": "It hangs", "body": body, "versions": ["0.6.1"], "judged_by": "reader"}
    done = research("versions", "--texts", write_lines(tmp_path / "texts.jsonl", [row]))

    last = json.loads(mine.read_text("utf-8").splitlines()[-1])
    assert [(one["value"], one["titled"]) for one in last["mentions"]] == [("0.6.1", False), ("3.11", False)]
    assert done.code == 0 and "| from | right | wrong | missed |" in done.out
    assert body not in mine.read_text("utf-8")
    assert "[commit.weights]" in weights.read_text("utf-8")
