"""Heads for a repository's own labels: one logistic regression a label, on the library's features.

Answers on unseen issues come from forward chaining: heads fitted on all earlier issues answer each block of issues, by
date, as they will in use. Calibration, thresholds and the kind of features are chosen by those answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from distriage.own.features import OWN_VIEWS, OwnFeatures, Scales
from distriage_training.learn.thresholds import Promise, Threshold, find_threshold

FIRST_SHARE = 0.4  # of the issues, that no heads are asked about: the first ones are fitted on them
BLOCKS = 12  # so that a block is answered by heads as recent as in use; labels drift (training/LOG.md)
MAX_ITERATIONS = 200
SEED = 7  # of the order in which liblinear visits issues

Bools = NDArray[np.bool_]
Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Kind:
    """A choice of features.

    Attributes:
        inverse_regularization: Of the logistic regressions, scikit-learn's C.
        contrast: How much more a word counts if it separates issues with the label from those without, 0 to 1.
    """

    name: str
    views: tuple[int, ...]
    dense: bool
    inverse_regularization: float
    contrast: float = 0.0


JOINED = Kind("encoder and words", tuple(range(OWN_VIEWS)), True, 5.0, contrast=0.5)
WORDS = Kind("TF-IDF", (1,), False, 10.0)  # the report as filed, word 1- and 2-grams
KINDS = (JOINED, WORDS)


@dataclass(frozen=True, slots=True)
class Heads:
    """Fitted heads.

    Attributes:
        weights: [labels, `scales.width`].
        bias: [labels].
    """

    kind: Kind
    scales: Scales
    weights: Floats
    bias: Floats

    def scores(self, rows: Sequence[OwnFeatures]) -> Floats:
        """Log-odds before calibration, [reports, labels]."""
        return np.asarray(matrix(self.scales, rows) @ self.weights.T + self.bias)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling (Platt, 1999): probability = sigmoid(slope * score + shift), each [labels]."""

    slope: Floats
    shift: Floats

    def probabilities(self, scores: Floats) -> Floats:
        """Of scores [issues, labels]."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.slope * scores + self.shift, -50, 50))))


@dataclass(frozen=True, slots=True)
class Learned:
    """Usable heads, and their answers on unseen issues.

    Attributes:
        thresholds: One per label; None: never given.
        quality: Micro-averaged average precision on the issues that forward chaining answered.
    """

    heads: Heads
    calibration: Calibration
    thresholds: tuple[Threshold | None, ...]
    quality: float

    def probabilities(self, rows: Sequence[OwnFeatures]) -> Floats:
        """Calibrated, [reports, labels]."""
        return self.calibration.probabilities(self.heads.scores(rows))


def matrix(scales: Scales, rows: Sequence[OwnFeatures]) -> sp.csr_matrix:
    """Features as numbers, [reports, `scales.width`]."""
    words = [scales.words(features) for features in rows]
    starts = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in words])])
    columns = np.concatenate([columns for columns, _ in words] or [np.zeros(0, np.int64)])
    values = np.concatenate([values for _, values in words] or [np.zeros(0)])
    sparse = sp.csr_matrix((values, columns, starts), shape=(len(rows), len(scales.buckets)))
    dense = np.array([scales.dense(features) for features in rows]).reshape(len(rows), -1)
    return sp.hstack([sparse, sp.csr_matrix(dense)]).tocsr() if dense.shape[1] else sparse


def fit_heads(kind: Kind, rows: Sequence[OwnFeatures], truth: Bools) -> Heads:
    """Fit one head a label.

    Args:
        truth: [reports, labels]. A label that all or none of them have gets a head that says just that.
    """
    scales = Scales.fitted(rows, views=kind.views, dense=kind.dense)
    numbers = matrix(scales, rows)
    numbers.sort_indices()  # once, not for each label
    has_word = numbers[:, : len(scales.buckets)] > 0
    weights, bias = np.zeros((truth.shape[1], scales.width)), np.zeros(truth.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column, given in enumerate(truth.T):
            if given.all() or not given.any():
                bias[column] = 10.0 if given.any() else -10.0
                continue
            head = LogisticRegression(  # coordinate descent in the dual: a third of L-BFGS's time here
                C=kind.inverse_regularization, solver="liblinear", dual=True, max_iter=MAX_ITERATIONS, random_state=SEED
            )
            factors = np.ones(scales.width)
            if kind.contrast:
                factors[: len(scales.buckets)] += kind.contrast * (contrast(has_word, given) - 1)
            data = numbers.data * factors[numbers.indices]
            weighed = sp.csr_matrix((data, numbers.indices, numbers.indptr), numbers.shape)
            head.fit(weighed, given)
            weights[column], bias[column] = factors * head.coef_[0], head.intercept_[0]
    return Heads(kind, scales, weights, bias)


def contrast(has_word: sp.csr_matrix, given: NDArray[np.bool_]) -> Floats:
    """How well each word separates issues with a label from those without: the naive Bayes log-count ratio's magnitude
    (Wang & Manning, 2012, "Baselines and Bigrams"), mean 1, [words].
    """
    counts = [1.0 + np.asarray(has_word[rows].sum(0)).ravel() for rows in (given, ~given)]
    ratio = np.abs(np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum()))
    return np.asarray(ratio / max(1e-12, float(ratio.mean())))


def blocks(issues: int) -> list[tuple[int, int]]:
    """First and last + 1 issue of each block that is held out."""
    edges = np.linspace(FIRST_SHARE * issues, issues, BLOCKS + 1).astype(int)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def held_out_scores(kind: Kind, rows: Sequence[OwnFeatures], truth: Bools) -> Floats:
    """Scores of the issues of all blocks, each block's by heads fitted on earlier issues, [held out, labels]."""
    return np.concatenate(
        [fit_heads(kind, rows[:first], truth[:first]).scores(rows[first:end]) for first, end in blocks(len(rows))]
    )


