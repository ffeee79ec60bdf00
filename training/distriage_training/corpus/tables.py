"""CSV tables, and records from those with a label column per axis (`data.format = "csv"`)."""

from __future__ import annotations

import csv
import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from distriage.base.errors import ConfigError, CorpusError
from distriage.base.references import reference_of, repository_of, thread_key, web_link
from distriage.base.validation import suggestion
from distriage.model.taxonomy import Taxonomy
from distriage_training.config import Config, DataConfig
from distriage_training.corpus.jsonl import open_text
from distriage_training.corpus.records import Record

MAX_CELL_CHARS = 1 << 27  # reports hold whole logs; Python's own bound is 131,072
MAX_FAULTS = 5  # of a table, and rows of each, in one message


def read_tables(config: Config, data: DataConfig, taxonomy: Taxonomy) -> tuple[list[Record], int]:
    """The records of both tables, and how many of the first were left out as issues or texts of the second."""
    if data.train is None or set(data.label_columns) != set(taxonomy.axes):
        raise ConfigError(
            f"{config.path}: data.format csv needs `train` and `label_columns` for each of the axes "
            f"{', '.join(taxonomy.axes)}"
        )
    rows = _read_table(data.train, "train", data, taxonomy)
    test = _read_table(data.test, "test", data, taxonomy) if data.test is not None else []
    withheld = {key for record in test for key in _keys(record)}
    train = [record for record in rows if withheld.isdisjoint(_keys(record))]
    if rows and not train:
        raise ConfigError(f"{config.path}: all rows of {data.train} are in {data.test}, too; expected others")
    return [*train, *test], len(rows) - len(train)


def _read_table(path: Path, split: str, data: DataConfig, taxonomy: Taxonomy) -> list[Record]:
    records: list[Record] = []
    faults: dict[str, list[int]] = {}  # what is wrong -> in which rows
    first: dict[str, tuple[int, Record]] = {}
    cut = int(data.validation_fraction * 2**32) if split == "train" else 0
    optional = filter(None, [data.group_column, data.title_prefix_column])
    for number, row in numbered_rows(path, ["title", "body", *data.label_columns.values(), *optional]):
        labels = {axis: label for axis, column in data.label_columns.items() if (label := row[column].strip())}
        record = _record(row, labels, split, data)
        # Two issues that say "Help" are two; an issue whose text was edited is one.
        earlier, same = first.setdefault(_keys(record)[0], (number, record))
        for fault in [*_faults(labels, data, taxonomy), *_contradiction(labels, same.labels, earlier, data)]:
            faults.setdefault(fault, []).append(number)
        # The hash of an issue's first text decides whether it is set apart: stable when rows come or move.
        apart = int(_digest(same.title + same.body)[:8], 16) < cut
        records.append(replace(record, split="validation") if apart else record)
    if faults:
        said = [f"{_named(rows)}: {what}" for what, rows in faults.items()]
        more = f" (and {len(said) - MAX_FAULTS} more)" if len(said) > MAX_FAULTS else ""
        raise CorpusError(f"{path}: {' | '.join(said[:MAX_FAULTS])}{more}")
    return records


def _named(rows: Sequence[int]) -> str:
    more = f" and {len(rows) - MAX_FAULTS} more" if len(rows) > MAX_FAULTS else ""
    return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows[:MAX_FAULTS]))}{more}"


def _record(row: Mapping[str, str], labels: Mapping[str, str], split: str, data: DataConfig) -> Record:
    title = row["title"]
    if data.title_prefix_column:
        title = f"{row[data.title_prefix_column]}: {title}"
    # By its address `trained-on.txt` knows the issue again, in a back-test or as a review. GitHub's `url` is its API's.
    addresses = {key: row[key].strip() for key in ("html_url", "url") if row.get(key)}
    identifier = reference_of(addresses) or _digest(title + row["body"])
    group = row.get(data.group_column or "", "")
    url = next(filter(None, map(web_link, addresses.values())), "")
    return Record(identifier, title, row["body"], labels, split, "table", "raw", group, url)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _keys(record: Record) -> tuple[str, str]:
    """What tells an issue: its address, else its text; and its text but for case and white space."""
    text = _digest(" ".join(f"{record.title} {record.body}".casefold().split()))
    address = thread_key(record.id) if repository_of(record.id) else record.url
    return address or text, text


def _faults(labels: Mapping[str, str], data: DataConfig, taxonomy: Taxonomy) -> Iterator[str]:
    if not labels:
        yield "no label at all; expected one or more"
    known = {axis: label for axis, label in labels.items() if label in taxonomy.axes[axis].label_ids}
    for axis_id, label in labels.items():
        axis, column = taxonomy.axes[axis_id], data.label_columns[axis_id]
        if axis_id not in known:
            yield f"{column}: unknown label {label!r}; {suggestion(label, axis.label_ids)}"
        elif unmet := taxonomy.unmet(axis_id, known):
            yield f"{column}: {label}, but {unmet}; expected an empty cell"


def _contradiction(labels: Mapping[str, str], earlier: Mapping[str, str], row: int, data: DataConfig) -> Iterator[str]:
    """Two people's answers to one report: the model would learn both."""
    for axis, column in data.label_columns.items():
        one, other = (given.get(axis, "no label") for given in (labels, earlier))
        if one != other:
            yield f"{column}: {one}, but {other} in row {row}, which has the same text or address; expected one answer"
            return


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of a CSV table with a header, gzip and a byte order mark allowed; missing cells of a short row are
    empty.

    Raises:
        CorpusError: unreadable table, or a missing column.
    """
    return (row for _, row in numbered_rows(path, columns))


def numbered_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """As `read_csv`, with the numbers that a spreadsheet shows: the header is row 1, and blank lines count."""
    csv.field_size_limit(MAX_CELL_CHARS)
    try:
        with open_text(path, newline="") as stream:
            reader = csv.reader(stream)
            found = next(reader, [])
            if missing := [column for column in columns if column not in found]:
                hint = "; expected commas between them" if len(found) == 1 and {*found[0]} & {*";\t"} else ""
                raise CorpusError(
                    f"{path}: no column {', '.join(map(repr, missing))}; columns: {', '.join(found)}{hint}"
                )
            for number, cells in enumerate(reader, 2):
                if cells:
                    yield number, dict(zip(found, [*cells, *[""] * len(found)], strict=False))
    except (OSError, UnicodeDecodeError, EOFError, zlib.error, csv.Error) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from None
