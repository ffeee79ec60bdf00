"""Compares a finished file of answers with the run that would write it now. Reads only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

from distriage.engine.answers import Item, id_of
from distriage.engine.output import differences
from distriage.reports.records import RawRecord, read_records

_COLUMNS = ("id", "verdict")  # of a table of answers; `verdict` is a whole line elsewhere


def difference(path: str, options: Mapping[str, Any], items: Iterable[Item]) -> str:
    """How this run differs from that of a finished file, judged by the number of answers, the
    subject of the last one and the options in the first verdict.

    Args:
        options: This run's, from `run_options`.

    Returns:
        Words that follow "complete, but"; empty if nothing differs.

    Raises:
        InputError: a file cannot be read.
    """
    last, compared = None, False
    for number, (record, item) in enumerate(zip_longest(read_records(path, columns=_COLUMNS), items), 1):
        if record is None or item is None:
            return f"of an input with {'fewer' if record is None else 'more'} records"
        if not compared and (shown := _shown(_answer(record))):
            wanted = {**options, "own": options["own"] is not None}  # which labels they are is not shown
            if other := differences(shown, {name: wanted[name] for name in shown}):
                return f"of a run {other}"
            compared = True
        last = number, record, item
    if last is None:
        return ""
    number, record, item = last
    found, identifier = _answer(record).get("id"), id_of(item)
    return "" if found == identifier else f"of other input: answer {number:,} is about {found}, not {identifier}"


def _answer(record: RawRecord) -> Mapping[str, Any]:
    """The answer in a record, or an empty one."""
    try:
        answer: dict[str, Any] = json.loads(record.content)
        return {**answer, **json.loads(answer.get("verdict") or "{}")}
    except (ValueError, RecursionError, TypeError, AttributeError):
        return {}


def _shown(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The options in a verdict; empty for a failed record."""
    axes = answer.get("axes")
    if not isinstance(axes, dict) or "mode" not in answer:
        return {}
    return {
        "mode": answer.get("mode"),
        "model": answer.get("model"),
        "explain": any(isinstance(said, dict) and said.get("evidence") is not None for said in axes.values()),
        "similar": answer.get("similar") is not None,
        "own": answer.get("own") is not None,
    }
