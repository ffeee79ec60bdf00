"""An index with some issues more, others, or gone. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from distriage.past.index import BUCKETS, PastIndex, assemble
from distriage.past.issue import PastIssue
from distriage.past.words import Features, Floats, Postings, postings, unit


def updated(
    index: PastIndex,
    gone: Collection[str],
    issues: Sequence[PastIssue],
    features: Sequence[Features],
    vectors: Sequence[Floats],
) -> PastIndex:
    """The index without some issues, and with others in the place of those of the same id.

    How rare a word is stays as it was counted, so make the index anew once many have changed.

    Args:
        index: Of one issue at least.
        gone: Their ids.
        features, vectors: Of each of `issues`, by the index's model.
    """
    left_out = {*gone, *(issue.id for issue in issues)}
    stays = np.array([issue.id not in left_out for issue in index.issues], bool)
    old_issues = [issue for issue, stay in zip(index.issues, stays, strict=True) if stay]
    old_place = np.cumsum(stays) - 1
    kept = stays[index.rows]
    new = postings(features, index.idf)
    found = Postings(
        np.concatenate([np.repeat(np.arange(BUCKETS), np.diff(index.starts))[kept], new.columns]),
        np.concatenate([old_place[index.rows[kept]], new.rows + len(old_issues)]).astype(np.uint32),
        np.concatenate([index.weights[kept].astype(np.float32), new.weights]),
    )
    matrix = index.vectors
    if matrix.size:
        more = np.array([unit(vector) for vector in vectors], np.float32).reshape(-1, matrix.shape[1])
        matrix = np.concatenate([matrix[stays], more])
    return assemble(index.model, [*old_issues, *issues], index.idf, found, matrix)
