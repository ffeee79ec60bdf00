"""From logits on validation reports to a temperature per axis, the weight of the sparse head, and thresholds. Pure.

Nothing here may see the test split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import minimize
from scipy.stats import binom

from distriage.classifier import softmax
from distriage.taxonomy import Axis

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

TARGETS = ("0.50", "0.80", "0.90", "0.95")
MIN_LABEL_REPORTS = 25  # with fewer validation verdicts a label shares the threshold of its axis
RISK = 0.3  # chance that a threshold is set although its precision falls short of the target; smaller ones cost more coverage than they gain precision (LOG.md)
CONTRADICTION = 0.1  # significance at which a label's own verdicts speak against the shared threshold
TEMPERATURES = (0.2, 20.0)
FLOORS = (0.0, 0.5)


def confidence_loss(logits: Floats, truth: Ints, temperature: float, floor: float = 0.0) -> float:
    """Mean negative log-likelihood, in nats, of the likeliest label being right or wrong, at its probability."""
    probabilities = softmax(logits.astype(np.float32), temperature, floor)
    confidence = probabilities.max(1)
    chance = np.where(probabilities.argmax(1) == truth, confidence, 1 - confidence)
    return float(-np.log(np.maximum(chance, 1e-6)).mean())


def fit_mix(encoder: Floats, sparse: Floats, truth: Ints) -> list[float]:
    """Weight of each view's sparse logits, where the encoder's have weight 1: those of least negative log-likelihood, a convex problem.

    Args:
        encoder: Logits [n, labels].
        sparse: Logits [n, views, labels].
        truth: Label numbers [n].
    """
    parts = np.concatenate([encoder[:, None], sparse], 1).astype(np.float64)
    target = np.eye(encoder.shape[1])[truth]

    def loss(weights: Floats) -> tuple[float, Floats]:
        probabilities = special.softmax(np.einsum("p,npl->nl", weights, parts), axis=1)
        likelihood = np.maximum(probabilities[np.arange(len(truth)), truth], 1e-12)
        return float(-np.log(likelihood).mean()), np.einsum("nl,npl->p", probabilities - target, parts) / len(truth)

    fitted = minimize(loss, np.full(parts.shape[1], 0.5), jac=True, method="L-BFGS-B", bounds=[(0.05, None), *[(0.0, None)] * sparse.shape[1]])
    return [round(float(weight), 4) for weight in fitted.x[1:] / fitted.x[0]]


def fit_confidence(logits: Floats, truth: Ints) -> tuple[float, float]:
    """Temperature and floor at which the likeliest label's probability says best whether it is right (top-label calibration, Gupta & Ramdas, 2022).

    That probability is the one that is shown and compared with thresholds; the likelihood of all labels instead left it too high on validation (LOG.md).
    """
    fitted = minimize(
        lambda x: confidence_loss(logits, truth, float(np.exp(x[0])), float(x[1])), (0.5, 0.05), method="Nelder-Mead", bounds=[np.log(TEMPERATURES), FLOORS]
    )
    return round(float(np.exp(fitted.x[0])), 4), round(float(fitted.x[1]), 4)


def threshold_for(confidence: Floats, right: NDArray[np.bool_], target: float) -> float | None:
    """Least confidence at and above which verdicts are right in at least `target` of the cases, by an exact binomial test at `RISK`; None where none is."""
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    wrong = np.cumsum(~right[order])
    counts = np.arange(1, len(order) + 1)
    last_of_equals = np.append(ordered[1:] < ordered[:-1], True)[: len(order)]  # a threshold takes all verdicts of one confidence, or none
    enough = np.flatnonzero((binom.cdf(wrong, counts, 1 - target) <= RISK) & last_of_equals)
    return float(ordered[enough[-1]]) if len(enough) else None


def raised(threshold: float | None, confidence: Floats, right: NDArray[np.bool_], target: float) -> float | None:
    """The shared threshold for one label: raised until the label's own verdicts no longer contradict it; None where they always do."""
    if threshold is None:
        return None
    for candidate in (threshold, *np.unique(confidence[confidence > threshold])):
        rows = confidence >= candidate
        if binom.sf(np.sum(~right[rows]) - 1, rows.sum(), 1 - target) > CONTRADICTION:
            return float(candidate)
    return None


def label_thresholds(probabilities: Floats, truth: Ints, labels: Sequence[str], target: float) -> dict[str, float | None]:
    """Threshold per label: its own where validation holds enough verdicts of it for one, else that of the whole axis, unless they contradict it."""
    top = probabilities.argmax(1)
    confidence = np.floor(probabilities.max(1).astype(np.float64) * 1e4) / 1e4  # cut, not rounded: at or above a threshold of four places means the same
    right = top == truth
    shared = threshold_for(confidence, right, target)
    thresholds: dict[str, float | None] = {}
    for number, label in enumerate(labels):
        rows = top == number
        own = threshold_for(confidence[rows], right[rows], target) if rows.sum() >= MIN_LABEL_REPORTS else None
        thresholds[label] = own if own is not None else raised(shared, confidence[rows], right[rows], target)
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
    """Thresholds of labels and of families for every target of `TARGETS`; a higher target never has a lower threshold."""
    labels = {target: label_thresholds(probabilities, truth, axis.label_ids, float(target)) for target in TARGETS}
    families = {target: family_thresholds(probabilities, truth, axis, float(target)) for target in TARGETS} if axis.families else {}
    for table in (labels, families):
        for higher, lower in pairwise(list(table)[::-1]):
            for name, threshold in table[higher].items():
                own = table[lower][name]
                if threshold is not None and (own is None or own > threshold):  # what is good enough for the higher target is so for the lower
                    table[lower][name] = threshold
    return labels, families
