"""The file of past issues: what is none of ours, or was damaged, is refused in one line and stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import InputError, NotFoundError
from distriage.github.history import load_history, read_history
from distriage.past.issue import read_issues

from support.past_issues import REPOSITORY, past_issue

HEADER = {"format": 1, "repository": REPOSITORY, "fetched_at": 1.7e9}
ISSUE = past_issue(1, "It fails", ["bug"])


class OnePage:
    """In place of `Client`: a repository with one issue and no forms."""

    api = "https://api.example.com"

    def get(self, path: str, **_: object) -> None:
        raise NotFoundError(path, 404)

    def pages(self, *_: object) -> Iterator[tuple[list[dict[str, Any]], None]]:
        yield [ISSUE], None


def read(file: Path) -> int:
    return len(read_history(OnePage(), REPOSITORY, file, None, lambda _: None).issues)  # type: ignore[arg-type]


def page(next_: object = None, **changes: Any) -> dict[str, Any]:
    return {"items": [{**ISSUE, **changes}], "next": next_}


def test_the_file_says_what_became_of_an_issue_for_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "h.jsonl"
    monkeypatch.setitem(ISSUE, "state", "closed")
    monkeypatch.setitem(ISSUE, "state_reason", "completed")
    read(file)
    (issue,) = [kept for kept, _ in read_issues(str(file))]
    assert (issue.state, issue.closed_by) == ("closed", "completed")


@pytest.mark.parametrize(
    "rows",
    [
        [HEADER, [1]],
        [HEADER, {"items": [None], "next": None}],
        [HEADER, {"items": [ISSUE]}],
        [HEADER, page(3)],
        [HEADER, page({"page": 2})],
        [HEADER, page(labels=5)],
        [HEADER, page(labels="bug")],
        [HEADER, page(user="ghost")],
        [[1], page()],
        [{**HEADER, "repository": 3}, page()],
        [{**HEADER, "fetched_at": float("nan")}, page()],
        [{**HEADER, "fetched_at": 1e300}, page()],
    ],
)
def test_a_damaged_file_is_refused_and_kept(tmp_path: Path, rows: list[object]) -> None:
    file = tmp_path / "issues.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    before = file.read_bytes()
    for call in (load_history, read):
        with pytest.raises(InputError, match=r"issues\.jsonl: not a history"):
            call(file)
    assert file.read_bytes() == before


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    file = tmp_path / "issues.jsonl"
    file.write_text(json.dumps({**HEADER, "format": 2}) + "\n")
    for call in (load_history, read):
        with pytest.raises(InputError, match="format 2; this Distriage reads 1"):
            call(file)


@pytest.mark.parametrize("text", ["my only notes", "notes\nof mine", "\n", '{"format": "mine"}'])
def test_a_file_of_somebody_elses_is_not_written_over(tmp_path: Path, text: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(text)
    with pytest.raises(InputError, match=r"notes\.txt"):
        read(file)
    assert file.read_text() == text


@pytest.mark.parametrize("text", ["", '{"format": 1, "repo', '{"form'])
def test_a_header_that_broke_off_is_written_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "issues.jsonl"
    file.write_text(text)
    assert read(file) == 1 and load_history(file)[0] == REPOSITORY


@pytest.mark.parametrize("date", [None, [1], "yesterday", "0001-01-01", "9999-12-31T23:59:59-23:59"])
def test_a_date_that_cannot_be_shown_is_unknown(tmp_path: Path, date: object) -> None:
    file = tmp_path / "issues.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in (HEADER, page(created_at=date))))
    assert load_history(file)[1].issues[0].created_at == 0


@pytest.mark.parametrize(("limit", "complete"), [(None, True), (2, True), (1, False)])
def test_a_limit_below_what_the_file_holds_leaves_older_issues_out(
    tmp_path: Path, limit: int | None, complete: bool
) -> None:
    file = tmp_path / "issues.jsonl"
    both = {"items": [past_issue(2, "It hangs", []), ISSUE], "next": None}
    file.write_text("".join(f"{json.dumps(row)}\n" for row in (HEADER, both)))
    history = read_history(OnePage(), REPOSITORY, file, limit, lambda _: None)  # type: ignore[arg-type]
    assert history.complete is complete and history.issues[-1].number == 2
