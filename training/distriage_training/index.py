"""The index of known issues that `distriage.similar` searches: which training records are in it, and its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from distriage.features import HASH_BUCKETS, hashed_features
from distriage.similar import INDEX_FORMAT, tfidf
from distriage.taxonomy import Taxonomy
from distriage.text import prepare
from distriage_training.corpus import Record
from distriage_training.examples import label_numbers

PUBLIC = frozenset({"raw", "restated"})  # origins
MAX_POSTINGS = 128  # per record, the heaviest; see training/LOG.md


def known_issues(records: Sequence[Record], taxonomy: Taxonomy) -> list[Record]:
    """The training records that may be shown and are worth it: public threads with a label on every axis, hence bugs.

    Not those of origin generated, which have no thread, nor feedback, whose threads may be private.
    """
    shown = [record for record in records if record.split == "train" and record.origin in PUBLIC and record.url]
    return [record for record in shown if record.labels.keys() == taxonomy.axes.keys()]


def write_index(issues: Sequence[Record], taxonomy: Taxonomy, file: Path) -> None:
    """Write the index of `known_issues`; its layout stands in `distriage.similar`.

    Titles of reports that are not restated belong to their reporters and are left out.
    """
    features = [hashed_features(prepare(record.title, record.body)) for record in issues]
    frequency = np.bincount([bucket for buckets, _ in features for bucket in buckets], minlength=HASH_BUCKETS)
    idf = (np.log((1 + len(issues)) / (1 + frequency)) + 1).astype(np.float32)
    matrix = _postings(features, idf.astype(np.float64))
    np.savez_compressed(
        file,
        format=np.asarray(INDEX_FORMAT),
        records=np.asarray(json.dumps([[record.id, record.url, record.title if record.origin == "restated" else ""] for record in issues], ensure_ascii=False)),
        labels=np.asarray([label_numbers(record, taxonomy) for record in issues], np.int16).reshape(len(issues), len(taxonomy.axes)),
        idf=idf,
        starts=matrix.indptr.astype(np.uint32),
        rows=matrix.indices.astype(np.min_scalar_type(len(issues))),
        weights=matrix.data.astype(np.float16),
    )


def _postings(features: Sequence[tuple[list[int], list[float]]], idf: NDArray[np.float64]) -> csc_matrix:
    """Weights of the heaviest n-grams of each report, [reports, HASH_BUCKETS]."""
    rows, columns, weights = [], [], []
    for row, (buckets, counts) in enumerate(features):
        numbers = np.asarray(buckets, np.int64)
        values = tfidf(numbers, np.asarray(counts), idf)
        heaviest = np.sort(np.argsort(-values, kind="stable")[:MAX_POSTINGS])
        rows.append(np.full(len(heaviest), row))
        columns.append(numbers[heaviest])
        weights.append(values[heaviest] / max(1e-12, float(np.linalg.norm(values[heaviest]))))
    shape = (len(features), HASH_BUCKETS)
    return csc_matrix((np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
