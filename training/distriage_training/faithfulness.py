"""Is `--explain` faithful? Deletion and insertion curves (Petsiuk et al., 2018, "RISE") of its lines against random and first ones.

Deletion takes a report's lines away, the heaviest first, and insertion begins with none and adds them in that order. At each step stands
the probability of the label that the whole report gets. Lines that carry a verdict make it fall at once, and rise at once.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

from distriage.classifier import Classifier
from distriage.explain import lines_of, occlusion, with_lines
from distriage.text import ModelInput, prepare
from distriage_training.corpus import Record
from distriage_training.metrics import paired_interval

STEPS = 10  # of a curve; a report of fewer lines repeats points
MIN_LINES = 3
ORDERS = ("explain", "random", "first")
KINDS = ("deletion", "insertion")
FIGURE = "faithfulness.png"


def measure_faithfulness(classifier: Classifier, records: Sequence[Record], count: int, seed: int, console: Console) -> dict[str, Any]:
    """Draw `count` reports of at least `MIN_LINES` lines and measure their curves on each axis that they are labelled on.

    Returns:
        `reports`, and axis -> `n`, and kind of curve -> order -> `curve` (mean probability, `STEPS` + 1 values), `area` (under it, 0 to 1), and
        for orders other than `explain` the 95 % interval of explain's area minus theirs, `gap_interval`.
    """
    generator = random.Random(seed)
    shuffled = generator.sample(records, len(records))
    whole = [(record, prepared) for record in shuffled if len(lines_of(prepared := prepare(record.title, record.body))) >= MIN_LINES][:count]
    curves: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
    for record, prepared in track(whole, "faithfulness", console=console, transient=True):
        axes = [axis for axis in classifier.bundle.taxonomy.axes if axis in record.labels]
        for axis, kinds in _curves_of_report(classifier, prepared, axes, generator).items():
            for kind, orders in kinds.items():
                for order, curve in orders.items():
                    curves.setdefault(axis, {}).setdefault(kind, {}).setdefault(order, []).append(curve)
    return {"reports": len(whole), "axes": {axis: _summary(kinds) for axis, kinds in curves.items()}}


def _curves_of_report(classifier: Classifier, whole: ModelInput, axes: Sequence[str], generator: random.Random) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Axis -> kind -> order -> curve."""
    count = len(lines_of(whole))
    weights = occlusion(classifier, whole, axes)
    shared = {"random": generator.sample(range(count), count), "first": list(range(count))}
    orders = {axis: {"explain": by_weight(weights[axis], count), **shared} for axis in axes}
    sizes = [round(count * step / STEPS) for step in range(STEPS + 1)]
    # Kept lines of every point of every curve; many coincide.
    kept = {
        axis: {
            order: {"deletion": [frozenset(lines[size:]) for size in sizes], "insertion": [frozenset(lines[:size]) for size in sizes]}
            for order, lines in by_order.items()
        }
        for axis, by_order in orders.items()
    }
    distinct = list({points: None for by_order in kept.values() for kinds in by_order.values() for curve in kinds.values() for points in curve})
    everything = frozenset(range(count))
    predictions = dict(zip(distinct, classifier.predict_inputs([with_lines(whole, points) for points in distinct]), strict=True))
    labels = {axis: predictions[everything].scores[axis].ranked()[0][0] for axis in axes}
    return {
        axis: {
            kind: {order: [predictions[points].scores[axis].probabilities[labels[axis]] for points in kept[axis][order][kind]] for order in ORDERS}
            for kind in KINDS
        }
        for axis in axes
    }


def by_weight(weights: Sequence[float], count: int) -> list[int]:
    """Places of `count` lines, the heaviest first; lines without a weight count 0, as lines that carry nothing do."""
    padded = [*weights, *[0.0] * (count - len(weights))]
    return sorted(range(count), key=lambda i: -padded[i])


def area(curve: Sequence[float]) -> float:
    """Area under a curve of evenly spaced points over [0, 1]."""
    return float(np.trapezoid(curve, dx=1 / (len(curve) - 1)))


def _summary(kinds: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> dict[str, Any]:
    result: dict[str, Any] = {"n": len(kinds["deletion"]["explain"])}
    for kind, orders in kinds.items():
        areas = {order: np.array([area(curve) for curve in curves]) for order, curves in orders.items()}
        result[kind] = {
            order: {
                "area": float(areas[order].mean()),
                "curve": [float(value) for value in np.mean(curves, axis=0)],
                **({} if order == "explain" else {"gap_interval": paired_interval(areas["explain"] - areas[order])}),
            }
            for order, curves in orders.items()
        }
    return result


def faithfulness_table(measured: Mapping[str, Any]) -> list[str]:
    """The areas as Markdown lines."""
    lines = [
        f"Faithfulness of `--explain` on {measured['reports']} reports: area under the curve; in brackets the 95 % interval of explain's area minus this one",
        "",
        "| axis (n) | curve | explain | random lines | first lines |",
        "|---|---|---|---|---|",
    ]
    for axis, row in measured["axes"].items():
        for kind, better in zip(KINDS, ("lower", "higher"), strict=True):
            cells = [f"{row[kind][o]['area']:.3f} ({row[kind][o]['gap_interval'][0]:+.3f} to {row[kind][o]['gap_interval'][1]:+.3f})" for o in ORDERS[1:]]
            lines.append(f"| {axis} ({row['n']}) | {kind}, {better} is better | **{row[kind]['explain']['area']:.3f}** | {' | '.join(cells)} |")
    return lines


def draw_faithfulness(measured: Mapping[str, Any], folder: Path) -> None:
    """Write `FIGURE`: a row of plots a kind of curve, a column an axis."""
    axes = measured["axes"]
    figure = Figure(figsize=(2.6 * len(axes) + 1, 5), layout="constrained")
    plots = figure.subplots(len(KINDS), len(axes), sharex=True, sharey=True, squeeze=False)
    for column, (axis, row) in enumerate(axes.items()):
        for plot, kind in zip(plots[:, column], KINDS, strict=True):
            for order in ORDERS:
                plot.plot(np.linspace(0, 1, STEPS + 1), row[kind][order]["curve"], label=order)
            plot.set_title(f"{axis}, {kind} (n = {row['n']})", fontsize=9)
            plot.set_ylim(0, 1)
    figure.supxlabel("share of the lines taken away, or put in")
    figure.supylabel("probability of the label of the whole report")
    plots[0, 0].legend()
    figure.savefig(folder / FIGURE, dpi=110)
