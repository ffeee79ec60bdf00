"""Fit the sparse head: one multinomial logistic regression per axis over hashed n-grams (scikit-learn)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from distriage.model.taxonomy import Taxonomy
from distriage.recipe.features import HASH_BUCKETS, VIEWS, all_features
from distriage.recipe.text import prepare
from distriage_training.config import Config
from distriage_training.corpus.records import UNLABELLED, Record
from distriage_training.fit.examples import targets
from distriage_training.fit.model import SparseHead

WORTH_PROCESSES = 2_000  # records; starting processes takes longer than to fit fewer


def feature_matrix(records: Sequence[Record]) -> csr_matrix:
    """Hashed n-gram counts of both views, [records, VIEWS * HASH_BUCKETS]."""
    indptr, indices, counts = [0], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for record in records:
        ids, values = all_features(prepare(record.title, record.body))
        indices.append(np.array(ids, np.int32))  # a list of Python's numbers takes eight times the memory
        counts.append(np.array(values, np.float32))
        indptr.append(indptr[-1] + len(ids))
    found = (np.concatenate(counts), np.concatenate(indices), indptr)
    return csr_matrix(found, shape=(len(records), VIEWS * HASH_BUCKETS), dtype=np.float64)


def fit_sparse_head(records: Sequence[Record], taxonomy: Taxonomy, config: Config, progress: Any = None) -> SparseHead:
    """Fit on training records.

    Axes are fitted side by side, one a core.

    Args:
        progress: Called with each axis that has been fitted.

    Returns:
        A head whose outputs are the labels of all axes, in the taxonomy's order. A label without any example gets a
        logit far below the others.
    """
    counts = feature_matrix(records)
    counts.data = 1 + np.log(counts.data)
    read = [
        (row, *reading) for row, record in enumerate(records) for reading in targets(record, taxonomy, config.training)
    ]
    rows, numbers, weights = (np.array(column) for column in zip(*read, strict=True))
    sizes = [len(axis.label_ids) for axis in taxonomy.axes.values()]
    head = SparseHead(HASH_BUCKETS, sum(sizes), VIEWS)
    jobs = -1 if len(records) >= WORTH_PROCESSES else 1
    for view in range(VIEWS):
        columns = slice(view * HASH_BUCKETS, (view + 1) * HASH_BUCKETS)
        transformer = TfidfTransformer().fit(counts[:, columns])
        features = transformer.transform(counts[:, columns])
        head.idf[columns] = torch.from_numpy(transformer.idf_)
        # An n-gram that no report has keeps the weight 0: its column is left out of the fit.
        seen = np.unique(features.indices)
        features = features[:, seen]
        fits = Parallel(n_jobs=jobs, return_as="generator")(
            delayed(_fit_axis)(features, rows, numbers[:, i], weights[:, i], size, config)
            for i, size in enumerate(sizes)
        )
        fitted = []
        for axis, found in zip(taxonomy.axes, fits, strict=True):
            fitted.append(found)
            if progress is not None:
                progress(f"{axis}, view {view + 1} of {VIEWS}")
        weight = np.concatenate([weight for weight, _ in fitted]).astype(np.float32)
        head.set_weights(view, torch.from_numpy(weight.T), torch.from_numpy(seen))
        head.bias[view] = torch.from_numpy(np.concatenate([bias for _, bias in fitted]))
    return head


def _fit_axis(
    features: csr_matrix,
    rows: NDArray[np.int64],
    numbers: NDArray[np.int64],
    weights: NDArray[np.float64],
    size: int,
    config: Config,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights [size, columns] and biases [size] of an axis; a reading a row of `rows`, `numbers` and `weights`."""
    used = (numbers != UNLABELLED) & (weights > 0)
    # Readers who agree are one example.
    chosen, place = np.unique(rows[used] * size + numbers[used], return_inverse=True)
    return _fit_labels(
        features[chosen // size],
        chosen % size,
        np.bincount(place, weights[used]).astype(np.float64),
        size,
        config,
    )


def _fit_labels(
    features: csr_matrix, labels: NDArray[np.int64], weights: NDArray[np.float64], size: int, config: Config
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    settings = config.sparse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `max_iterations` is meant to stop it
        warnings.filterwarnings("ignore", "The number of unique classes")  # few reports, many labels
        fitted = LogisticRegression(
            C=settings.inverse_regularization,
            class_weight="balanced",
            max_iter=settings.max_iterations,
            tol=settings.tolerance,
            random_state=config.seed,
        ).fit(features, labels, sample_weight=weights)
    weight = np.zeros((size, features.shape[1]))
    bias = np.full(size, -10.0)
    if len(fitted.classes_) == 2:  # scikit-learn stores one row for two classes: the second's log-odds
        weight[fitted.classes_[1]], bias[fitted.classes_] = fitted.coef_[0], (0.0, fitted.intercept_[0])
    else:
        weight[fitted.classes_], bias[fitted.classes_] = fitted.coef_, fitted.intercept_
    return weight, bias
