"""Readers' judgements of facts, questions and checks: the file, and the table of shares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import CorpusError
from distriage_training.corpus.load import PUBLIC
from distriage_training.measure.advice import advice_table, read_advice

from support.toys import CORPUS, REPOSITORY, write_lines

CHECK = "Run `py-spy dump`."


def judged(place: str = "a/b#1", reader: str = "reader 1", **changes: Any) -> dict[str, Any]:
    return {
        "id": place,
        "reader": reader,
        "code": "1a2b3c4",
        "origin": "raw",
        "embarrassing": False,
        "facts": [{"fact": "torch", "judgement": "right"}],
        "missed": [],
        "questions": [],
        "checks": [{"check": CHECK, "judgement": "useful"}],
        **changes,
    }


def row(table: str, name: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][2:]


def test_two_readers_of_an_item_count_once_by_the_mean_of_their_words(tmp_path: Path) -> None:
    absurd = [{"check": CHECK, "judgement": "absurd"}]
    lines = [
        judged(),
        judged(reader="reader 2", checks=absurd, missed=[{"fact": "cuda", "value": "12.8"}], note="no Python"),
        judged("a/b#2", origin="restated", checks=[], facts=[], embarrassing=True),
    ]
    table = advice_table(read_advice(write_lines(tmp_path / "advice.jsonl", lines)))
    assert "all: 2 reports, 2 readers | raw: 1 reports, 2 readers | restated: 1 reports, 1 reader" in table
    assert row(table, "checks useful") == ["50% (0% to 79%), 1", "50% (0% to 79%), 1", ""]
    assert row(table, "facts right")[0].startswith("100% (") and row(table, "questions sensible") == ["", "", ""]
    assert [cell.partition(" ")[0] for cell in row(table, "embarrassing reports")] == ["50%", "0%", "100%"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"checks": [{"check": CHECK, "judgement": "good"}]}, "'useful', 'generic' or 'absurd'"),
        ({"origin": "copied"}, "'raw' or 'restated'"),
        ({"embarrassing": None}, "embarrassing"),
    ],
)
def test_a_wrong_word_is_named_with_its_line(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = write_lines(tmp_path / "advice.jsonl", [judged(), judged("a/b#2", **changes)])
    with pytest.raises(CorpusError, match=r"advice\.jsonl:2: ") as error:
        read_advice(path)
    assert said in str(error.value)


def test_a_reader_judges_a_report_once(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="reader 1 judged a/b#1 before"):
        read_advice(write_lines(tmp_path / "advice.jsonl", [judged(), judged()]))


def test_the_page_on_limits_has_the_table_of_the_judgements() -> None:
    table = advice_table(read_advice(CORPUS / "advice.jsonl"))
    assert table in (REPOSITORY / "docs" / "limits.md").read_text("utf-8"), f"docs/limits.md: put this in:\n{table}"


def test_nothing_of_a_report_is_in_the_file() -> None:
    keys = {"id", "reader", "model", "code", "origin", "facts", "missed", "questions", "checks", "embarrassing"}
    for line in (CORPUS / "advice.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        assert record.keys() <= keys and record["origin"] in PUBLIC, record["id"]
        assert all(item.keys() <= {"fact", "judgement"} for item in [*record["facts"], *record["missed"]]), record["id"]
