"""Records -> the training set: texts prepared and tokenized, labels as numbers. In memory, as `datasets.Dataset`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from datasets import Dataset
from tokenizers import Tokenizer

from distriage.model.taxonomy import Taxonomy
from distriage.recipe.text import prepare
from distriage_training.config import Config, TrainingConfig
from distriage_training.corpus.records import Record, label_numbers

NO_NOTE = -1


def tokenize(records: Sequence[Record], tokenizer: Tokenizer, taxonomy: Taxonomy, config: Config) -> Dataset:
    """Build the training set.

    Returns:
        Columns `input_ids` (at most `max_tokens`), `labels` [readings, axes] (or `UNLABELLED`), `weights` [readings,
        axes], `note` (the record's number, or `NO_NOTE`), `length`, `row`, `source`.
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
            "row": list(range(len(records))),
            "source": [record.source for record in records],
        }
    )


def targets(record: Record, taxonomy: Taxonomy, settings: TrainingConfig) -> list[tuple[list[int], list[float]]]:
    """The targets of a record: label numbers [axes] of each of its readings, and their weights [axes]. A reading with
    odds comes twice: with its labels, and with their alternatives.

    Readings share the record's weight evenly; labels and alternatives share a reading's by its odds. Unsure readers
    count less (`unsure_weights`), unless another reader chose the same label.
    """
    readings = record.readings

    def weight(number: int, axis: str) -> float:
        reading = readings[number]
        label = reading.labels.get(axis)
        confirmed = any(other.labels.get(axis) == label for k, other in enumerate(readings) if k != number)
        unsure = 1.0 if reading.sure or confirmed else settings.unsure_weights.get(axis, 1.0)
        return settings.label_weights.get(reading.source, {}).get(axis, 1.0) * unsure / len(readings)

    found = []
    for number, reading in enumerate(readings):
        odds = {axis: reading.odds.get(axis, 1.0) for axis in taxonomy.axes}
        whole = {axis: weight(number, axis) for axis in taxonomy.axes}
        found.append((label_numbers(reading, taxonomy), [whole[axis] * odds[axis] for axis in taxonomy.axes]))
        if reading.alternatives:
            other = replace(reading, labels=reading.alternatives)
            found.append((label_numbers(other, taxonomy), [whole[axis] * (1 - odds[axis]) for axis in taxonomy.axes]))
    return found