def calibrate(scores: Floats, truth: Bools) -> Calibration:
    """Fit Platt scaling for all labels together.

    All share a slope and a shift; each label's own part is held near 0, so that a rare one is calibrated too.
    """
    issues, labels = scores.shape
    if truth.all() or not truth.any():
        return Calibration(np.ones(labels), np.zeros(labels))
    one_of = sp.kron(np.ones((issues, 1)), sp.identity(labels), "csr")  # sparse: 20,000 issues may have 150 labels
    flat = sp.csr_matrix(scores.reshape(-1, 1))
    columns = sp.hstack([flat * 3, one_of.multiply(flat), one_of], "csr")  # the common slope is regularized less
    fitted = LogisticRegression(C=1.0, max_iter=500).fit(columns, truth.reshape(-1))
    own = fitted.coef_[0]
    return Calibration(3 * own[0] + own[1 : labels + 1], fitted.intercept_[0] + own[labels + 1 :])


def learn(kind: Kind, rows: Sequence[OwnFeatures], truth: Bools, promise: Promise) -> Learned:
    """Fit, calibrate and find thresholds.

    Args:
        rows: Of all issues, by date.
        truth: Which label each has, [issues, labels].
    """
    held_out = truth[blocks(len(rows))[0][0] :]
    scores = held_out_scores(kind, rows, truth)
    calibration = calibrate(scores, held_out)
    probabilities = calibration.probabilities(scores)
    return Learned(
        fit_heads(kind, rows, truth),
        calibration,
        tuple(find_threshold(p, given, promise) for p, given in zip(probabilities.T, held_out.T, strict=True)),
        float(average_precision_score(held_out.ravel(), probabilities.ravel())) if held_out.any() else 0.0,
    )


def best(learned: Sequence[Learned]) -> Learned:
    """The one that is better on issues held out."""
    return max(learned, key=lambda item: item.quality)
