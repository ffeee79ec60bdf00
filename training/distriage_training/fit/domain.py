"""Fit the domain gate (`distriage.model.domain`): known reports against real ones of other software.

Two stacked regressions (stacked generalization; Wolpert, 1992). The first, over words, is fitted on all training
reports; the second reads its scores, so it needs reports that the first has not seen. Validation reports are unseen;
foreign reports are scored by regressions fitted without their repository, as the next one will be new too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags, vstack
from sklearn.linear_model import LogisticRegression

from distriage.model.domain import DOMAIN_FORMAT, PER_VIEW, word_features
from distriage.recipe.features import HASH_BUCKETS, VIEWS
from distriage.recipe.weights import Floats

FOLDS = 5  # of repositories
LOST = 0.015  # share of the validation bugs that may lose labels to the gate, in each mode: a dozen reports
WORDS_C = 10.0  # scikit-learn's inverse regularization, as in the sparse head


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports as the gate sees them.

    Attributes:
        counts: Hashed n-grams of both views, [n, VIEWS * HASH_BUCKETS].
        shape: `distriage.model.domain.shape_features` [n, features]; empty for reports with words alone.
    """

    counts: csr_matrix
    shape: Floats

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Reports:
        return Reports(self.counts[chosen], self.shape[chosen])


@dataclass(frozen=True, slots=True)
class Words:
    """The first regression, rounded as stored: integers [VIEWS * HASH_BUCKETS] and the step of each view."""

    idf: NDArray[np.uint8]
    idf_step: Floats
    weights: NDArray[np.int8]
    weight_step: Floats
    bias: Floats

    def features(self, counts: csr_matrix) -> Floats:
        """`distriage.model.domain.word_features` of each report, [n, `PER_VIEW` * VIEWS]."""
        idf = np.asarray(self.idf * np.repeat(self.idf_step, HASH_BUCKETS), np.float64)
        weights = np.asarray(self.weights * np.repeat(self.weight_step, HASH_BUCKETS), np.float64)
        rows = zip(
            np.split(counts.indices, counts.indptr[1:-1]), np.split(counts.data, counts.indptr[1:-1]), strict=True
        )
        return np.array([word_features(ids, values, idf, weights, self.bias) for ids, values in rows])


@dataclass(frozen=True, slots=True)
class Gate:
    """Both regressions, and the thresholds of `balanced` and `precise`."""

    words: Words
    mean: Floats
    scale: Floats
    coefficients: Floats
    intercept: float
    threshold: float
    sure_threshold: float

    def probabilities(self, reports: Reports) -> Floats:
        """Probability of each report to belong, [n]."""
        features = np.hstack([self.words.features(reports.counts), reports.shape])
        return _probability((features - self.mean) / self.scale, self.coefficients, self.intercept)

    def write(self, file: Path, axes: Sequence[str]) -> None:
        """Write domain.npz, in the format of `distriage.model.domain`."""
        np.savez_compressed(
            file,
            format=np.asarray(DOMAIN_FORMAT),
            axes=np.asarray(json.dumps(list(axes))),
            idf=self.words.idf,
            idf_step=self.words.idf_step,
            weights=self.words.weights,
            weight_step=self.words.weight_step,
            bias=self.words.bias,
            mean=self.mean,
            scale=self.scale,
            coefficients=self.coefficients,
            intercept=np.asarray(self.intercept),
            threshold=np.asarray(self.threshold),
            sure_threshold=np.asarray(self.sure_threshold),
        )


def repository_folds(repositories: Sequence[str]) -> NDArray[np.int64]:
    """The fold of each report: folds share no repository and have about the same size."""
    sizes = [0] * FOLDS
    place = {}
    for repository, count in sorted(Counter(repositories).items(), key=lambda item: (-item[1], item[0])):
        place[repository] = int(np.argmin(sizes))
        sizes[place[repository]] += count
    return np.array([place[repository] for repository in repositories])


def fit_gate(
    known: csr_matrix,
    validation: Reports,
    labelled: NDArray[np.bool_],
    foreign: csr_matrix,
    folds: NDArray[np.int64],
    sample: Reports,
) -> Gate:
    """Fit both regressions and set the thresholds that cost at most `LOST` of the validation reports their labels.

    Args:
        known: N-grams of the training reports.
        validation: Bugs that the gate has to let pass.
        labelled: Whether each gets a label without a gate in `balanced` and in `precise`, [n, 2].
        foreign: N-grams of the reports of other software.
        folds: Of each, by repository. The first rows are those of `sample`.
        sample: The foreign reports that the classifier has read.
    """
    drawn = folds[: len(sample.shape)]
    strange = np.zeros((len(drawn), PER_VIEW * VIEWS))
    for fold in np.unique(drawn):
        held = drawn == fold
        strange[held] = fit_words(known, foreign[folds != fold]).features(sample.counts[held])
    return join(fit_words(known, foreign), validation, labelled, strange, sample.shape)


