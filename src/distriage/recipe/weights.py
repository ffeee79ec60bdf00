"""TF-IDF of the hashed n-grams of `features.py`, and its cosines with the reports of an index. Pure numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distriage.recipe.features import HASH_BUCKETS, VIEWS

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]


def tfidf(ids: Ints, counts: Floats, idf: Floats, views: int = VIEWS) -> Floats:
    """Weights of hashed n-grams, those of each view of unit length: sublinear counts times `idf`.

    Args:
        ids, counts: One report's, [features].
        idf: Inverse document frequency of each of them, [features].
        views: How many there may be among `ids`.
    """
    values = (1 + np.log(counts)) * idf
    view = ids // HASH_BUCKETS
    lengths = np.sqrt(np.bincount(view, values**2, views))
    return np.asarray(values / np.maximum(1e-12, lengths)[view])


def cosines(
    ids: Ints, values: Floats, starts: NDArray[np.int64], rows: Ints, weights: Floats, reports: int
) -> NDArray[np.float64]:
    """Cosine of a report with each report of an index, the sum over the views, [reports].

    Args:
        ids, values: The report's, [features].
        starts: Where the postings of a bucket begin, [buckets + 1].
        rows, weights: Which report has the bucket, and its weight there, [postings].
    """
    begins = starts[ids]
    lengths = starts[ids + 1] - begins
    # The postings of all buckets, one after the other.
    places = np.arange(lengths.sum()) + np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
    products = weights[places] * np.repeat(values, lengths)
    return np.asarray(np.bincount(rows[places], products, reports), np.float64)
