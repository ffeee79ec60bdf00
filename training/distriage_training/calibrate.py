"""From logits on validation reports to a temperature per axis, the weight of the sparse head, and thresholds. Pure.

Nothing here may see the test split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from distriage.classifier import softmax
from distriage.taxonomy import Axis

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

TARGETS = ("0.50", "0.80", "0.90", "0.95")
MIN_LABEL_REPORTS = 25  # fewer validation reports with this verdict: the label shares the threshold of its axis
MIXES = np.linspace(0.0, 6.0, 25)
TEMPERATURES = np.geomspace(0.4, 10.0, 48)


@dataclass(frozen=True, slots=True)
class AxisFit:
    """The result for one axis; `mix` is the weight of the sparse logits."""

    temperature: float
    mix: float


def negative_log_likelihood(logits: Floats, truth: Ints, temperature: float) -> float:
    """Mean, in nats, of [n, labels] logits at a temperature."""
    probabilities = softmax(logits.astype(np.float32), temperature)
    return float(-np.log(np.maximum(probabilities[np.arange(len(truth)), truth], 1e-9)).mean())


def fit_axis(encoder: Floats, sparse: Floats, truth: Ints) -> AxisFit:
    """Temperature and sparse weight of least negative log-likelihood, on a grid: two numbers from a few hundred reports, no optimizer to tune.

    Args:
        encoder, sparse: Logits of both heads, [n, labels].
        truth: Label numbers [n].
    """
    scores = {
        (temperature, mix): negative_log_likelihood(encoder + mix * sparse, truth, temperature)
        for temperature, mix in product(map(float, TEMPERATURES), map(float, MIXES))
    }
    temperature, mix = min(scores, key=lambda pair: scores[pair])
    return AxisFit(round(temperature, 4), round(mix, 4))


def threshold_for(confidence: Floats, right: NDArray[np.bool_], target: float) -> float | None:
    """Least confidence at and above which at least `target` of the verdicts were right; None where none is.

    One pseudo-report that is wrong is added, so that two lucky reports make no threshold.
    """
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    precision = np.cumsum(right[order]) / (np.arange(1, len(order) + 1) + 1)
    last_of_equals = np.append(ordered[1:] < ordered[:-1], True)[: len(order)]  # a threshold takes all verdicts of one confidence, or none
    enough = np.flatnonzero((precision >= target) & last_of_equals)
    return float(ordered[enough[-1]]) if len(enough) else None


def label_thresholds(probabilities: Floats, truth: Ints, labels: Sequence[str], target: float) -> dict[str, float | None]:
    """Threshold per label: its own where validation holds enough verdicts of it, else that of the whole axis."""
    top = probabilities.argmax(1)
    confidence = np.floor(probabilities.max(1).astype(np.float64) * 1e4) / 1e4  # cut, not rounded: at or above a threshold of four places means the same
    right = top == truth
    shared = threshold_for(confidence, right, target)
    thresholds: dict[str, float | None] = {}
    for number, label in enumerate(labels):
        rows = top == number
        thresholds[label] = threshold_for(confidence[rows], right[rows], target) if rows.sum() >= MIN_LABEL_REPORTS else shared
    return thresholds


def family_thresholds(probabilities: Floats, truth: Ints, axis: Axis, target: float) -> dict[str, float | None]:
    """The same for families: probability and truth are summed and mapped to them."""
    families = axis.families
    if not families:
        return {}
    numbers = {label: i for i, label in enumerate(axis.label_ids)}
    members = [[numbers[label] for label in labels] for labels in families.values()]
    family_of = {number: f for f, group in enumerate(members) for number in group}
    summed = np.stack([probabilities[:, group].sum(1) for group in members], 1)
    return label_thresholds(summed, np.array([family_of[int(t)] for t in truth]), list(families), target)


def all_thresholds(probabilities: Floats, truth: Ints, axis: Axis) -> tuple[Mapping[str, dict[str, float | None]], Mapping[str, dict[str, float | None]]]:
    """Thresholds of labels and of families for every target of `TARGETS`."""
    labels = {target: label_thresholds(probabilities, truth, axis.label_ids, float(target)) for target in TARGETS}
    families = {target: family_thresholds(probabilities, truth, axis, float(target)) for target in TARGETS} if axis.families else {}
    return labels, families
