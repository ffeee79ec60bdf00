"""The domain gate on repositories that it never saw, and its cost on unseen bugs of its own domain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distriage.base.types import Mode
from distriage.classifier import Classifier
from distriage_training.config import Config
from distriage_training.corpus.load import Splits
from distriage_training.fit.domain import FOLDS
from distriage_training.fit.domain_data import MODES, labelled, read_domain_data
from distriage_training.measure.tables import markdown

MIN_REPORTS = 25  # of a repository with a line of its own


@dataclass(frozen=True, slots=True)
class Labelled:
    """Shares of some reports: that pass the gate of `balanced`; that get a label without one, and with it, by mode."""

    n: int
    passed: float
    ungated: Mapping[Mode, float]
    gated: Mapping[Mode, float]


def measure_domain(classifier: Classifier, config: Config, splits: Splits) -> dict[str, Labelled]:
    """Fit the gate without one fold of repositories and of validation bugs after the other, and measure it on that one.

    Returns:
        Foreign repository -> shares, then those of all; `validation raw` and `validation restated`.
    """
    data = read_domain_data(classifier, config, splits)
    sample = data.others[: len(data.sample.shape)]
    ungated, folds = labelled(classifier, sample), data.folds[: len(sample)]
    passed, kept = np.zeros((len(sample), len(MODES))), np.zeros((len(data.bugs), len(MODES)))
    for fold in range(FOLDS):
        gate, held = data.gate(without=fold), folds == fold
        thresholds = np.array([gate.threshold, gate.sure_threshold])
        passed[held] = gate.probabilities(data.sample.rows(held))[:, None] >= thresholds
        own = data.bug_folds == fold
        kept[own] = gate.probabilities(data.validation.rows(own))[:, None] >= thresholds
    groups: dict[str, list[int]] = defaultdict(list)
    for row, record in enumerate(sample):
        groups[record.group].append(row)
    groups["all"] = list(range(len(sample)))
    result = {name: _shares(rows, passed, ungated) for name, rows in groups.items() if len(rows) >= MIN_REPORTS}
    for origin in ("raw", "restated"):
        rows = [row for row, record in enumerate(data.bugs) if record.origin == origin]
        if rows:
            result[f"validation {origin}"] = _shares(rows, kept, data.labelled)
    return result


def _shares(rows: Sequence[int], passed: NDArray[np.float64], labelled: NDArray[np.bool_]) -> Labelled:
    ungated, gated = labelled[rows].mean(0), (labelled[rows] * passed[rows]).mean(0)
    return Labelled(
        len(rows),
        float(passed[rows, 0].mean()),
        dict(zip(MODES, map(float, ungated), strict=True)),
        dict(zip(MODES, map(float, gated), strict=True)),
    )


def domain_table(result: Mapping[str, Labelled]) -> str:
    """The figures as Markdown."""
    headings = ["reports", "n", "pass", *(f"labelled, {mode} (without gate)" for mode in MODES)]
    return markdown(
        headings,
        [
            [
                name,
                row.n,
                f"{row.passed:.1%}",
                *(f"{row.gated[mode]:.1%} ({row.ungated[mode]:.1%})" for mode in MODES),
            ]
            for name, row in result.items()
        ],
    )
