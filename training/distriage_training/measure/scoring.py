"""Scores of probabilities against labels. Pure: arrays in, numbers out.

Shapes: `probabilities` [n, labels], `truth` [n] label numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

REPORTS_PER_BIN = 50
DRAWS, SEED = 2000, 7  # of a bootstrap


def accuracy(truth: Ints, predicted: Ints) -> float:
    """Share of right labels."""
    return float(accuracy_score(truth, predicted))


def macro_f1(truth: Ints, predicted: Ints) -> float:
    """Mean F1 over the labels that occur in truth or prediction (scikit-learn's default)."""
    return float(f1_score(truth, predicted, average="macro", zero_division=0))


def weighted_f1(truth: Ints, predicted: Ints) -> float:
    """Mean F1, labels weighted by how often they are true."""
    return float(f1_score(truth, predicted, average="weighted", zero_division=0))


def expected_calibration_error(truth: Ints, probabilities: Floats, bins: int | None = None) -> float:
    """Mean gap between confidence and accuracy of the top label over bins of equal size (Nguyen & O'Connor, 2015;
    Nixon et al., 2019).

    Args:
        bins: By default about `REPORTS_PER_BIN` reports each, 5 to 15 bins; in smaller ones the gap of a perfectly
            calibrated model is mostly noise.
    """
    confidence = probabilities.max(1)
    right = probabilities.argmax(1) == truth
    order = np.argsort(confidence, kind="stable")
    if bins is None:
        bins = int(np.clip(len(truth) // REPORTS_PER_BIN, 5, 15))
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(sum(len(part) * abs(confidence[part].mean() - right[part].mean()) for part in parts) / len(truth))


def brier(truth: Ints, probabilities: Floats) -> float:
    """Mean squared distance of the probability vector from the truth, 0 (perfect) to 2."""
    target = np.eye(probabilities.shape[1])[truth]
    return float(((probabilities - target) ** 2).sum(1).mean())


def coverage_at_precision(truth: Ints, probabilities: Floats, precision: float) -> float:
    """Largest share of reports, by confidence, for which the top label is right with at least `precision`."""
    order = np.argsort(-probabilities.max(1), kind="stable")
    right = (probabilities.argmax(1) == truth)[order]
    running = np.cumsum(right) / np.arange(1, len(right) + 1)
    enough = np.flatnonzero(running >= precision)
    return float((enough[-1] + 1) / len(right)) if len(enough) else 0.0


def among_likeliest(truth: Ints, probabilities: Floats, count: int) -> NDArray[np.bool_]:
    """Whether the right label is among the `count` likeliest, [n]; of equal ones the first are taken."""
    likeliest = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
    return np.asarray((likeliest == truth[:, None]).any(1))


def precision_coverage_curve(truth: Ints, probabilities: Floats) -> tuple[Floats, Floats]:
    """Coverage and precision as the confidence threshold falls, each [n]."""
    order = np.argsort(-probabilities.max(1), kind="stable")
    right = (probabilities.argmax(1) == truth)[order]
    counts = np.arange(1, len(right) + 1)
    return counts / len(right), np.cumsum(right) / counts


def bootstrap_interval(
    truth: Ints, predicted: Ints, score: Callable[[Ints, Ints, Floats], Floats], *, draws: int = 500, seed: int = 7
) -> tuple[float, float]:
    """95 % percentile interval of a score over reports drawn with replacement (Efron, 1979).

    Args:
        score: `accuracy_of_draws` or `macro_f1_of_draws`.
    """
    rng, n = np.random.default_rng(seed), len(truth)
    times = np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(draws)], np.float64)
    low, high = np.percentile(score(truth, predicted, times), [2.5, 97.5])
    return float(low), float(high)


def accuracy_of_draws(truth: Ints, predicted: Ints, draws: Floats) -> Floats:
    """`accuracy` of each draw; see `macro_f1_of_draws`."""
    return np.asarray(draws @ (truth == predicted) / draws.sum(1))


def macro_f1_of_draws(truth: Ints, predicted: Ints, draws: Floats) -> Floats:
    """`macro_f1` of each draw.

    Args:
        draws: How often each draw takes each report, [draws, n].

    Returns:
        [draws].
    """
    labels = 1 + int(max(truth.max(), predicted.max()))
    is_true, is_predicted = np.eye(labels)[truth], np.eye(labels)[predicted]
    both = draws @ (is_true * is_predicted)
    either = draws @ (is_true + is_predicted)
    f1 = 2 * both / np.maximum(either, 1)
    return np.asarray(f1.sum(1) / (either > 0).sum(1))


def paired_bootstrap_macro_f1(truth: Ints, one: Ints, other: Ints) -> tuple[float, float]:
    """95 % percentile interval of macro-F1 of `other` minus that of `one` over the same resampled reports."""
    times = (
        np.random.default_rng(SEED)
        .multinomial(len(truth), np.full(len(truth), 1 / len(truth)), size=DRAWS)
        .astype(np.float64)
    )
    low, high = np.percentile(
        macro_f1_of_draws(truth, other, times) - macro_f1_of_draws(truth, one, times), [2.5, 97.5]
    )
    return float(low), float(high)


def direction_of(difference: tuple[float, float], enough: bool) -> str:
    """`better` or `worse` only if the whole interval says so.

    Args:
        difference: Interval of the new value minus the old.
        enough: Whether there are enough reports to decide.
    """
    if not enough:
        return "too few"
    least, most = difference
    return "worse" if most < 0 else "better" if least > 0 else "no difference"
