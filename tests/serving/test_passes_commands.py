# ruff: noqa: F401, F811  # fixtures
"""Action and backfill: a report goes through the model once, with past issues on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from distriage.classifier import Classifier

from support import past_index
from support.action import Act, act, double, runner
from support.command_line import Command
from support.counting import Counting, passes
from support.databases import new_sqlite
from support.github import GitHub

NEW = "owner/repo#9"


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


def test_the_action_reads_an_issue_once(
    double: GitHub, act: Act, shipped_bundle: Path, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    double.open(NEW, past_index.TITLE, past_index.BODY)
    double.files["owner/repo/.github/distriage.yml"] = "name-duplicates: true\n"
    file = past_index.write_asked_before(tmp_path / "past", Classifier(shipped_bundle, threads=1))
    monkeypatch.setattr("distriage_serving.action.run.Classifier", partial(Counting, calls=calls))
    assert act(model=str(shipped_bundle), issue_number="9", past_issues=str(file)) == 0
    assert any(write.path.endswith("/comments") for write in double.written)
    assert passes(calls) == 1


def test_backfill_reads_an_issue_once(
    github: GitHub, command: Command, shipped_bundle: Path, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    github.files["owner/repo/.github/distriage.yml"] = "name-duplicates: true\n"
    github.open("owner/repo#1", past_index.TITLE, past_index.BODY)
    github.open(NEW, past_index.TITLE, past_index.BODY)
    given = ("backfill", "owner/repo", "--database", new_sqlite(tmp_path / "a.db"), "--model", shipped_bundle)
    monkeypatch.setattr("distriage.classifier.Classifier", partial(Counting, calls=calls))
    assert command(*given, "--past").code == 0 and passes(calls) == 2
    assert command(*given, "--comments").code == 0 and passes(calls) == 4
    assert any(write.path.endswith("/issues/9/comments") for write in github.written)
