"""The domain gate on repositories that it never saw, and what it costs in its own domain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distriage.classifier import Classifier
from distriage.policy import decide
from distriage.recipe.text import prepare
from distriage.types import Mode, Outcome, Prediction
from distriage_training.config import Config
from distriage_training.corpus.load import Splits
from distriage_training.corpus.records import Record
from distriage_training.fit.domain import FOLDS
from distriage_training.fit.domain_data import read_domain_data
from distriage_training.measure.tables import markdown

MODES = (Mode.BALANCED, Mode.PRECISE)
MIN_REPORTS = 25  # of a repository with a line of its own


@dataclass(frozen=True, slots=True)
class Labelled:
    """Shares of some reports: that pass the gate, that get a label without one, and with it; by mode."""

    n: int
    passed: float
    ungated: Mapping[Mode, float]
    gated: Mapping[Mode, float]


def measure_domain(classifier: Classifier, config: Config, splits: Splits) -> dict[str, Labelled]:
    """Fit the gate without one fold of repositories after the other, and measure it on that one.

    A report counts as labelled where a failure axis, or `distributed` as true, is applied.

    Returns:
        Foreign repository -> shares, then those of all; `validation raw` and `validation restated`: means over gates.
    """
    data = read_domain_data(classifier, config, splits)
    sample = data.others[: len(data.sample.shape)]
    labelled = _labelled_by_mode(classifier, sample)
    bugs = _labelled_by_mode(classifier, data.bugs)
    folds = data.folds[: len(sample)]
    passed, kept = np.zeros(len(sample), bool), np.zeros(len(data.bugs))
    for fold in range(FOLDS):
        gate, held = data.gate(without=fold), folds == fold
        passed[held] = gate.probabilities(data.sample.rows(held)) >= gate.threshold
        kept += (gate.probabilities(data.validation) >= gate.threshold) / FOLDS
    groups: dict[str, list[int]] = defaultdict(list)
    for row, record in enumerate(sample):
        groups[record.group].append(row)
    groups["all"] = list(range(len(sample)))
    result = {name: _shares(rows, passed, labelled) for name, rows in groups.items() if len(rows) >= MIN_REPORTS}
    for origin in ("raw", "restated"):
        rows = [row for row, record in enumerate(data.bugs) if record.origin == origin]
        if rows:
            result[f"validation {origin}"] = _shares(rows, kept, bugs)
    return result


def _labelled_by_mode(classifier: Classifier, records: Sequence[Record]) -> dict[Mode, NDArray[np.bool_]]:
    predictions = classifier.predict_inputs([prepare(record.title, record.body) for record in records])
    return {mode: np.array([_labelled(classifier, each, mode) for each in predictions]) for mode in MODES}


def _labelled(classifier: Classifier, prediction: Prediction, mode: Mode) -> bool:
    bundle = classifier.bundle
    decisions = decide(replace(prediction, in_domain=True), bundle.manifest.axes, bundle.taxonomy, mode)
    return any(
        decision.outcome is Outcome.APPLY and axis not in bundle.taxonomy.roots and decision.label != "false"
        for axis, decision in decisions.items()
    )


def _shares(rows: Sequence[int], passed: NDArray[np.generic], labelled: Mapping[Mode, NDArray[np.bool_]]) -> Labelled:
    return Labelled(
        len(rows),
        float(passed[rows].mean()),
        {mode: float(values[rows].mean()) for mode, values in labelled.items()},
        {mode: float((values[rows] * passed[rows]).mean()) for mode, values in labelled.items()},
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
