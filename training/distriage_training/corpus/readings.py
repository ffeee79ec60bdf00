"""Single readings of reports that were read more than once: `readings.jsonl`, and how they join the records of
training.

A reader may give odds: `odds`, axis -> percent for the label, and `alternative`, axis -> the label with the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from distriage.base.errors import CorpusError
from distriage.model.taxonomy import Taxonomy
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import Reading, Record

Readings = Mapping[str, Mapping[str, Mapping[str, object]]]


def read_readings(path: Path) -> Readings:
    """Read readings.jsonl: reader -> report id -> record.

    Raises:
        CorpusError: a line lacks `reader` or `id`, or a reader has a report twice.
    """
    readings: dict[str, dict[str, Mapping[str, object]]] = {}
    for number, row in read_jsonl(path):
        if not isinstance(row.get("reader"), str) or not isinstance(row.get("id"), str):
            raise CorpusError(f"{path}:{number}: a reading needs `reader` and `id`")
        read = readings.setdefault(row["reader"], {})
        if row["id"] in read:
            raise CorpusError(f"{path}:{number}: {row['id']} is read twice by {row['reader']!r}; expected one reading")
        read[row["id"]] = row
    return readings


def join_readings(records: Sequence[Record], path: Path, readers: Sequence[str], taxonomy: Taxonomy) -> list[Record]:
    """Give records the readings of the named readers as `others`.

    Raises:
        CorpusError: unknown reader, a label outside the taxonomy, or odds outside 0 to 1.
    """
    if not readers:
        return list(records)
    readings = read_readings(path)
    others: dict[str, list[Reading]] = {}
    for reader in readers:
        if reader not in readings:
            raise CorpusError(f"{path}: no reader {reader!r}; readers: {', '.join(readings)}")
        for identifier, row in readings[reader].items():
            place = f"{path}: {identifier}, read by {reader!r}"
            others.setdefault(identifier, []).append(_reading(row, reader, taxonomy, place))
    return [replace(record, others=tuple(others.get(record.id, ()))) for record in records]


def _reading(row: Mapping[str, object], reader: str, taxonomy: Taxonomy, place: str) -> Reading:
    alternative = row.get("alternative") or {}
    odds = row.get("odds") or {}
    if not isinstance(alternative, dict) or not isinstance(odds, dict) or alternative.keys() != odds.keys():
        raise CorpusError(f"{place}: expected `odds` and `alternative` of the same axes")
    if wrong := [axis for axis, share in odds.items() if not isinstance(share, int) or not 0 < share <= 100]:
        raise CorpusError(f"{place}: odds: {wrong[0]}: {odds[wrong[0]]!r}; expected a whole number of percent")
    return Reading(
        labels=labels_of_reading(row, taxonomy, place),
        source=reader,
        sure=row.get("confidence") != "low",
        odds={axis: share / 100 for axis, share in odds.items()},
        alternatives=labels_of_reading(alternative, taxonomy, place),
    )


def labels_of_reading(row: Mapping[str, object], taxonomy: Taxonomy, place: str) -> dict[str, str]:
    """Axis -> label of a reading.

    Args:
        place: Of the row, for an error.

    Raises:
        CorpusError: a label outside the taxonomy.
    """
    labels = {axis: str(row[axis]).lower() for axis in taxonomy.axes if row.get(axis) is not None}
    for axis, label in labels.items():
        if label not in taxonomy.axes[axis].label_ids:
            raise CorpusError(f"{place}: {axis}: unknown label {label!r}")
    return labels
