"""CSV tables, and records from those with a label column per axis (`data.format = "csv"`)."""

from __future__ import annotations

import csv
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from distriage.base.errors import ConfigError, CorpusError
from distriage.model.taxonomy import Taxonomy
from distriage_training.config import Config, DataConfig
from distriage_training.corpus.jsonl import open_text
from distriage_training.corpus.records import Record

MAX_CELL_CHARS = 1 << 27  # reports hold whole logs; Python's own bound is 131,072


def read_tables(config: Config, data: DataConfig, taxonomy: Taxonomy) -> list[Record]:
    if data.train is None or set(data.label_columns) != set(taxonomy.axes):
        raise ConfigError(
            f"{config.path}: data.format csv needs `train` and `label_columns` for each of the axes "
            f"{', '.join(taxonomy.axes)}"
        )
    records: list[Record] = []
    for split, path in (("train", data.train), ("test", data.test)):
        if path is not None:
            records += _read_table(path, split, data, taxonomy)
    # A record's own hash is its id and decides whether it is set apart: stable when rows come or move.
    cut = int(data.validation_fraction * 2**32)
    return [
        Record(r.id, r.title, r.body, r.labels, "validation", r.source, r.origin, r.group)
        if r.split == "train" and int(r.id[:8], 16) < cut
        else r
        for r in records
    ]


def _read_table(path: Path, split: str, data: DataConfig, taxonomy: Taxonomy) -> list[Record]:
    records = []
    optional = filter(None, [data.group_column, data.title_prefix_column])
    for number, row in enumerate(read_csv(path, ["title", "body", *data.label_columns.values(), *optional]), 1):
        labels = {axis: row[column] for axis, column in data.label_columns.items() if row[column]}
        if not labels:
            raise CorpusError(f"{path}: record {number}: no label at all; expected one or more")
        for axis, label in labels.items():
            known = taxonomy.axes[axis].label_ids
            if label not in known:
                raise CorpusError(
                    f"{path}: record {number}: {data.label_columns[axis]}: unknown label {label!r}; known: "
                    f"{', '.join(known)}"
                )
        group, title = row.get(data.group_column or "", ""), row["title"]
        if data.title_prefix_column:
            title = f"{row[data.title_prefix_column]}: {title}"
        digest = hashlib.sha256((title + row["body"]).encode()).hexdigest()
        records.append(Record(digest, title, row["body"], labels, split, "table", "raw", group))
    return records


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of a CSV table with a header, gzip and a byte order mark allowed; missing cells of a short row are
    empty.

    Raises:
        CorpusError: unreadable table, or a missing column.
    """
    csv.field_size_limit(MAX_CELL_CHARS)
    try:
        with open_text(path, newline="") as stream:
            reader = csv.DictReader(stream, restval="")
            found = reader.fieldnames or ()
            if missing := [column for column in columns if column not in found]:
                raise CorpusError(f"{path}: no column {', '.join(map(repr, missing))}; columns: {', '.join(found)}")
            yield from reader
    except (OSError, UnicodeDecodeError, EOFError, zlib.error, csv.Error) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from None
