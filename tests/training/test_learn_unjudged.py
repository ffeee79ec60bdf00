"""Open issues that nobody has labelled yet teach nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")

from distriage.base.errors import InputError
from distriage.github.history import load_history
from distriage.github.listed import ListedIssue
from distriage_training.learn.examples import usable

from support.command_line import Command
from support.past_issues import WORDS, past_issue, plain_history, write_history


def issues(count: int) -> list[ListedIssue]:
    return [ListedIssue(number, "t", "b", "", float(number), ("bug",), False) for number in range(count)]


def test_an_open_issue_without_a_label_is_left_out_unless_it_was_reviewed() -> None:
    past = issues(104)
    past[0] = replace(past[0], is_open=True)
    past[1] = replace(past[1], labels=())  # closed without one: none was right
    for number in (2, 3, 4):
        past[number] = replace(past[number], labels=(), is_open=True)
    kept = usable(past, {3})
    assert [issue.number for issue in kept.kept][:4] == [0, 1, 3, 5] and kept.unjudged == 2
    with pytest.raises(InputError, match=r"99 issues .* judged, 3 are open and have no label; expected at least 100"):
        usable(past[:102])


def test_a_backlog_that_nobody_has_labelled_changes_no_figure(
    command: Command, keyword_bundle: Path, tmp_path: Path
) -> None:
    texts = [WORDS[label] for label in ("docs", "crash", "speed")]
    backlog = [past_issue(300 + number, texts[number % 3], (), state="open") for number in range(30)]
    said = {}
    for name, items in (("judged", plain_history()), ("all", [*plain_history(), *backlog])):
        file, folder = write_history(tmp_path / f"{name}.jsonl", items), tmp_path / name
        done = command("learn", "--issues", file, "--output", folder, "--model", keyword_bundle)
        assert done.code == 0, done.err
        said[name] = done.out.replace(str(folder), "")
    line = "left out 30 open issues without a label, not judged by anybody yet\n"
    assert line in said["all"] and said["all"].replace(line, "") == said["judged"]
    page = (tmp_path / "all" / "report.html").read_text(encoding="utf-8")
    assert "30 that are open and have no label" in page


def test_a_history_says_which_issues_are_open(tmp_path: Path) -> None:
    items = [past_issue(number, "x", (), state=state) for number, state in enumerate(("open", "closed", None))]
    _, history = load_history(write_history(tmp_path / "h.jsonl", items))
    assert [issue.is_open for issue in history.issues] == [True, False, False]
