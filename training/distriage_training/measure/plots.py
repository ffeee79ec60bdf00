"""Figures of an evaluation: confusion per axis, reliability, precision against coverage. PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from distriage_training.measure.scoring import precision_coverage_curve

AxisData = tuple[
    Sequence[str], NDArray[np.integer], NDArray[np.floating]
]  # labels, truth [n], probabilities [n, labels]


def draw_figures(axes: Mapping[str, AxisData], folder: Path) -> None:
    """Write `confusion-AXIS.png` per axis, `reliability.png` and `precision-coverage.png`."""
    for axis, data in axes.items():
        _confusion(axis, data).savefig(folder / f"confusion-{axis}.png", dpi=110)
    _reliability(axes).savefig(folder / "reliability.png", dpi=110)
    _precision_coverage(axes).savefig(folder / "precision-coverage.png", dpi=110)


def _confusion(axis: str, data: AxisData) -> Figure:
    labels, truth, probabilities = data
    predicted = probabilities.argmax(1)
    shown = sorted(set(truth.tolist()) | set(predicted.tolist()))
    place = {label: i for i, label in enumerate(shown)}
    counts = np.zeros((len(shown), len(shown)), int)
    for t, p in zip(truth.tolist(), predicted.tolist(), strict=True):
        counts[place[t], place[p]] += 1
    side = 3.4 + 0.28 * len(shown)
    figure = Figure(figsize=(side + 1, side), layout="constrained")
    plot = figure.subplots()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    plot.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = [labels[i] for i in shown]
    plot.set_xticks(range(len(shown)), names, rotation=90, fontsize=7)
    plot.set_yticks(range(len(shown)), names, fontsize=7)
    plot.set(xlabel="predicted", ylabel="true", title=f"{axis} (n = {len(truth)})")
    for (row, column), count in np.ndenumerate(counts):
        if count:
            plot.text(
                column,
                row,
                str(count),
                ha="center",
                va="center",
                fontsize=6,
                color="white" if shares[row, column] > 0.5 else "black",
            )
    return figure


def _reliability(axes: Mapping[str, AxisData]) -> Figure:
    figure = Figure(figsize=(6, 5.4), layout="constrained")
    plot = figure.subplots()
    plot.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
    for axis, (_, truth, probabilities) in axes.items():
        confidence = probabilities.max(1)
        right = probabilities.argmax(1) == truth
        parts = [part for part in np.array_split(np.argsort(confidence), 8) if len(part)]
        plot.plot(
            [confidence[part].mean() for part in parts],
            [right[part].mean() for part in parts],
            marker="o",
            markersize=3,
            label=axis,
        )
    plot.set(
        xlabel="confidence",
        ylabel="accuracy",
        title="Reliability (eight bins of equal size)",
        xlim=(0, 1.02),
        ylim=(0, 1.02),
    )
    plot.legend()
    return figure


def _precision_coverage(axes: Mapping[str, AxisData]) -> Figure:
    figure = Figure(figsize=(6, 5.4), layout="constrained")
    plot = figure.subplots()
    for axis, (_, truth, probabilities) in axes.items():
        coverage, precision = precision_coverage_curve(truth, probabilities)
        start = min(9, len(coverage) - 1)
        plot.plot(coverage[start:], precision[start:], label=axis)
    plot.axhline(0.9, color="grey", linewidth=1, linestyle=":")
    plot.set(
        xlabel="coverage",
        ylabel="precision of the top label",
        title="Precision against coverage",
        xlim=(0, 1.02),
        ylim=(0, 1.02),
    )
    plot.legend(loc="lower left")
    return figure
