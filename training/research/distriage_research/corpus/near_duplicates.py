"""Near-duplicates.

Two reports are near-duplicates where the word 3-grams of their cleaned texts overlap by a Jaccard index of at least
`SIMILAR`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import HashingVectorizer

from distriage.recipe.features import words
from distriage.recipe.text import prepare
from distriage_training.corpus.records import Record

SIMILAR = 0.6
MIN_WORDS = 12  # shorter texts resemble each other by chance
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Pair:
    """Two records, by position, and the Jaccard index of their texts."""

    first: int
    second: int
    similarity: float


def near_duplicates(records: Sequence[Record], threshold: float = SIMILAR) -> Iterator[Pair]:
    """Find pairs of near-duplicates, `first` < `second`. Memory is bounded: a block of rows against all at a time."""
    if not records:
        return
    texts = [prepare(record.title, record.body).text for record in records]
    vectorizer = HashingVectorizer(
        analyzer=_shingles, binary=True, norm=None, alternate_sign=False, n_features=1 << 20, dtype=np.float32
    )
    matrix: csr_matrix = vectorizer.transform(texts)
    sizes = np.asarray(matrix.sum(1)).ravel()
    transposed = matrix.T.tocsr()
    for start in range(0, len(records), _BLOCK):
        common = (matrix[start : start + _BLOCK] @ transposed).tocoo()
        rows = common.row + start
        jaccard = common.data / (sizes[rows] + sizes[common.col] - common.data)
        for i in np.flatnonzero((jaccard >= threshold) & (rows < common.col)):
            yield Pair(int(rows[i]), int(common.col[i]), float(jaccard[i]))


def _shingles(text: str) -> list[str]:
    tokens = words(text)
    if len(tokens) < MIN_WORDS:
        return []
    return [" ".join(tokens[i : i + 3]) for i in range(len(tokens) - 2)]
