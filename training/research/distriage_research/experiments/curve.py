"""Learning curve of the sparse head: how much would more annotations bring?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

from distriage_research.experiments.linear import EVERYTHING, AxisScores, Linear
from distriage_training.config import Config
from distriage_training.corpus.load import draw, load_splits


def learning_curve(config: Config, shares: Sequence[float], output: Path, console: Console) -> dict[str, AxisScores]:
    """Fit on growing shares of the training records, measure on validation. Each share contains the smaller ones.

    Args:
        shares: Of the training records, in (0, 1].
        output: Folder for linear.json and learning-curve.png.

    Returns:
        Number of training records, as text -> scores.
    """
    taxonomy = config.load_taxonomy()
    splits = load_splits(config, taxonomy, console)
    linear = Linear(config, taxonomy, splits, output)
    order = draw(splits.train, len(splits.train), taxonomy, config.seed)
    curve: dict[str, AxisScores] = {}
    for share in track(sorted(shares), "learning curve", console=console, transient=True):
        part = order[: max(8, round(share * len(order)))]
        key = EVERYTHING if len(part) == len(order) else f"first {len(part)}"
        curve[str(len(part))] = linear.scores(splits.validation, linear.labels(key, part, splits.validation))
    _draw(curve).savefig(output / "learning-curve.png", dpi=110)
    return curve


def _draw(curve: Mapping[str, AxisScores]) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    plots = figure.subplots(1, 2, sharex=True)
    sizes = [int(size) for size in curve]
    for plot, (score, name) in zip(plots, (("accuracy", "accuracy"), ("macro_f1", "macro-F1")), strict=True):
        for axis in dict.fromkeys(axis for scores in curve.values() for axis in scores):
            values = [getattr(scores[axis], score) for scores in curve.values()]
            plot.plot(sizes, values, marker="o", markersize=3, label=axis)
        plot.set(xscale="log", xlabel="training records", ylabel=name, ylim=(0, 1))
        plot.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=8)
        plot.minorticks_off()
        plot.grid(alpha=0.3)
    plots[0].legend(fontsize=8, ncols=2, loc="lower right")
    figure.suptitle("Learning curve of the sparse head, validation")
    return figure
