"""The index of known issues for `distriage.answer.similar`: its training records, and its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from distriage.answer.similar import INDEX_FORMAT
from distriage.base.errors import CorpusError
from distriage.model.bundle import INDEX, Bundle
from distriage.model.taxonomy import Taxonomy
from distriage.recipe.features import HASH_BUCKETS, hashed_features
from distriage.recipe.text import prepare
from distriage.recipe.weights import tfidf
from distriage_training.config import Config
from distriage_training.corpus.load import known_issues, load_splits
from distriage_training.corpus.records import Record, label_numbers
from distriage_training.release.seal import changed

MAX_POSTINGS = 128  # per record, the heaviest; see training/LOG.md


def add_index(bundle: Bundle, config: Config) -> int:
    """Write the index of a configuration's known issues into a bundle, replacing any earlier one, and seal it anew.

    Returns:
        Number of indexed issues.

    Raises:
        CorpusError: the data is missing or not valid, or none of the training records is a known issue.
    """
    issues = known_issues(load_splits(config, bundle.taxonomy).train, bundle.taxonomy)
    if not issues:
        raise CorpusError(
            f"{config.path}: no training record has a url and a label on every axis; expected known issues"
        )
    with changed(bundle) as folder:
        write_index(issues, bundle.taxonomy, folder / INDEX)
    return len(issues)


def write_index(issues: Sequence[Record], taxonomy: Taxonomy, file: Path) -> None:
    """Write the index of `known_issues`, in the layout of `distriage.answer.similar`.

    Titles of reports that are not restated belong to their reporters and are left out.
    """
    features = [hashed_features(prepare(record.title, record.body)) for record in issues]
    frequency = np.bincount([bucket for buckets, _ in features for bucket in buckets], minlength=HASH_BUCKETS)
    idf = (np.log((1 + len(issues)) / (1 + frequency)) + 1).astype(np.float32)
    matrix = _postings(features, idf.astype(np.float64))
    np.savez_compressed(
        file,
        format=np.asarray(INDEX_FORMAT),
        records=np.asarray(
            json.dumps(
                [
                    [record.id, record.url, record.title if record.origin == "restated" else "", record.note]
                    for record in issues
                ],
                ensure_ascii=False,
            )
        ),
        labels=np.asarray([label_numbers(record, taxonomy) for record in issues], np.int16).reshape(
            len(issues), len(taxonomy.axes)
        ),
        idf=idf,
        starts=matrix.indptr.astype(np.uint32),
        rows=matrix.indices.astype(np.min_scalar_type(len(issues))),
        counts=matrix.data,
    )


def _postings(features: Sequence[tuple[list[int], list[float]]], idf: NDArray[np.float64]) -> csc_matrix:
    """Counts of the heaviest n-grams of each report, [reports, HASH_BUCKETS]."""
    rows, columns, kept = [], [], []
    for row, (buckets, counts) in enumerate(features):
        numbers = np.asarray(buckets, np.int64)
        heaviest = np.sort(np.argsort(-tfidf(numbers, np.asarray(counts), idf[numbers]), kind="stable")[:MAX_POSTINGS])
        rows.append(np.full(len(heaviest), row))
        columns.append(numbers[heaviest])
        kept.append(np.minimum(np.asarray(counts)[heaviest], 255).astype(np.uint8))
    shape = (len(features), HASH_BUCKETS)
    return csc_matrix((np.concatenate(kept), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