def join(words: Words, validation: Reports, labelled: NDArray[np.bool_], strange: Floats, shape: Floats) -> Gate:
    """Fit the second regression and set the thresholds.

    Args:
        labelled: See `fit_gate`.
        strange: `Words.features` of the foreign reports by regressions that did not see their repository.
        shape: `shape_features` of the same reports.
    """
    features = np.vstack(
        [np.hstack([words.features(validation.counts), validation.shape]), np.hstack([strange, shape])]
    )
    known = len(validation.shape)
    belongs = np.arange(len(features)) < known
    mean, scale = features.mean(0), np.maximum(features.std(0), 1e-6)
    standard = (features - mean) / scale
    # The thresholds are set on validation reports that the second regression has not seen.
    parts = np.random.default_rng(0).integers(0, FOLDS, known)
    unseen = np.zeros(known)
    for part in range(FOLDS):
        held = np.concatenate([parts == part, np.zeros(len(shape), bool)])
        unseen[parts == part] = _probability(standard[held], *_fit_second(standard[~held], belongs[~held]))
    threshold, sure = (_threshold(unseen, labelled[:, mode]) for mode in (0, 1))
    coefficients, intercept = _fit_second(standard, belongs)
    return Gate(words, mean, scale, coefficients, intercept, threshold, max(threshold, sure))


def _threshold(probabilities: Floats, labelled: NDArray[np.bool_]) -> float:
    """The highest threshold at which at most `LOST` of the labelled reports lose their label."""
    at_stake = np.sort(probabilities[labelled])
    return float(at_stake[min(int(LOST * len(probabilities)), len(at_stake) - 1)]) if len(at_stake) else 0.0


def fit_words(known: csr_matrix, foreign: csr_matrix) -> Words:
    """The first regression: for each view, TF-IDF and a logistic regression in which both kinds weigh the same."""
    belongs = np.arange(known.shape[0] + foreign.shape[0]) < known.shape[0]
    idf, weights = np.zeros(VIEWS * HASH_BUCKETS, np.uint8), np.zeros(VIEWS * HASH_BUCKETS, np.int8)
    idf_step, weight_step, bias = np.zeros(VIEWS), np.zeros(VIEWS), np.zeros(VIEWS)
    for view in range(VIEWS):
        part = _view(view)
        counts = csr_matrix(vstack([known[:, part], foreign[:, part]]))
        frequency = np.bincount(counts.indices, minlength=HASH_BUCKETS)
        exact = np.log((1 + counts.shape[0]) / (1 + frequency)) + 1
        idf_step[view] = exact.max() / 255
        idf[part] = np.round(exact / idf_step[view])
        fitted = LogisticRegression(C=WORDS_C, class_weight="balanced", solver="liblinear", max_iter=50)
        fitted.fit(_tfidf(counts, idf[part] * idf_step[view]), belongs)
        weight_step[view] = np.abs(fitted.coef_).max() / 127
        weights[part] = np.round(fitted.coef_[0] / weight_step[view])
        bias[view] = fitted.intercept_[0]
    return Words(idf, idf_step, weights, weight_step, bias)


def _view(view: int) -> slice:
    return slice(view * HASH_BUCKETS, (view + 1) * HASH_BUCKETS)


def _tfidf(counts: csr_matrix, idf: Floats) -> csr_matrix:
    """As `distriage.recipe.weights.tfidf`, of one view, for many reports."""
    values = csr_matrix(counts, dtype=np.float64, copy=True)
    values.data = 1 + np.log(values.data)
    values = csr_matrix(values @ diags(idf))
    length = np.sqrt(np.asarray(values.multiply(values).sum(1)).ravel())
    return csr_matrix(diags(1 / np.maximum(length, 1e-12)) @ values)


def _fit_second(features: Floats, belongs: NDArray[np.bool_]) -> tuple[Floats, float]:
    fitted = LogisticRegression(class_weight="balanced", max_iter=1000).fit(features, belongs)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _probability(features: Floats, coefficients: Floats, intercept: float) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(features @ coefficients + intercept, -500, 500))))
