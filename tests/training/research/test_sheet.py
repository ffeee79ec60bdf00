"""The sheet for people: blind, safe to open, and scored as it was filled in."""

from __future__ import annotations

import csv
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import distriage
from distriage.base.errors import CorpusError
from distriage.model.taxonomy import default_taxonomy
from distriage_research.corpus.sheet import score_sheets, write_sheets
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.load import load_records

from support.checkout import REPOSITORY
from support.command_line import Command
from support.toys import CORPUS, annotation, write_corpus, write_lines

READERS = tomllib.loads((CORPUS / "readers.toml").read_text(encoding="utf-8"))
TAXONOMY = default_taxonomy()
IDS = [f"a/b#{number}" for number in range(1, 11)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [annotation(identifier, origin="restated", split="test", note="the clue") for identifier in IDS]
    rows.append(annotation("a/b#99", origin="restated"))
    texts = {row["id"]: (f"=HYPERLINK({row['id']})", "It hangs\nafter, a while") for row in rows}
    return write_corpus(tmp_path / "corpus", rows, texts)


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def fill(file: Path, symptoms: dict[str, str]) -> None:
    rows = rows_of(file)
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "kind": "Bug ", "symptom": symptoms.get(row["id"], "")} for row in rows)


def test_the_sheets_are_blind_and_hold_the_same_reports_in_two_orders(corpus: Path, tmp_path: Path) -> None:
    records, _ = load_records(corpus, tmp_path / "none", TAXONOMY)
    assert write_sheets(tmp_path / "sheets", records, 8, 1, TAXONOMY) == 8
    first, second = (rows_of(tmp_path / "sheets" / f"reader-{number}.csv") for number in (1, 2))
    assert list(first[0]) == ["id", "url", "title", "body", *TAXONOMY.axes, "note"]
    assert sorted(row["id"] for row in first) == sorted(row["id"] for row in second) and first != second
    for row in (*first, *second):
        assert row["id"] in IDS and row["body"] == "It hangs\nafter, a while"
        assert row["title"] == f"'=HYPERLINK({row['id']})"  # no formula
        assert not any(row[column] for column in (*TAXONOMY.axes, "note"))
    with pytest.raises(CorpusError, match=r"reader-1\.csv: is there already"):
        write_sheets(tmp_path / "sheets", records, 8, 1, TAXONOMY)


def test_the_command_draws_and_scores(research: Command, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sheets"
    options = ("--corpus", str(corpus), "--texts", str(tmp_path / "none"))
    done = research("corpus", "sheet", str(folder), *options)
    assert done.code == 0 and done.out.startswith("10 reports in ")  # the test split has no more
    assert done.err == ""
    # 10 reports: observed agreement 8/10; by chance .5 * .5 + .5 * .5 = .5; kappa (.8 - .5) / (1 - .5) = .6
    hangs, crashes = "runtime-hang", "native-crash"
    fill(folder / "reader-1.csv", {name: hangs if place < 5 else crashes for place, name in enumerate(IDS)})
    fill(folder / "reader-2.csv", {name: hangs if 1 <= place < 6 else crashes for place, name in enumerate(IDS)})
    done = research("corpus", "sheet", str(folder), "--score", *options)
    assert done.code == 0
    found = {(row["axis"], row["first"], row["second"]): row for row in rows_of(folder / "agreement.csv")}
    between = found["symptom", "reader-1", "reader-2"]
    assert (between["reports"], between["equal"], between["kappa"]) == ("10", "0.800", "0.600")
    assert found["symptom", "reader-1", "corpus"]["equal"] == "0.500"  # the corpus says that all hang
    assert found["kind", "reader-2", "corpus"]["kappa"] == "1.000"
    assert ("cause", "reader-1", "reader-2") not in found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("runtime-hang", "hang"), r"row 2: symptom: 'hang'; expected one of .*runtime-hang"),
        (("a/b#", "c/d#"), r"row 2: id: unknown report 'c/d#\d+'"),
        (("a/b#10", "a/b#2"), r"row \d+: id: a/b#2 is there already"),
        (("symptom", "Symptoms"), "row 1: symptom: expected one column"),
        (("title", "symptom"), "row 1: title: expected one column"),
        (("runtime-hang", ""), r"^(?!.*row)"),
    ],
)
def test_a_slip_is_named_with_its_row(corpus: Path, tmp_path: Path, change: tuple[str, str], said: str) -> None:
    records, _ = load_records(corpus, tmp_path / "none", TAXONOMY)
    write_sheets(tmp_path, records, 10, 1, TAXONOMY)
    for number in (1, 2):
        fill(tmp_path / f"reader-{number}.csv", dict.fromkeys(IDS, "runtime-hang"))
    file = tmp_path / "reader-1.csv"
    file.write_text(file.read_text(encoding="utf-8-sig").replace(*change).replace("Bug ", "bug" if change[1] else ""))
    with pytest.raises(CorpusError, match=rf"reader-1\.csv: (no label is filled in|{said})"):
        score_sheets(tmp_path, records, TAXONOMY)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_sheet_as_another_spreadsheet_saves_it(corpus: Path, tmp_path: Path, delimiter: str) -> None:
    records, _ = load_records(corpus, tmp_path / "none", TAXONOMY)
    write_sheets(tmp_path, records, 10, 1, TAXONOMY)
    for number in (1, 2):
        fill(tmp_path / f"reader-{number}.csv", dict.fromkeys(IDS, "runtime-hang"))
    file = tmp_path / "reader-1.csv"
    rows = rows_of(file)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    assert ("symptom", "reader-1", "reader-2", "10", "1.000", "1.000") in score_sheets(tmp_path, records, TAXONOMY)


