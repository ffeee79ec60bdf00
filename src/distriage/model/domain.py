"""Whether a report is in the model's domain. Softmax heads cannot say: they label an apple pie.

A logistic regression over two kinds of evidence, fitted on real reports of other software (training, `fit/domain.py`).
Words: for each view of the hashed n-grams, a linear score (TF-IDF of unit length) and the sums of the strongest words
for and against, which the rest of a long report cannot drown. The classifier: largest logit, log-sum-exp (energy; Liu
et al., 2020, "Energy-based Out-of-distribution Detection") and entropy of each axis. On top come the length and the
number of the field's own words, which tells other distributed systems apart: their failures read like ours.

domain.npz  format     []                      `DOMAIN_FORMAT`
            axes       []                      JSON: the axes whose logits are read, in order
            idf        [VIEWS * HASH_BUCKETS]  uint8, inverse document frequency in steps of `idf_step` [VIEWS]
            weights    [VIEWS * HASH_BUCKETS]  int8, in steps of `weight_step` [VIEWS]
            bias       [VIEWS]                 float64
            mean, scale, coefficients [`features`] float64: of the second regression, over standardized features
            intercept              []            float64
            threshold              []            float64, the least probability of a report that belongs
            sure_threshold         []            float64, the same for `precise`
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distriage.base.arrays import arrays_of
from distriage.base.errors import BundleError
from distriage.recipe.features import HASH_BUCKETS, VIEWS
from distriage.recipe.weights import Floats, Ints, tfidf

if TYPE_CHECKING:
    from distriage.recipe.text import ModelInput

DOMAIN_FORMAT = 3
STRONGEST = 20  # n-grams of a report whose weights are summed, for it and against it
PER_VIEW = 3  # features of a view's words
PER_REPORT = 4  # features of a report's size and of the field's words in it
PER_AXIS = 3  # features of an axis' logits


def word_features(ids: Ints, counts: Floats, idf: Floats, weights: Floats, bias: Floats) -> Floats:
    """Evidence from the words, in nats of log-odds.

    Args:
        ids, counts: Hashed n-grams of one report, [features].
        idf, weights: [VIEWS * HASH_BUCKETS].
        bias: [VIEWS].

    Returns:
        [`PER_VIEW` * VIEWS]: scores by each view; then for each the sums of the `STRONGEST` greatest and least weights
        times `idf`, however often the n-grams occur.
    """
    view, own = ids // HASH_BUCKETS, weights[ids]
    scores = np.bincount(view, tfidf(ids, counts, idf[ids]) * own, VIEWS) + bias
    said = idf[ids] * own
    sums = []
    for number in range(VIEWS):
        ordered = np.sort(said[view == number])
        sums += [ordered[-STRONGEST:].sum(), ordered[:STRONGEST].sum()]
    return np.array([*scores, *sums], np.float64)


def shape_features(ids: Ints, report: ModelInput, logits: Mapping[str, Floats]) -> list[float]:
    """Length of a report, words of the field in it, and the shape of its logits.

    Args:
        ids: Its hashed n-grams.
        logits: Axis -> [labels].

    Returns:
        `PER_REPORT` + `PER_AXIS` * axes numbers.
    """
    sizes = (np.sum(ids < HASH_BUCKETS), len(report.filed), *report.field_words)
    features = [float(np.log1p(size)) for size in sizes]
    for values in logits.values():
        top = float(values.max())
        exponent = np.exp(values.astype(np.float64) - top)
        p = exponent / exponent.sum()
        features += [top, top + float(np.log(exponent.sum())), float(-(p * np.log(p + 1e-12)).sum())]
    return features


class DomainGate:
    """The gate of one bundle. Pure numpy; safe to share between threads.

    Attributes:
        threshold: The least probability of a report that belongs.
    """

    def __init__(self, file: Path, axes: Collection[str]) -> None:
        """Read the gate.

        Args:
            axes: The classifier's.

        Raises:
            BundleError: the file is damaged, of another format or made for other axes.
        """
        expected = f"a domain gate that this Distriage reads (format {DOMAIN_FORMAT})"
        with arrays_of(file, expected, BundleError) as arrays:
            self._read(arrays, axes)

    def _read(self, arrays: Mapping[str, NDArray[np.generic]], axes: Collection[str]) -> None:
        if (found := int(arrays["format"])) != DOMAIN_FORMAT:
            raise ValueError(f"it is of format {found}")
        self._axes = [str(axis) for axis in json.loads(str(arrays["axes"]))]
        if set(self._axes) - set(axes):
            raise ValueError(f"it reads the axes {', '.join(self._axes)}; the model has {', '.join(axes)}")
        self._idf = _widen(arrays["idf"], arrays["idf_step"])
        self._weights = _widen(arrays["weights"], arrays["weight_step"])
        self._bias = np.asarray(arrays["bias"], np.float64)
        self._mean, self._scale, self._coefficients = (
            np.asarray(arrays[name], np.float64) for name in ("mean", "scale", "coefficients")
        )
        self._intercept = float(arrays["intercept"])
        self.threshold, self.sure_threshold = float(arrays["threshold"]), float(arrays["sure_threshold"])
        features = PER_VIEW * VIEWS + PER_REPORT + PER_AXIS * len(self._axes)
        for name, values, shape in (
            ("idf", self._idf, (VIEWS * HASH_BUCKETS,)),
            ("weights", self._weights, (VIEWS * HASH_BUCKETS,)),
            ("bias", self._bias, (VIEWS,)),
            ("mean", self._mean, (features,)),
            ("scale", self._scale, (features,)),
            ("coefficients", self._coefficients, (features,)),
        ):
            if values.shape != shape or not np.isfinite(values).all():
                raise ValueError(f"{name} does not fit")
        if not (self._scale > 0).all() or not 0 <= self.threshold <= self.sure_threshold <= 1:
            raise ValueError("scale or thresholds are out of range")

    def probability(self, ids: Ints, counts: Floats, report: ModelInput, logits: Mapping[str, Floats]) -> float:
        """Probability that a report belongs, were both kinds equally frequent.

        Args:
            ids, counts: Its hashed n-grams [features]; see `recipe.features.all_features`. Those counted 0 times do not
                count.
            logits: Axis -> [labels], of the classifier.
        """
        ids, counts = ids[counts > 0], counts[counts > 0]
        words = word_features(ids, counts, self._idf, self._weights, self._bias)
        shape = shape_features(ids, report, {axis: logits[axis] for axis in self._axes})
        features = (np.asarray([*words, *shape]) - self._mean) / self._scale
        return float(1 / (1 + np.exp(-np.clip(features @ self._coefficients + self._intercept, -500, 500))))


def _widen(values: NDArray[np.generic], step: NDArray[np.generic]) -> Floats:
    steps = np.asarray(step, np.float32)
    return np.asarray(np.asarray(values).reshape(len(steps), HASH_BUCKETS) * steps[:, None], np.float32).ravel()
