"""The figures of peers and past issues as tables, beside those of the wheel. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distriage_training.bench import layout
from distriage_training.bench.layout import Builder, Table


def _graph(found: Mapping[str, Any]) -> Iterator[Table]:
    yield _contestants("The graph alone, one report a pass: milliseconds", found)


def _text(found: Mapping[str, Any]) -> Iterator[Table]:
    title = "From text to answer, one report a call: milliseconds"
    yield _contestants(title, {threads: rows["all"] for threads, rows in found.items()})
    lengths = found["1"]["lengths"]
    names = list(lengths[0]["p50"])
    rows = [[row["tokens"], str(row["reports"]), *(f"{row['p50'][name]:.1f}" for name in names)] for row in lengths]
    yield Table("By length: median milliseconds, one thread", ("tokens", "timed", *names), rows)


def _contestants(title: str, found: Mapping[str, Any]) -> Table:
    columns = [""]
    for threads in found:
        unit = "1 thread" if threads == "1" else f"{threads} threads"
        columns += [f"{unit}: median", "p95", "ours takes"]
    names = list(next(iter(found.values())))
    rows = [[name, *(text for figures in found.values() for text in _shown(figures.get(name)))] for name in names]
    return Table(title, columns, rows)


def _shown(figures: Mapping[str, float] | None) -> list[str]:
    if figures is None:
        return ["", "", ""]
    return [f"{figures['p50']:.1f}", f"{figures['p95']:.1f}", f"{figures['ratio']:.2f} of it"]


def _past(found: Mapping[str, Any]) -> Iterator[Table]:
    rows = [
        ["a look-up, median", f"{found['find_ms']['p50']:.1f} ms"],
        ["a look-up, 95th percentile", f"{found['find_ms']['p95']:.1f} ms"],
        [f"to index, {found['processes']} processes", f"{found['indexed_per_s']:.0f} issues/s"],
        ["the file", f"{found['file_mb']:.0f} MB"],
        ["to load it", f"{found['load_s']:.2f} s"],
    ]
    note = (
        f"{found['reports']:,} reports were indexed and looked up. An issue among which they are looked up has half of "
        "the words of each of two of them."
    )
    yield Table(f"Past issues: a report among {found['issues']:,}", ("", "one thread"), rows, note)


def _equal(found: Mapping[str, Any]) -> Iterator[Table]:
    rows = [[name, str(row["decisions"]), str(row["verdicts"])] for name, row in found["ways"].items()]
    rows += [[name, why, ""] for name, why in found["missing"].items()]
    title = f"{found['reports']:,} reports asked about in other ways than one by one: how many answers differ"
    yield Table(title, ("", "decisions", "anything"), rows)


BUILDERS: Mapping[str, Builder] = {
    "text": _text,
    "parts": layout.parts_tables,
    "graph": _graph,
    "start": layout.start_tables,
    "many": layout.many_tables,
    "http": layout.http_tables,
    "past": _past,
    "queue": layout.queue_tables,
    "equal": _equal,
}