def test_reports_that_cannot_be_drawn_are_counted(research: Command, corpus: Path, tmp_path: Path) -> None:
    (corpus / "restated.jsonl").write_text("", encoding="utf-8")
    rows = [annotation(identifier, split="test") for identifier in IDS]
    write_corpus(corpus, rows)
    store = write_lines(tmp_path / "texts.jsonl", [{"id": i, "title": "t", "body": "b"} for i in IDS[:4]])
    done = research("corpus", "sheet", tmp_path / "sheets", "--corpus", corpus, "--texts", store)
    assert done.out.startswith("4 reports in ")
    assert "6 of 10 test reports have no text here: none of them was drawn; " in done.err


def test_without_a_text_it_says_how_to_get_them(corpus: Path, tmp_path: Path) -> None:
    (corpus / "restated.jsonl").unlink()
    records, _ = load_records(corpus, tmp_path / "none", TAXONOMY)
    with pytest.raises(CorpusError, match="hydrate --split test"):
        write_sheets(tmp_path, records, 10, 1, TAXONOMY)


def test_every_source_and_every_reading_names_its_reader() -> None:
    sources = {row["source"] for _, row in read_jsonl(CORPUS / "annotations.jsonl")}
    readings = {row["reader"] for _, row in read_jsonl(CORPUS / "readings.jsonl")}
    assert (set(READERS["sources"]), set(READERS["readings"])) == (sources, readings)
    for entry in (*READERS["sources"].values(), *READERS["readings"].values()):
        assert {"kind", "model", "guide", "people", "read", "shown"} <= (READERS["default"] | entry).keys()
    text = (CORPUS / "README.md").read_text(encoding="utf-8")
    assert "**No person has checked a label.**" in text and READERS["default"]["people"] == 0
    card = (REPOSITORY / "models" / "minilm-v9" / "README.md").read_text(encoding="utf-8")
    assert "No person has checked the labels." in card


def test_the_citation_names_software_and_data() -> None:
    checker = Path(sys.executable).parent / "check-jsonschema"
    command = [checker, "--builtin-schema", "vendor.citation-file-format", REPOSITORY / "CITATION.cff"]
    subprocess.run(command, check=True)
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["preferred-citation"]["version"] == cited["version"] == distriage.__version__
    (data,) = [entry for entry in cited["references"] if entry["type"] == "data"]
    count = sum(1 for _ in read_jsonl(CORPUS / "annotations.jsonl"))
    assert data["license"] == "CC-BY-4.0" and f"{count:,}" in data["title"]
