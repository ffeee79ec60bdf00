"""Each source of annotations left out in turn: its contribution."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from distriage.base.errors import ConfigError
from distriage_research.experiments.linear import EVERYTHING, AxisScores, Linear
from distriage_training.config import Config
from distriage_training.corpus.load import load_splits


def leave_out_sources(
    config: Config, output: Path, console: Console, sources: Sequence[str] = ()
) -> dict[str, AxisScores]:
    """Fit the sparse head without each source of training records in turn; measure on all validation reports.

    A source whose annotators kept another convention, or whose labels are lopsided, helps one axis and harms another;
    `training.label_weights` is the remedy.

    Args:
        output: Folder for linear.json.
        sources: None given: all.

    Returns:
        `EVERYTHING` and `without SOURCE` -> scores.

    Raises:
        ConfigError: a source without training records.
    """
    taxonomy = config.load_taxonomy()
    splits = load_splits(config, taxonomy, console)
    known = sorted({record.source for record in splits.train})
    if unknown := sorted(set(sources) - set(known)):
        raise ConfigError(
            f"{config.path}: no training record of source {', '.join(unknown)}; sources: {', '.join(known)}"
        )
    linear = Linear(config, taxonomy, splits, output)
    arms = {EVERYTHING: splits.train}
    for source in sources or known:
        arms[f"without {source}"] = [record for record in splits.train if record.source != source]
    return {
        key: linear.scores(splits.validation, linear.labels(key, train, splits.validation))
        for key, train in track(arms.items(), "sources", console=console, transient=True)
    }
