"""`distriage bench`: measures the chosen sections, one after the other."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.engine.workers import cores
from distriage.model.shipped import find_bundle
from distriage_training.bench import load, queue, start
from distriage_training.bench.inputs import load_reports, machine, versions
from distriage_training.bench.spawn import in_child
from distriage_training.bench.start import with_workers

FORMAT = 1
SECTIONS = ("parts", "start", "many", "http", "queue")
Figures = dict[str, Any]


@dataclass(frozen=True)
class Order:
    """Settings of a run.

    Attributes:
        model: A bundle's folder or the name of a shipped model; the default model if None.
        reports: A file of reports; the bundle's reference reports if None.
        count: Reports of `parts` and `http`, and pages of `queue`.
        rounds: Passes over them, and runs of a process.
        seconds: Length of each load of `http`.
        issues: Open issues of `queue`.
        database: URL of an empty PostgreSQL database for `queue`; without it, only SQLite is measured.
    """

    model: str | None
    reports: Path | None
    count: int
    rounds: int
    many: int
    seconds: float
    issues: int = 10_000
    database: str = ""

    @cached_property
    def bundle(self) -> Path:
        """The bundle's folder."""
        return find_bundle(self.model).resolve()

    @property
    def given(self) -> Figures:
        """Arguments of every measurement that runs in its own process."""
        return {"bundle": self.bundle, "reports": str(self.reports.resolve()) if self.reports else ""}

    def heading(self) -> Figures:
        """The figures known beforehand: what is measured, on which machine.

        Raises:
            DistriageError: unknown bundle, or a file without a usable report.
        """
        load_reports(self.bundle, self.reports, 1)
        return {
            "format": FORMAT,
            "made": datetime.now(UTC).strftime("%Y-%m-%d"),
            "model": self.bundle.name,
            "reports": {"file": self.reports.name if self.reports else "reference.json", "count": self.count},
            "machine": machine(),
            "versions": versions(),
            "rounds": self.rounds,
            "missing": {},
        }

    def parts(self) -> Figures:
        """Each step of a verdict."""
        found: Figures = in_child("parts", **self.given, count=self.count, rounds=self.rounds)
        return found

    def start(self, folder: Path) -> Figures:
        """From nothing to a verdict."""
        found = start.measure(self.bundle, load_reports(self.bundle, self.reports, 1)[0], self.rounds, folder)
        found["ready"] = {"distriage": in_child("ready", **self.given)}
        return found

    def answer_many(self, folder: Path) -> Figures:
        """A file of reports on all cores."""
        reports = load_reports(self.bundle, self.reports, self.many)
        return {"reports": self.many, "distriage": local_engine(self.bundle, reports, folder, cores())}

    def http(self, folder: Path, missing: dict[str, str]) -> Figures:
        """Load a server; `missing` says why if it cannot be started."""
        if not can_serve(missing):
            return {}
        bodies = [
            {"title": report.title, "body": report.body}
            for report in load_reports(self.bundle, self.reports, self.count)
        ]
        with load.ours(self.bundle, cores(), folder / "server.log") as url:
            return {"distriage": load.measure(load.Target(f"{url}/v1/classify", bodies), self.seconds)}

    def queue(self, folder: Path, missing: dict[str, str]) -> Figures:
        """Pages of the triage queue; `missing` says why if they cannot be shown."""
        if not can_serve(missing):
            return {}
        databases = {"SQLite": f"sqlite:///{folder / 'queue.db'}"}
        if self.database:
            databases["PostgreSQL"] = self.database
        else:
            missing["PostgreSQL"] = "needs --database: the URL of an empty database"
        reports = load_reports(self.bundle, self.reports, self.count)
        for url in reversed(databases.values()):  # one that is not empty is refused before anything is measured
            queue.fill(self.bundle, reports, self.issues, url, folder)
        pages = {name: queue.measure(self.bundle, reports, self.issues, url, folder) for name, url in databases.items()}
        return {"issues": self.issues, "pages": pages}


def can_serve(missing: dict[str, str]) -> bool:
    """Whether `distriage serve` is installed; if not, `missing` says so."""
    if not (found := installed("fastapi")):
        missing["distriage serve"] = "needs fastapi: pip install 'distriage[serve]'"
    return found


def installed(module: str) -> bool:
    """Whether a package is installed, without importing it."""
    return importlib.util.find_spec(module) is not None


def check_sections(wanted: Collection[str] | None, known: Collection[str]) -> frozenset[str]:
    """The sections asked for; all if empty.

    Raises:
        InputError: an unknown section.
    """
    if unknown := set(wanted or ()) - set(known):
        raise InputError(f"--only {min(unknown)}: expected one of {', '.join(known)}")
    return frozenset(wanted or ())


def measure(order: Order, only: Collection[str], console: Console) -> Iterator[Figures]:
    """Measure `SECTIONS`, or those of `only`; see `measure_sections`."""
    figures = order.heading()
    with tempfile.TemporaryDirectory(prefix="distriage-bench-") as name:
        folder = Path(name)
        sections: dict[str, Callable[[], Any]] = {
            "parts": order.parts,
            "start": lambda: order.start(folder),
            "many": lambda: order.answer_many(folder),
            "http": lambda: order.http(folder, figures["missing"]),
            "queue": lambda: order.queue(folder, figures["missing"]),
        }
        yield from measure_sections(figures, sections, only, console)


def measure_sections(
    figures: Figures, sections: Mapping[str, Callable[[], Any]], only: Collection[str], console: Console
) -> Iterator[Figures]:
    """Measure each section, all of them where `only` is empty, and say on `console` which one is under way.

    Yields the figures so far: before the first section, then after each, since some run for minutes and may be
    interrupted.

    Raises:
        DistriageError: a measurement failed.
    """
    yield figures
    for section, measured in sections.items():
        if section in (only or sections):
            console.print(f"bench: {section}", style="dim")
            figures[section] = measured()
            yield figures


def local_engine(bundle: Path, reports: Sequence[IssueReport], folder: Path, workers: int) -> dict[str, float]:
    """`distriage classify FILE`, including start-up, reading and writing; the peak is that of its largest process."""
    given, output = folder / "many.jsonl", folder / "verdicts.jsonl"
    with given.open("w", encoding="utf-8") as stream:
        for report in reports:
            stream.write(json.dumps({"title": report.title, "body": report.body}) + "\n")
    command = ["-m", "distriage", "classify", str(given), "--model", str(bundle), "--output", str(output)]
    took = with_workers([*command, "--workers", str(workers)])
    with output.open(encoding="utf-8") as stream:
        answers = sum(1 for _ in stream)
    return {"workers": workers, "reports_per_s": round(answers / took["wall_s"], 2), **took}
