"""Single readings of reports that were read more than once: `readings.jsonl`, and how they join the records of
training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from distriage.errors import CorpusError
from distriage.taxonomy import Taxonomy
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import Reading, Record

Readings = Mapping[str, Mapping[str, Mapping[str, object]]]


def read_readings(path: Path) -> Readings:
    """Read readings.jsonl: reader -> report id -> record.

    Raises:
        CorpusError: a line lacks `reader` or `id`.
    """
    readings: dict[str, dict[str, Mapping[str, object]]] = {}
    for number, row in read_jsonl(path):
        if not isinstance(row.get("reader"), str) or not isinstance(row.get("id"), str):
            raise CorpusError(f"{path}:{number}: a reading needs `reader` and `id`")
        readings.setdefault(row["reader"], {})[row["id"]] = row
    return readings


def join_readings(records: Sequence[Record], path: Path, readers: Sequence[str], taxonomy: Taxonomy) -> list[Record]:
    """Give records the readings of the named readers as `others`.

    Args:
        path: `readings.jsonl`.

    Raises:
        CorpusError: there is no such reader, or one of its labels is not in the taxonomy.
    """
    if not readers:
        return list(records)
    readings = read_readings(path)
    others: dict[str, list[Reading]] = {}
    for reader in readers:
        if reader not in readings:
            raise CorpusError(f"{path}: no reader {reader!r}; readers: {', '.join(readings)}")
        for identifier, row in readings[reader].items():
            labels = {axis: str(row[axis]).lower() for axis in taxonomy.axes if row.get(axis) is not None}
            for axis, label in labels.items():
                if label not in taxonomy.axes[axis].label_ids:
                    raise CorpusError(f"{path}: {identifier}, read by {reader!r}: {axis}: unknown label {label!r}")
            others.setdefault(identifier, []).append(
                Reading(labels, source=reader, sure=row.get("confidence") != "low")
            )
    return [replace(record, others=tuple(others.get(record.id, ()))) for record in records]
