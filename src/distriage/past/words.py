"""Hashed n-grams of issues -> the index's postings: the issues of each n-gram, with weights. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distriage.recipe.features import HASH_BUCKETS
from distriage.recipe.weights import tfidf

Features = tuple[NDArray[np.int32], NDArray[np.float32]]
Floats = NDArray[np.float32]

POSTINGS = (128, 64)  # of an issue and view, the heaviest


@dataclass(frozen=True, slots=True)
class Postings:
    """Issue, bucket and weight; one element each."""

    columns: NDArray[np.int64]
    rows: NDArray[np.uint32]
    weights: Floats


def postings(features: Sequence[Features], idf: Floats) -> Postings:
    """Of issues, numbered from 0; the heaviest of each."""
    kept = [_heaviest(*weighted(one, idf)) for one in features]
    return Postings(
        np.concatenate([buckets for buckets, _ in kept] or [np.zeros(0, np.int64)]),
        np.repeat(np.arange(len(kept), dtype=np.uint32), [len(buckets) for buckets, _ in kept]),
        np.concatenate([values for _, values in kept] or [np.zeros(0, np.float32)]),
    )


def weighted(features: Features, idf: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Buckets, and their weights, of unit length in each view."""
    buckets, counts = np.asarray(features[0], np.int64), np.asarray(features[1], np.float32)
    return buckets, tfidf(buckets, np.maximum(counts, 1), idf[buckets]).astype(np.float32)


def _heaviest(buckets: NDArray[np.int64], values: Floats) -> tuple[NDArray[np.int64], Floats]:
    parts = []
    for view, most in enumerate(POSTINGS):
        here = np.flatnonzero(buckets // HASH_BUCKETS == view)
        here = here[np.argsort(-values[here], kind="stable")[:most]]
        parts.append((buckets[here], unit(values[here])))
    return np.concatenate([one for one, _ in parts]), np.concatenate([one for _, one in parts])


def unit(vector: Floats) -> Floats:
    """The vector with length 1."""
    return np.asarray(vector / max(1e-12, float(np.linalg.norm(vector))), np.float32)
