"""`distriage bench`: measures what was asked for, one thing after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from distriage.base.errors import DistriageError
from distriage.engine.workers import cores
from distriage.model.shipped import find_bundle
from distriage.recipe.text import prepare
from distriage_training.bench import equal, load, peers, start, throughput
from distriage_training.bench.files import EXTRA
from distriage_training.bench.inputs import load_reports, machine, versions
from distriage_training.bench.spawn import in_child

FORMAT = 1
EQUAL = "equal"
SECTIONS = ("parts", "start", "graph", "text", "many", "http", "past")
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """What to measure.

    Attributes:
        reports: A file of reports; None: the bundle's reference reports.
        count: Reports of `parts`, `graph` and `text`.
        rounds: Of them, and runs of a process.
        many: Reports of `many`.
        seconds: Of each load of `http`.
        issues: Past issues among which `past` looks.
        infinity: An address or a command line of infinity-emb; empty: not measured.
        equal: Reports that are answered in every way; 0: none.
        only: Sections, or `EQUAL` alone for none of them; empty: all.
    """

    model: str | None
    reports: Path | None
    count: int
    rounds: int
    many: int
    seconds: float
    encoder: Path | None
    infinity: str
    equal: int
    issues: int
    only: frozenset[str]


def measure(order: Order, console: Console) -> Iterator[Figures]:
    """Measure, and say on `console` what is being done.

    Yields the figures so far: before the first section, then after each, since some run for minutes and may be
    interrupted.

    Raises:
        DistriageError: a measurement failed; a peer that is not installed is named in `missing` instead.
    """
    bundle = find_bundle(order.model).resolve()
    load_reports(bundle, order.reports, 1)  # a file that holds none is refused first
    figures: Figures = {
        "format": FORMAT,
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "model": bundle.name,
        "reports": {"file": order.reports.name if order.reports else "reference.json", "count": order.count},
        "machine": machine(),
        "versions": versions(),
        "rounds": order.rounds,
        "missing": {},
    }
    yield figures
    wanted = order.only or frozenset(SECTIONS)
    with tempfile.TemporaryDirectory(prefix="distriage-bench-") as name:
        folder = Path(name)
        given = {"bundle": bundle, "reports": str(order.reports.resolve()) if order.reports else ""}
        others: Figures = {"missing": {}}
        if wanted & {"start", "graph", "text", "many", "http"}:
            console.print("bench: peers", style="dim")
            graphs = folder if "graph" in wanted else ""
            others = in_child("files", **given, count=peers.CALIBRATION, encoder=order.encoder, folder=graphs)
            figures["missing"] = others["missing"]
        measures: dict[str, Callable[[], Any]] = {
            "parts": lambda: in_child("parts", **given, count=order.count, rounds=order.rounds),
            "start": lambda: _start(order, bundle, given, others, folder),
            "graph": lambda: by_threads("graphs", order, given, others),
            "text": lambda: by_threads("texts", order, given, others),
            "many": lambda: _many(order, bundle, given, others, folder),
            "http": lambda: _http(order, bundle, others, folder, figures["missing"]),
            "past": lambda: in_child("past", **given, count=order.many, issues=order.issues, folder=folder),
        }
        for section in SECTIONS:
            if section in wanted:
                console.print(f"bench: {section}", style="dim")
                figures[section] = measures[section]()
                yield figures
        if order.equal:
            console.print("bench: equal answers", style="dim")
            reports = load_reports(bundle, order.reports, order.equal)
            figures[EQUAL] = equal.measure(bundle, reports, folder)
            yield figures


def by_threads(task: str, order: Order, given: Figures, others: Figures) -> Figures:
    """A task's figures with one thread and with one a core, by the number of threads."""
    rows = {"count": order.count, "rounds": order.rounds, "others": others}
    return {str(threads): in_child(task, **given, **rows, threads=threads) for threads in sorted({1, cores()})}


def _start(order: Order, bundle: Path, given: Figures, others: Figures, folder: Path) -> Figures:
    report = load_reports(bundle, order.reports, 1)[0]
    found = start.measure(bundle, report, order.rounds, folder)
    names = ["distriage", *(name for name in start.LOADERS if name not in others["missing"])]
    found["ready"] = {name: in_child("ready", **given, count=1, name=name, others=others) for name in names}
    return found


def _many(order: Order, bundle: Path, given: Figures, others: Figures, folder: Path) -> Figures:
    reports = load_reports(bundle, order.reports, order.many)
    found: Figures = {"reports": order.many}
    found["distriage"] = throughput.local_engine(bundle, reports, folder, cores())
    if "transformers pipeline" not in others["missing"]:
        found["transformers pipeline"] = in_child("pipeline", **given, count=order.many, others=others, threads=cores())
        ours, theirs = (found[name]["reports_per_s"] for name in ("distriage", "transformers pipeline"))
        found["ratio"] = round(ours / theirs, 2)
    return found


def _http(order: Order, bundle: Path, others: Figures, folder: Path, missing: dict[str, str]) -> Figures:
    reports = load_reports(bundle, order.reports, order.count)
    found: Figures = {}
    if not peers.installed("fastapi"):
        missing["distriage serve"] = f"needs fastapi: {EXTRA}"
        return found
    with load.ours(bundle, cores(), folder / "server.log") as url:
        bodies = [{"title": report.title, "body": report.body} for report in reports]
        found["distriage"] = load.measure(load.Target(f"{url}/v1/classify", bodies), order.seconds)
    if not order.infinity:
        missing["infinity-emb"] = "needs --infinity: an address, or the program of an installation of its own"
    elif "encoder" in others:
        texts = [prepare(report.title, report.body).text for report in reports]
        try:
            with load.infinity(order.infinity, Path(others["encoder"]), folder / "infinity.log") as url:
                route = load.Target(f"{url}/embeddings", [{"model": "encoder", "input": [text]} for text in texts])
                found["infinity-emb"] = load.measure(route, order.seconds)
        except DistriageError as error:
            missing["infinity-emb"] = str(error)
    return found
