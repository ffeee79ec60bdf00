"""Records -> the training set: texts prepared and tokenized, labels as numbers. In memory, as `datasets.Dataset`."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import random
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from datasets import Dataset
from tokenizers import Tokenizer

from distriage.errors import ConfigError, CorpusError
from distriage.taxonomy import Taxonomy
from distriage.text import prepare
from distriage_training.config import Config, DataConfig, TrainingConfig
from distriage_training.corpus import Reading, Record, load_records
from distriage_training.readings import join_readings

UNLABELLED = -100  # PyTorch's ignore index
NO_NOTE = -1


def load_split_records(config: Config, taxonomy: Taxonomy) -> dict[str, list[Record]]:
    """Read the run's records.

    Returns:
        `train`, `validation`, `test` -> records.

    Raises:
        ConfigError, CorpusError: the data is missing or not valid.
    """
    data = config.data
    weights = {f"label_weights.{source}": weights for source, weights in config.training.label_weights.items()}
    for key, by_axis in {**weights, "unsure_weights": config.training.unsure_weights}.items():
        if unknown := by_axis.keys() - taxonomy.axes.keys():
            raise ConfigError(f"{config.path}: training.{key}: unknown axis {', '.join(sorted(unknown))}; known: {', '.join(taxonomy.axes)}")
    if data.format == "csv":
        records = _read_tables(config, data, taxonomy)
    else:
        records, missing = load_records(config.resolve(data.corpus), config.resolve(data.texts), taxonomy)
        if missing:
            print(  # noqa: T201
                f"note: {len(missing):,} of {len(missing) + len(records):,} annotated reports have no text here and are left out "
                "(`distriage corpus import FOLDER` or `distriage corpus hydrate` brings them)",
                file=sys.stderr,
            )
        records = join_readings(records, config.resolve(data.corpus) / "readings.jsonl", data.readers, taxonomy)
    splits: dict[str, list[Record]] = {"train": [], "validation": [], "test": []}
    for record in records:
        splits[record.split].append(record)
    for name in ("train", "validation"):
        if not splits[name]:
            raise CorpusError(f"{config.path}: no record with a text in split {name}")
    if data.limit is not None:
        splits["train"] = draw(splits["train"], data.limit, taxonomy, config.seed)
    for axis in taxonomy.axes:
        found = {record.labels[axis] for record in splits["train"] if axis in record.labels}
        if len(found) < 2 or not any(axis in record.labels for record in splits["validation"]):
            names = ", ".join(sorted(found)) or "none"
            raise CorpusError(f"{config.path}: axis {axis}: labels in split train: {names}; expected two or more, and one in validation")
    return splits


def draw(records: Sequence[Record], limit: int, taxonomy: Taxonomy, seed: int) -> list[Record]:
    """At random, but with two labels of every axis where there are two: without them an axis cannot be learnt."""
    order = random.Random(seed).sample(records, len(records))
    first: dict[tuple[str, str], Record] = {}
    for axis in taxonomy.axes:
        found: dict[str, Record] = {}
        for record in order:
            if axis in record.labels and len(found) < 2:
                found.setdefault(record.labels[axis], record)
        first |= {(axis, label): record for label, record in found.items()}
    needed = {record.id for record in first.values()}
    return sorted(order, key=lambda record: record.id not in needed)[:limit]


def _read_tables(config: Config, data: DataConfig, taxonomy: Taxonomy) -> list[Record]:
    if data.train is None or set(data.label_columns) != set(taxonomy.axes):
        raise ConfigError(f"{config.path}: data.format csv needs `train` and `label_columns` for each of the axes {', '.join(taxonomy.axes)}")
    records: list[Record] = []
    for split, path in (("train", data.train), ("test", data.test)):
        if path is not None:
            records += _read_table(config.resolve(path), split, data, taxonomy)
    # A record's own hash decides whether it is set apart: stable when the table grows.
    cut = int(data.validation_fraction * 2**32)
    return [
        Record(r.id, r.title, r.body, r.labels, "validation", r.source, r.origin, r.group)
        if r.split == "train" and int(hashlib.sha256((r.title + r.body).encode()).hexdigest()[:8], 16) < cut
        else r
        for r in records
    ]


def _read_table(path: Path, split: str, data: DataConfig, taxonomy: Taxonomy) -> list[Record]:
    csv.field_size_limit(1 << 27)
    records = []
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") if path.suffix == ".gz" else path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            columns = reader.fieldnames or []
            for column in ("title", "body", *data.label_columns.values(), *filter(None, [data.group_column, data.title_prefix_column])):
                if column not in columns:
                    raise CorpusError(f"{path}: no column {column!r}; columns: {', '.join(columns)}")
            for number, row in enumerate(reader, 1):
                labels = {axis: row[column] for axis, column in data.label_columns.items()}
                for axis, label in labels.items():
                    known = taxonomy.axes[axis].label_ids
                    if label not in known:
                        raise CorpusError(f"{path}: record {number}: {data.label_columns[axis]}: unknown label {label!r}; known: {', '.join(known)}")
                group = row.get(data.group_column or "") or ""
                title = row["title"] or ""
                if data.title_prefix_column:
                    title = f"{row[data.title_prefix_column]}: {title}"
                records.append(Record(f"{path.name}:{number}", title, row["body"] or "", labels, split, "table", "raw", group))
    except (OSError, UnicodeDecodeError, EOFError, zlib.error, csv.Error) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from None
    return records


def data_sha256(records: Sequence[Record]) -> str:
    """A hash of all that was trained on: ids, texts, labels of all readings, splits."""
    digest = hashlib.sha256()
    for record in sorted(records, key=lambda r: r.id):
        row = [record.id, record.title, record.body, dict(record.labels), record.split, *(dict(other.labels) for other in record.others)]
        digest.update(json.dumps(row, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace"))
    return digest.hexdigest()


def tokenize(records: Sequence[Record], tokenizer: Tokenizer, taxonomy: Taxonomy, config: Config) -> Dataset:
    """Build the training set.

    Returns:
        Columns `input_ids` (at most `max_tokens`), `labels` [readings, axes] (`UNLABELLED` where absent), `weights` [readings, axes], `note` (the record's
        number, `NO_NOTE` where it has none), `length`, `source`.
    """
    tokenizer.enable_truncation(config.encoder.max_tokens)
    tokenizer.no_padding()
    read = [targets(record, taxonomy, config.training) for record in records]
    encodings = tokenizer.encode_batch([prepare(record.title, record.body).text for record in records])
    return Dataset.from_dict(
        {
            "input_ids": [encoding.ids for encoding in encodings],
            "length": [len(encoding.ids) for encoding in encodings],
            "labels": [[numbers for numbers, _ in readings] for readings in read],
            "weights": [[weights for _, weights in readings] for readings in read],
            "note": [number if record.note else NO_NOTE for number, record in enumerate(records)],
            "source": [record.source for record in records],
        }
    )


def label_numbers(record: Record | Reading, taxonomy: Taxonomy) -> list[int]:
    """Position of the label on each axis, `UNLABELLED` where there is none."""
    return [axis.label_ids.index(record.labels[axis.id]) if axis.id in record.labels else UNLABELLED for axis in taxonomy.axes.values()]


def targets(record: Record, taxonomy: Taxonomy, settings: TrainingConfig) -> list[tuple[list[int], list[float]]]:
    """What training is to learn from a record: the label numbers [axes] of each of its readings, and their weights [axes].

    Readings share the record's weight evenly. Whoever was not sure counts less (`unsure_weights`), unless another reader chose the same label.
    """
    readings = record.readings

    def weight(number: int, axis: str) -> float:
        reading = readings[number]
        label = reading.labels.get(axis)
        confirmed = any(other.labels.get(axis) == label for k, other in enumerate(readings) if k != number)
        unsure = 1.0 if reading.sure or confirmed else settings.unsure_weights.get(axis, 1.0)
        return settings.label_weights.get(reading.source, {}).get(axis, 1.0) * unsure / len(readings)

    return [(label_numbers(reading, taxonomy), [weight(number, axis) for axis in taxonomy.axes]) for number, reading in enumerate(readings)]
