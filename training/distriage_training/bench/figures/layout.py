"""The figures as tables of text: the terminal and docs/benchmarks.md show the same ones. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PART_NAMES = {
    "prepare": "clean the text",
    "facts": "find versions and devices",
    "tokens": "cut into tokens",
    "features": "hash words",
    "graph": "run the graph",
    "gate": "tell other software apart",
    "verdict": "decide, advise, write JSON",
    "but the graph": "all but the graph",
    "whole": "one call, report to JSON",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Attributes:
    columns: The first is a name, the others are figures.
    note: What one must know to read it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def tables(figures: Mapping[str, Any]) -> Iterator[Table]:
    """Those of the sections that were measured."""
    for section, build in (
        ("text", _text),
        ("parts", _parts),
        ("graph", _graph),
        ("start", _start),
        ("many", _many),
        ("http", _http),
        ("past", _past),
        ("equal", _equal),
    ):
        if figures.get(section):
            yield from build(figures[section])
    if missing := figures.get("missing"):
        yield Table("Not measured", ("", "why"), [[name, why] for name, why in sorted(missing.items())])


def _parts(found: Mapping[str, Any]) -> Iterator[Table]:
    rows = [
        [PART_NAMES[name], f"{found[name]['p50']:.2f}", f"{found[name]['p95']:.2f}"]
        for name in PART_NAMES
        if name in found
    ]
    title = f"A verdict, part by part: one thread, {found['mean_tokens']:.0f} tokens on average"
    yield Table(title, ("", "median ms", "p95 ms"), rows)


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


def _start(found: Mapping[str, Any]) -> Iterator[Table]:
    steps = [[name, f"{seconds:.3f}"] for name, seconds in found["steps_s"].items()]
    rows = [["interpreter", f"{found['interpreter']['wall_s']:.3f}"], *steps]
    rows.append(["distriage classify, as a process", f"{found['classify']['wall_s']:.3f}"])
    note = (
        f"The process computes {found['classify']['cpu_s']:.2f} s and holds {found['classify']['peak_mib']:.0f} MiB at "
        "most."
    )
    yield Table("From nothing to a verdict: seconds", ("", "median s"), rows, note)
    loaded = [[name, f"{row['ready_s']:.2f}", f"{row['peak_mib']:.0f}"] for name, row in found["ready"].items()]
    yield Table("Until the first answer, in a process that runs", ("", "seconds", "peak MiB"), loaded)


def _many(found: Mapping[str, Any]) -> Iterator[Table]:
    ours = found["distriage"]
    rows = [
        [f"distriage classify, {ours['workers']} workers", f"{ours['reports_per_s']:.1f}", f"{ours['peak_mib']:.0f}"]
    ]
    note = "Ours includes its start, reading and writing; the peak is that of its largest process."
    if pipeline := found.get("transformers pipeline"):
        name = f"transformers pipeline, batches of {pipeline['batch']}"
        rows.append([name, f"{pipeline['reports_per_s']:.1f}", f"{pipeline['peak_mib']:.0f}"])
        note += f" Ours is {found['ratio']:.2f} times as fast."
    yield Table(f"{found['reports']:,} reports on all cores", ("", "reports/s", "peak MiB"), rows, note)


def _http(found: Mapping[str, Any]) -> Iterator[Table]:
    rows = []
    for name, loads in found.items():
        for clients, row in loads.items():
            refused = sum(count for code, count in row["codes"].items() if code != "200")
            rows.append(
                [
                    f"{name}, {_clients(clients, row)}",
                    f"{row['requests_per_s']:.1f}",
                    f"{row['p50_ms']:.0f}",
                    f"{row['p99_ms']:.0f}",
                    str(refused),
                ]
            )
    yield Table("Over HTTP", ("", "requests/s", "median ms", "p99 ms", "refused"), rows)


def _clients(clients: str, row: Mapping[str, Any]) -> str:
    if clients == "overload":
        return f"{row['offered_per_s']:.0f} requests/s offered"
    return "1 client" if clients == "1" else f"{clients} clients"


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
