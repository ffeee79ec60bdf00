"""From logits on validation reports to a temperature per axis, the weight of the sparse head, and thresholds. Pure.

Nothing here may see the test split. Reports as filed and reports restated by annotators have the same total weight in
validation: users file raw ones, and most annotated ones are restated.
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
from distriage.model.taxonomy import Axis

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

Names = NDArray[np.str_]
Thresholds = dict[str, float | None]

TARGETS = ("0.50", "0.80", "0.90", "0.95")
MIN_LABEL_REPORTS = 25  # with fewer validation verdicts a label shares the threshold of its axis
# Significance of each single cut. The last one that passes becomes the threshold, so one that falls short is set more
# often than that: in simulations with a target of .80, in 69 to 77 % of the cases where the true precision is a point
# below it, in 53 to 59 % where it is three. Smaller values cost more coverage than they gain precision (LOG.md).
RISK = 0.3
ROUNDING = 1e-9  # sums of weights are not exact
CONTRADICTION = 0.1  # significance at which a label's own verdicts speak against the shared threshold
TEMPERATURES = (0.2, 20.0)
FLOORS = (0.0, 0.5)


def even_weights(parts: Names) -> Floats:
    """One weight per report, 1 on average, so that all parts weigh the same."""
    names, numbers, counts = np.unique(parts, return_inverse=True, return_counts=True)
    return np.asarray(len(parts) / (len(names) * counts[numbers]))


def confidence_loss(
    logits: Floats, truth: Ints, temperature: float, floor: float = 0.0, weights: Floats | float = 1.0
) -> float:
    """Mean negative log-likelihood, in nats, of the likeliest label being right or wrong, at its probability."""
    probabilities = softmax(logits.astype(np.float32), temperature, floor)
    confidence = probabilities.max(1)
    chance = np.where(probabilities.argmax(1) == truth, confidence, 1 - confidence)
    return float(-(weights * np.log(np.maximum(chance, 1e-6))).mean())


def fit_mix(
    encoder: Floats, sparse: Floats, truth: Ints, importance: Floats | float = 1.0
) -> tuple[list[float], float]:
    """Weight of each view's sparse logits, where the encoder's have weight 1, and the bias of the second of two labels
    (Platt scaling; 0 with more labels): a convex problem of maximum likelihood.

    Args:
        encoder: Logits [n, labels].
        sparse: Logits [n, views, labels].
        truth: Label numbers [n].
        importance: Of each report, [n]; see `even_weights`.
    """
    labels = encoder.shape[1]
    second = np.broadcast_to(np.eye(labels)[-1] * (labels == 2), (len(truth), 1, labels))
    parts = np.concatenate([encoder[:, None], sparse, second], 1).astype(np.float64)
    target = np.eye(encoder.shape[1])[truth]

    def loss(weights: Floats) -> tuple[float, Floats]:
        probabilities = special.softmax(np.einsum("p,npl->nl", weights, parts), axis=1)
        likelihood = np.maximum(probabilities[np.arange(len(truth)), truth], 1e-12)
        error = ((probabilities - target).T * importance).T
        return float(-(importance * np.log(likelihood)).mean()), np.einsum("nl,npl->p", error, parts) / len(truth)

    fitted = minimize(
        loss,
        np.full(parts.shape[1], 0.5),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.05, None), *[(0.0, None)] * sparse.shape[1], (None, None)],
    )
    *mix, bias = (round(float(weight), 4) for weight in fitted.x[1:] / fitted.x[0])
    return mix, bias if labels == 2 else 0.0


def fit_confidence(logits: Floats, truth: Ints, weights: Floats | float = 1.0) -> tuple[float, float]:
    """Temperature and floor that make the likeliest label's probability the best estimate of its being right (top-label
    calibration, Gupta & Ramdas, 2022).

    That probability is shown and compared with thresholds; the likelihood of all labels left it too high on validation
    (LOG.md).
    """
    fitted = minimize(
        lambda x: confidence_loss(logits, truth, float(np.exp(x[0])), float(x[1]), weights),
        (0.5, 0.05),
        method="Nelder-Mead",
        bounds=[np.log(TEMPERATURES), FLOORS],
    )
    return round(float(np.exp(fitted.x[0])), 4), round(float(fitted.x[1]), 4)


def threshold_for(
    confidence: Floats, right: NDArray[np.bool_], target: float, weights: Floats | None = None
) -> float | None:
    """Lowest confidence from which verdicts are right in at least `target` of the cases, if any.

    The last cut that passes an exact binomial test at `RISK`, which bounds the chance of error of one cut, not of the
    choice among all. Weighted verdicts count as so many as their weights are worth (Kish's effective size), all of them
    as wrong as the weighted share says.
    """
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    weight = np.ones(len(order)) if weights is None else weights[order]
    total = np.cumsum(weight)
    counts = total**2 / np.cumsum(weight**2)
    wrong = np.cumsum(weight * ~right[order]) / total * counts
    # A threshold takes all verdicts of one confidence, or none.
    last_of_equals = np.append(ordered[1:] < ordered[:-1], True)[: len(order)]
    chance = binom.cdf(np.ceil(wrong - ROUNDING), np.floor(counts + ROUNDING), 1 - target)
    enough = np.flatnonzero((chance <= RISK) & last_of_equals)
    return float(ordered[enough[-1]]) if len(enough) else None


def raised(threshold: float | None, confidence: Floats, right: NDArray[np.bool_], target: float) -> float | None:
    """The shared threshold, raised until one label's own verdicts no longer contradict it; None if they always do."""
    if threshold is None:
        return None
    for candidate in (threshold, *np.unique(confidence[confidence > threshold])):
        rows = confidence >= candidate
        if binom.sf(np.sum(~right[rows]) - 1, rows.sum(), 1 - target) > CONTRADICTION:
            return float(candidate)
    return None


def label_thresholds(
    probabilities: Floats, truth: Ints, labels: Sequence[str], target: float, weights: Floats | None = None
) -> Thresholds:
    """Threshold per label: its own where validation holds enough verdicts of it for one, else that of the axis.

    The axis' own counts only where the label's verdicts do not contradict it.
    """
    even = np.ones(len(truth)) if weights is None else weights
    top = probabilities.argmax(1)
    # Cut, not rounded: at or above a threshold of four places means the same.
    confidence = np.floor(probabilities.max(1).astype(np.float64) * 1e4) / 1e4
    right = top == truth
    shared = threshold_for(confidence, right, target, even)
    thresholds: Thresholds = {}
    for number, label in enumerate(labels):
        rows = top == number
        enough = rows.sum() >= MIN_LABEL_REPORTS
        own = threshold_for(confidence[rows], right[rows], target, even[rows]) if enough else None
        thresholds[label] = own if own is not None else raised(shared, confidence[rows], right[rows], target)
    return thresholds


def family_thresholds(
    probabilities: Floats, truth: Ints, axis: Axis, target: float, weights: Floats | None = None
) -> Thresholds:
    """The same for families: probability and truth are summed and mapped to them."""
    families = axis.families
    if not families:
        return {}
    numbers = {label: i for i, label in enumerate(axis.label_ids)}
    members = [[numbers[label] for label in labels] for labels in families.values()]
    family_of = {number: f for f, group in enumerate(members) for number in group}
    summed = np.stack([probabilities[:, group].sum(1) for group in members], 1)
    return label_thresholds(summed, np.array([family_of[int(t)] for t in truth]), list(families), target, weights)


def all_thresholds(
    probabilities: Floats, truth: Ints, axis: Axis, weights: Floats | None = None
) -> tuple[Mapping[str, Thresholds], Mapping[str, Thresholds]]:
    """Thresholds of labels and of families for every target of `TARGETS`; a higher target never has a lower threshold.

    Args:
        probabilities: [n, labels].
        truth: Label numbers [n].
        weights: Of each report, [n]; see `even_weights`. Equal if None.
    """
    labels = {
        target: label_thresholds(probabilities, truth, axis.label_ids, float(target), weights) for target in TARGETS
    }
    families = (
        {target: family_thresholds(probabilities, truth, axis, float(target), weights) for target in TARGETS}
        if axis.families
        else {}
    )
    for table in (labels, families):
        for higher, lower in pairwise(list(table)[::-1]):
            for name, threshold in table[higher].items():
                own = table[lower][name]
                # What is good enough for the higher target is so for the lower.
                if threshold is not None and (own is None or own > threshold):
                    table[lower][name] = threshold
    return labels, families


def among_three(probabilities: Floats, truth: Ints, weights: Floats, thresholds: Thresholds) -> float | None:
    """Share of the unsure reports whose right label is among the three likeliest; None if all are sure.

    Args:
        thresholds: Of each label in order; a report below its likeliest label's threshold is unsure.
    """
    least = np.array([np.inf if value is None else value for value in thresholds.values()])
    unsure = probabilities.max(1) < least[probabilities.argmax(1)]
    if not unsure.any():
        return None
    likeliest = np.argsort(-probabilities[unsure], 1, kind="stable")[:, :3]
    return float(np.average((likeliest == truth[unsure, None]).any(1), weights=weights[unsure]))
