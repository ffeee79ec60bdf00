"""Three figures of docs/benchmarks.md, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from distriage_training.bench.layout import PART_NAMES
from distriage_training.bench.parts import STEPS

_COLOURS = {"distriage": "#5560a8", "transformers pipeline": "#b08a2e", "SetFit predict": "#4a8a52"}
_OTHER = "#8a8d9c"
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "distriage",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(figures: Mapping[str, Any], folder: Path) -> None:
    """Write bench-latency.svg, bench-parts.svg and bench-clients.svg."""
    with matplotlib.rc_context(_SETTINGS):  # type: ignore[arg-type] # it wants every key spelt out
        for name, figure in {
            "latency": _latency(figures["text"]["1"]["lengths"]),
            "parts": _parts(figures["parts"]),
            "clients": _clients(figures["http"]),
        }.items():
            figure.savefig(folder / f"bench-{name}.svg", metadata={"Date": None})


def _latency(lengths: Any) -> Figure:
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    plot = figure.subplots()
    for name in lengths[0]["p50"]:
        colour = _COLOURS.get(name, _OTHER)
        plot.plot([row["tokens"] for row in lengths], [row["p50"][name] for row in lengths], "o-", c=colour, label=name)
    plot.set(xlabel="tokens of the report", ylabel="median ms, one thread", ylim=(0, None))
    plot.legend(frameon=False)
    return figure


def _parts(found: Mapping[str, Any]) -> Figure:
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    plot = figure.subplots()
    names = list(reversed(STEPS))
    values = [found[name]["p50"] for name in names]
    bars = plot.barh([PART_NAMES[name] for name in names], values, color=_COLOURS["distriage"])
    plot.bar_label(bars, [f"{value:.1f}" for value in values], padding=3)
    plot.set(xlabel="median ms, one thread")
    return figure


def _clients(found: Mapping[str, Any]) -> Figure:
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    rate, tail = figure.subplots(1, 2)
    for name, loads in found.items():
        clients = [key for key in loads if key != "overload"]
        colour = _COLOURS.get(name, _OTHER)
        rate.plot(clients, [loads[key]["requests_per_s"] for key in clients], "o-", c=colour, label=name)
        tail.plot(clients, [loads[key]["p99_ms"] for key in clients], "o-", c=colour, label=name)
    rate.set(xlabel="clients", ylabel="requests/s", ylim=(0, None))
    tail.set(xlabel="clients", ylabel="p99 ms", yscale="log")
    rate.legend(frameon=False)
    return figure
