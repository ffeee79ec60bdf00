"""Baselines that a model must beat: the majority label, and TF-IDF with logistic regression on the same records."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from distriage_training.corpus.records import Record

Ints = NDArray[np.integer]


def majority(train: Ints, rows: int) -> Ints:
    """The commonest training label, `rows` times."""
    return np.full(rows, np.bincount(train).argmax())


class TfidfBaseline:
    """Word 1- and 2-grams as filed, logistic regression, balanced classes, C = 10: the corpus's first measurement."""

    def __init__(self, train: Sequence[Record]) -> None:
        self._vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=300_000)
        self._features = self._vectorizer.fit_transform([self._text(record) for record in train])

    @staticmethod
    def _text(record: Record) -> str:
        return f"{record.title}\n{record.body[:20_000]}"

    def predict(self, train_labels: Ints, records: Sequence[Record]) -> Ints:
        """Label numbers of `records`.

        Args:
            train_labels: Of the records given to the constructor, in order; negative: not labelled on this axis.
        """
        rows = train_labels >= 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes")  # few reports, many labels
            fitted = LogisticRegression(C=10, class_weight="balanced", max_iter=100, tol=1e-3).fit(
                self._features[rows], train_labels[rows]
            )
        return np.asarray(fitted.predict(self._vectorizer.transform([self._text(record) for record in records])))
