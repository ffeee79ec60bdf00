"""The figures as tables of text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    note: How to read it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


Builder = Callable[[Any], Iterator[Table]]  # a section's figures -> its tables


def tables(figures: Mapping[str, Any], builders: Mapping[str, Builder] | None = None) -> Iterator[Table]:
    """The tables of the sections that were measured.

    Args:
        builders: Section -> its tables, in display order; `BUILDERS` by default.
    """
    for section, build in (builders or BUILDERS).items():
        if figures.get(section):
            yield from build(figures[section])
    if missing := figures.get("missing"):
        yield Table("Not measured", ("", "why"), [[name, why] for name, why in sorted(missing.items())])


def parts_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Each step of a verdict."""
    rows = [
        [PART_NAMES[name], f"{found[name]['p50']:.2f}", f"{found[name]['p95']:.2f}"]
        for name in PART_NAMES
        if name in found
    ]
    title = f"A verdict, part by part: one thread, {found['mean_tokens']:.0f} tokens on average"
    yield Table(title, ("", "median ms", "p95 ms"), rows)


def start_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """A cold start, as a whole and in parts."""
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


def many_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Reports a second, and the memory that they take."""
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


def http_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Requests a second, their latency and how many were refused, at each load."""
    rows, notes = [], []
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
            if "share_of_best" in row:
                notes.append(
                    f"{name}: under overload it answers {row['share_of_best']:.2f} of its best rate; "
                    f"a refusal takes {row['refused_p50_ms']:.1f} ms (median)."
                )
    yield Table("Over HTTP", ("", "requests/s", "median ms", "p99 ms", "refused"), rows, " ".join(notes))


def queue_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Pages of the triage queue, on each database."""
    rows = [
        [f"{database}: {page}", f"{row['p50']:.0f}", f"{row['p95']:.0f}", f"{row['kb']:.0f}"]
        for database, pages in found["pages"].items()
        for page, row in pages.items()
    ]
    note = (
        "One person asks for one page after the other. Half of the searches find nothing, so they read all issues. "
        "PostgreSQL was vacuumed and analyzed once after the filling, as its autovacuum does during a real backfill."
    )
    yield Table(f"The triage queue with {found['issues']:,} open issues", ("", "median ms", "p95 ms", "kB"), rows, note)


def _clients(clients: str, row: Mapping[str, Any]) -> str:
    if clients == "overload":
        return f"{row['offered_per_s']:.0f} requests/s offered"
    return "1 client" if clients == "1" else f"{clients} clients"


BUILDERS: Mapping[str, Builder] = {
    "parts": parts_tables,
    "start": start_tables,
    "many": many_tables,
    "http": http_tables,
    "queue": queue_tables,
}
