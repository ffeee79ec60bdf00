"""A sheet for people: test reports without their labels, in a CSV file for each of two readers; and how far the filled
sheets agree with each other and with the corpus. Reads and writes files.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from distriage.base.disk import writing
from distriage.base.errors import CorpusError
from distriage.model.taxonomy import Taxonomy
from distriage_training.corpus.agreement import compare
from distriage_training.corpus.jsonl import open_text
from distriage_training.corpus.records import Record

READERS: Final = ("reader-1", "reader-2")
CELL_CHARS: Final = 32_000  # a spreadsheet's cell holds 32,767
_BEFORE: Final = ("id", "url", "title", "body")
_AGREEMENT: Final = ("axis", "first", "second", "reports", "equal", "kappa")


def write_sheets(folder: Path, records: Sequence[Record], number: int, seed: int, taxonomy: Taxonomy) -> int:
    """Write `reader-1.csv` and `reader-2.csv`: the same reports, each in an order of its own.

    Returns:
        How many reports: fewer than wanted if the test split has no more texts.

    Raises:
        CorpusError: a sheet is there already, or no test report has a text.
    """
    test = sorted((record for record in records if record.split == "test"), key=lambda record: record.id)
    if not test:
        raise CorpusError("no test report has a text; `corpus hydrate --split test` fetches them")
    drawn = random.Random(seed).sample(test, min(number, len(test)))
    files = [folder / f"{reader}.csv" for reader in READERS]
    for file in files:
        if file.exists():  # it may hold an afternoon's work
            raise CorpusError(f"{file}: is there already; expected a folder without sheets")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for place, file in enumerate(files):
            rows = random.Random(seed + place).sample(drawn, len(drawn))
            _write(
                file,
                _head(taxonomy),
                [
                    (row.id, row.url, _cell(row.title), _cell(row.body), *[""] * (len(taxonomy.axes) + 1))
                    for row in rows
                ],
            )
    return len(drawn)


def score_sheets(folder: Path, records: Sequence[Record], taxonomy: Taxonomy) -> list[tuple[str, ...]]:
    """Compare the filled sheets with each other and with the corpus, and write `agreement.csv`.

    Returns:
        Its rows: axis, first, second, reports, share of equal labels, Cohen's kappa.

    Raises:
        CorpusError: a sheet is missing, empty, or holds an unknown report or label.
    """
    labels = {record.id: dict[str, object](record.labels) for record in records if record.split == "test"}
    read: dict[str, Mapping[str, Mapping[str, object]]] = {
        reader: _read(folder / f"{reader}.csv", labels, taxonomy) for reader in READERS
    }
    read["corpus"] = labels
    rows: list[tuple[str, ...]] = []
    for first, second in ((READERS[0], READERS[1]), *((reader, "corpus") for reader in READERS)):
        for axis, found in compare(read[first], read[second], taxonomy).items():
            rows.append((axis, first, second, str(found.n), f"{found.accuracy:.3f}", f"{found.kappa:.3f}"))
    with writing(folder):
        _write(folder / "agreement.csv", _AGREEMENT, rows)
    return rows


def _read(file: Path, known: Mapping[str, object], taxonomy: Taxonomy) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    try:
        with open_text(file, newline="") as lines:
            delimiter = csv.Sniffer().sniff(lines.readline(), ",;\t").delimiter  # as the reader's spreadsheet saves it
            lines.seek(0)
            table = csv.DictReader(lines, delimiter=delimiter)
            head = list(table.fieldnames or ())
            if wrong := [column for column in _head(taxonomy) if head.count(column) != 1]:
                raise CorpusError(f"{file}: row 1: {wrong[0]}: expected one column of this name, as `sheet` wrote it")
            seen: set[str] = set()
            for number, row in enumerate(table, 2):
                identifier = (row.get("id") or "").strip()
                if identifier not in known:
                    raise CorpusError(f"{file}: row {number}: id: unknown report {identifier[:80]!r}")
                if identifier in seen:
                    raise CorpusError(f"{file}: row {number}: id: {identifier} is there already; expected one row")
                seen.add(identifier)
                said: dict[str, object] = {}
                for axis in taxonomy.axes.values():
                    value = (row.get(axis.id) or "").strip().lower()
                    if value and value not in axis.label_ids:
                        expected = ", ".join(axis.label_ids)
                        raise CorpusError(
                            f"{file}: row {number}: {axis.id}: {value[:80]!r}; expected one of {expected}"
                        )
                    if value:
                        said[axis.id] = value
                if said:
                    found[identifier] = said
    except (OSError, csv.Error) as error:
        raise CorpusError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not found:
        raise CorpusError(f"{file}: no label is filled in")
    return found


def _head(taxonomy: Taxonomy) -> tuple[str, ...]:
    return (*_BEFORE, *taxonomy.axes, "note")


def _write(file: Path, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8-sig", newline="") as stream:  # the mark tells spreadsheets that it is UTF-8
        csv.writer(stream).writerows([head, *rows])


def _cell(text: str) -> str:
    """A reporter's text as a cell: none that a spreadsheet would run as a formula."""
    text = text if len(text) <= CELL_CHARS else f"{text[:CELL_CHARS]} [cut; the page has the rest]"
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
