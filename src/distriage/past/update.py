"""An index with issues added, replaced or removed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from distriage.past.index import PastIndex
from distriage.past.issue import PastIssue
from distriage.past.words import BUCKETS, Features, Floats, postings, titled, unit


def updated(
    index: PastIndex,
    gone: Collection[str],
    issues: Sequence[PastIssue],
    features: Sequence[Features],
    vectors: Sequence[Floats],
) -> PastIndex:
    """The index without some issues, and with others added or replaced by id.

    Words keep their rarity as first counted, so rebuild the index once many issues have changed.

    Args:
        index: Holds one issue at least.
        features, vectors: Each of `issues`, by the index's model.
    """
    left_out = {*gone, *(issue.id for issue in issues)}
    stays = np.array([issue.id not in left_out for issue in index.issues], bool)
    starts, rows, weights, matrix = index.starts, index.rows, index.weights, index.vectors
    if not stays.all():
        kept = stays[rows]
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
        rows, weights = (np.cumsum(stays) - 1)[rows[kept]], weights[kept]
        matrix = matrix[stays] if matrix.size else matrix
    old = [issue for issue, stay in zip(index.issues, stays, strict=True) if stay]
    new = postings([titled(one, issue.title) for one, issue in zip(features, issues, strict=True)], index.idf)
    order = np.argsort(new.columns, kind="stable")
    ends = starts[new.columns[order] + 1]  # of the buckets: behind all older issues
    if matrix.size:
        more = np.array([unit(vector) for vector in vectors], np.float32).reshape(-1, matrix.shape[1])
        matrix = np.concatenate([matrix, more])
    everything = [*old, *issues]
    return PastIndex(
        model=index.model,
        issues=everything,
        idf=index.idf,
        starts=starts + np.concatenate([[0], np.cumsum(np.bincount(new.columns, minlength=BUCKETS))]),
        rows=np.insert(rows, ends, new.rows[order] + len(old)).astype(np.uint32),
        weights=np.insert(weights, ends, new.weights[order].astype(np.float16)),
        vectors=matrix,
        filed_at=np.array([issue.filed_at for issue in everything]),
    )
