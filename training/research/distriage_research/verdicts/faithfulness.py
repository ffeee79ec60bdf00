"""Is `--explain` faithful? Deletion and insertion curves (Petsiuk et al., 2018, "RISE") of its lines against random
and first ones.

Deletion takes a report's lines away, the heaviest first; insertion begins with none and adds them in that order. A
curve is the probability, at each step, of the label that the whole report gets. Lines that carry a verdict make it fall
at once, or rise at once.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

from distriage.answer.explain import lines_of, occlusion, with_lines
from distriage.base.validation import Strict
from distriage.classifier import Classifier
from distriage.recipe.text import ModelInput, prepare
from distriage_research.intervals import paired_interval
from distriage_training.corpus.records import Record
from distriage_training.measure.evaluation import Interval
from distriage_training.measure.tables import markdown

STEPS = 10  # of a curve; a report of fewer lines repeats points
MIN_LINES = 3
ORDERS = ("explain", "random", "first")
KINDS = ("deletion", "insertion")
FIGURE = "faithfulness.png"


class Curve(Strict):
    """A deletion or insertion curve of `--explain`.

    Attributes:
        area: Under it, 0 to 1.
        curve: Mean probability at evenly spaced points.
        gap_interval: 95 % interval of explain's area minus this one.
    """

    area: float
    curve: tuple[float, ...]
    gap_interval: Interval | None = None


class AxisFaithfulness(Strict):
    """Curves by order of lines (`explain`, `random`, `first`)."""

    n: int
    deletion: Mapping[str, Curve]
    insertion: Mapping[str, Curve]


class FaithfulnessResult(Strict):
    """How faithful `--explain` is, axis by axis."""

    reports: int
    axes: Mapping[str, AxisFaithfulness]


def measure_faithfulness(
    classifier: Classifier, records: Sequence[Record], count: int, seed: int, console: Console
) -> FaithfulnessResult:
    """Draw `count` reports of at least `MIN_LINES` lines; measure their curves on each axis that they are labelled on.

    Returns:
        Curves of `STEPS` + 1 points.
    """
    generator = random.Random(seed)
    shuffled = generator.sample(records, len(records))
    whole = [
        (record, prepared)
        for record in shuffled
        if len(lines_of(prepared := prepare(record.title, record.body))) >= MIN_LINES
    ][:count]
    curves: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
    for record, prepared in track(whole, "faithfulness", console=console, transient=True):
        axes = [axis for axis in classifier.bundle.taxonomy.axes if axis in record.labels]
        for axis, kinds in _curves_of_report(classifier, prepared, axes, generator).items():
            for kind, orders in kinds.items():
                for order, curve in orders.items():
                    curves.setdefault(axis, {}).setdefault(kind, {}).setdefault(order, []).append(curve)
    return FaithfulnessResult(reports=len(whole), axes={axis: _summary(kinds) for axis, kinds in curves.items()})


def _curves_of_report(
    classifier: Classifier, whole: ModelInput, axes: Sequence[str], generator: random.Random
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Axis -> kind -> order -> curve."""
    count = len(lines_of(whole))
    weights = occlusion(classifier.predict_inputs, whole)
    shared = {"random": generator.sample(range(count), count), "first": list(range(count))}
    orders = {axis: {"explain": by_weight(weights[axis], count), **shared} for axis in axes}
    sizes = [round(count * step / STEPS) for step in range(STEPS + 1)]
    # Kept lines of every point of every curve; many coincide.
    kept = {
        axis: {
            order: {
                "deletion": [frozenset(lines[size:]) for size in sizes],
                "insertion": [frozenset(lines[:size]) for size in sizes],
            }
            for order, lines in by_order.items()
        }
        for axis, by_order in orders.items()
    }
    distinct = list(
        {
            points: None
            for by_order in kept.values()
            for kinds in by_order.values()
            for curve in kinds.values()
            for points in curve
        }
    )
    everything = frozenset(range(count))
    predictions = dict(
        zip(distinct, classifier.predict_inputs([with_lines(whole, points) for points in distinct]), strict=True)
    )
    labels = {axis: predictions[everything].scores[axis].ranked()[0][0] for axis in axes}
    return {
        axis: {
            kind: {
                order: [
                    predictions[points].scores[axis].probabilities[labels[axis]] for points in kept[axis][order][kind]
                ]
                for order in ORDERS
            }
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


def _summary(kinds: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> AxisFaithfulness:
    found: dict[str, dict[str, Curve]] = {}
    for kind, orders in kinds.items():
        areas = {order: np.array([area(curve) for curve in curves]) for order, curves in orders.items()}
        found[kind] = {
            order: Curve(
                area=float(areas[order].mean()),
                curve=tuple(float(value) for value in np.mean(curves, axis=0)),
                gap_interval=None if order == "explain" else paired_interval(areas["explain"] - areas[order]),
            )
            for order, curves in orders.items()
        }
    return AxisFaithfulness(
        n=len(kinds["deletion"]["explain"]), deletion=found["deletion"], insertion=found["insertion"]
    )


def faithfulness_table(measured: FaithfulnessResult) -> str:
    """The areas as Markdown."""
    title = (
        f"Faithfulness of `--explain` on {measured.reports} reports: area under the curve; "
        "in brackets the 95 % interval of explain's area minus this one\n\n"
    )
    rows = []
    for axis, row in measured.axes.items():
        for kind, better, curves in (("deletion", "lower", row.deletion), ("insertion", "higher", row.insertion)):
            others = [_with_gap(curves[order]) for order in ORDERS[1:]]
            rows.append(
                [f"{axis} ({row.n})", f"{kind}, {better} is better", f"**{curves['explain'].area:.3f}**", *others]
            )
    return title + markdown(["axis (n)", "curve", "explain", "random lines", "first lines"], rows)


def _with_gap(curve: Curve) -> str:
    low, high = curve.gap_interval or (0.0, 0.0)
    return f"{curve.area:.3f} ({low:+.3f} to {high:+.3f})"


def draw_faithfulness(measured: FaithfulnessResult, folder: Path) -> None:
    """Write `FIGURE`: a row of plots a kind of curve, a column an axis."""
    axes = measured.axes
    figure = Figure(figsize=(2.6 * len(axes) + 1, 5), layout="constrained")
    plots = figure.subplots(len(KINDS), len(axes), sharex=True, sharey=True, squeeze=False)
    for column, (axis, row) in enumerate(axes.items()):
        for plot, kind in zip(plots[:, column], KINDS, strict=True):
            for order in ORDERS:
                plot.plot(np.linspace(0, 1, STEPS + 1), getattr(row, kind)[order].curve, label=order)
            plot.set_title(f"{axis}, {kind} (n = {row.n})", fontsize=9)
            plot.set_ylim(0, 1)
    figure.supxlabel("share of the lines taken away, or put in")
    figure.supylabel("probability of the label of the whole report")
    plots[0, 0].legend()
    figure.savefig(folder / FIGURE, dpi=110)
