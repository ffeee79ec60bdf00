"""The benchmark of the documentation: the sections of `distriage bench`, peers beside them, and past issues."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from distriage.base.errors import DistriageError
from distriage.engine.workers import cores
from distriage.recipe.text import prepare
from distriage_research.bench import equal, infinity, peers
from distriage_training.bench import load, spawn
from distriage_training.bench.inputs import load_reports
from distriage_training.bench.run import Figures, Order, measure_sections

EQUAL = "equal"
SECTIONS = ("parts", "start", "graph", "text", "many", "http", "past", "queue")


@dataclass(frozen=True, slots=True)
class Beside:
    """Peers and further measurements.

    Attributes:
        encoder: The peers' encoder; all-MiniLM-L6-v2 if None.
        infinity: An address or a command line of infinity-emb; empty: not measured.
        equal: Number of reports answered in every way.
        issues: Past issues among which `past` looks.
    """

    encoder: Path | None = None
    infinity: str = ""
    equal: int = 0
    issues: int = 100_000


def in_child(task: str, **arguments: Any) -> Any:
    """`spawn.in_child` of our tasks."""
    return spawn.in_child(task, module="distriage_research.bench.child", **arguments)


def measure(order: Order, beside: Beside, only: Collection[str], console: Console) -> Iterator[Figures]:
    """Measure `SECTIONS`, or those of `only`; see `measure_sections`. `EQUAL` alone measures none of them.

    Raises:
        DistriageError: a measurement failed; a peer that is not installed is named in `missing` instead.
    """
    figures, given = order.heading(), order.given
    with tempfile.TemporaryDirectory(prefix="distriage-bench-") as name:
        folder = Path(name)
        others: Figures = {"missing": {}}
        if set(only or SECTIONS) & {"start", "graph", "text", "many", "http"}:
            console.print("bench: peers", style="dim")
            graphs = folder if "graph" in (only or SECTIONS) else ""
            others = in_child("files", **given, count=peers.CALIBRATION, encoder=beside.encoder, folder=graphs)
            figures["missing"] = others["missing"]
        sections: dict[str, Callable[[], Any]] = {
            "parts": order.parts,
            "start": lambda: _start(order, others, folder),
            "graph": lambda: by_threads("graphs", order, others),
            "text": lambda: by_threads("texts", order, others),
            "many": lambda: _many(order, others, folder),
            "http": lambda: _http(order, beside.infinity, others, folder, figures["missing"]),
            "past": lambda: in_child("past", **given, count=order.many, issues=beside.issues, folder=folder),
            "queue": lambda: order.queue(folder, figures["missing"]),
        }
        yield from measure_sections(figures, sections, only, console)
        if beside.equal:
            console.print("bench: equal answers", style="dim")
            reports = load_reports(order.bundle, order.reports, beside.equal)
            figures[EQUAL] = equal.measure(order.bundle, reports, folder)
            yield figures


def by_threads(task: str, order: Order, others: Figures) -> Figures:
    """A task's figures with one thread and with one a core, by the number of threads."""
    given = {**order.given, "count": order.count, "rounds": order.rounds, "others": others}
    return {str(threads): in_child(task, **given, threads=threads) for threads in sorted({1, cores()})}


def _start(order: Order, others: Figures, folder: Path) -> Figures:
    found = order.start(folder)
    for name in peers.LOADERS:
        if name not in others["missing"]:
            found["ready"][name] = in_child("ready", **order.given, name=name, others=others)
    return found


def _many(order: Order, others: Figures, folder: Path) -> Figures:
    found = order.answer_many(folder)
    if (peer := "transformers pipeline") not in others["missing"]:
        found[peer] = in_child("pipeline", **order.given, count=order.many, others=others, threads=cores())
        found["ratio"] = round(found["distriage"]["reports_per_s"] / found[peer]["reports_per_s"], 2)
    return found


def _http(order: Order, command: str, others: Figures, folder: Path, missing: dict[str, str]) -> Figures:
    found = order.http(folder, missing)
    if not command:
        missing["infinity-emb"] = "needs --infinity: an address, or the program of an installation of its own"
    elif found and "encoder" in others:
        texts = [prepare(one.title, one.body).text for one in load_reports(order.bundle, order.reports, order.count)]
        try:
            with infinity.started(command, Path(others["encoder"]), folder / "infinity.log") as url:
                route = load.Target(f"{url}/embeddings", [{"model": "encoder", "input": [text]} for text in texts])
                found["infinity-emb"] = load.measure(route, order.seconds)
        except DistriageError as error:
            missing["infinity-emb"] = str(error)
    return found
