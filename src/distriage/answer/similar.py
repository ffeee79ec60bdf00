"""The nearest known issues, with their fixes, from an index inside the bundle.

A known issue is similar by the words that it shares with the report (cosine of TF-IDF over the hashed n-grams of
`features.py`), and by the model's probability of its labels for the report. The labels of known issues come from their
whole threads.

index.npz  format   []             `INDEX_FORMAT`
           records  []             JSON: a list of [id, url, title, note]; title "" where it is not ours to publish
           labels   [records, axes] int16, label numbers, -1: not annotated
           idf      [HASH_BUCKETS] float32, inverse document frequency
           starts   [HASH_BUCKETS + 1] uint32: where the postings of a bucket begin
           rows     [postings]     uint16 or uint32, records that have the bucket
           counts   [postings]     uint8, how often they have it; TF-IDF of unit length is made of it when it is read
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from distriage.answer.verdict import SimilarIssue
from distriage.base.arrays import arrays_of
from distriage.base.errors import BundleError
from distriage.base.references import thread_key, web_link
from distriage.base.types import Prediction
from distriage.model.bundle import INDEX, Bundle
from distriage.reading.report import ReadReport
from distriage.recipe.features import HASH_BUCKETS, hashed_features
from distriage.recipe.text import ModelInput
from distriage.recipe.weights import cosines, tfidf

INDEX_FORMAT = 2
LABEL_WEIGHT = (
    0.25  # of the agreement of labels, where the cosine of words has 1; chosen on validation, see training/LOG.md
)


class Similar:
    """The index of one bundle, ready to search. Safe to share between threads."""

    def __init__(self, bundle: Bundle) -> None:
        """Read the index of a bundle.

        Raises:
            BundleError: the index is missing, damaged or of another format.
        """
        self._axes = bundle.manifest.axes
        file = bundle.path / INDEX
        if not self.available(bundle):
            raise BundleError(f"{file}: missing; this model has no index of known issues (`distriage index` makes one)")
        bundle.verify(INDEX)
        with arrays_of(file, f"an index that this Distriage reads (format {INDEX_FORMAT})", BundleError) as arrays:
            self._read(arrays, bundle)

    @staticmethod
    def available(bundle: Bundle) -> bool:
        """Whether the bundle has an index."""
        return INDEX in bundle.manifest.files

    def _read(self, arrays: Mapping[str, NDArray[np.generic]], bundle: Bundle) -> None:
        if (found := int(arrays["format"])) != INDEX_FORMAT:
            raise ValueError(f"it is of format {found}")
        self._records = [
            (str(i), web_link(str(url)), str(title), str(note))
            for i, url, title, note in json.loads(str(arrays["records"]))
        ]
        self._places: dict[str, list[int]] = {}  # an index may hold a thread under two names of its repository
        for row, (identifier, *_) in enumerate(self._records):
            self._places.setdefault(thread_key(identifier), []).append(row)
        self._labels = np.asarray(arrays["labels"], np.int64)
        self._idf = np.asarray(arrays["idf"], np.float64)
        self._starts = np.asarray(arrays["starts"], np.int64)
        self._rows = np.asarray(arrays["rows"], np.int32)
        counts = np.asarray(arrays["counts"], np.float32)
        sizes = [len(calibration.labels) for calibration in bundle.manifest.axes.values()]
        for name, fits in {
            "labels": self._labels.shape == (len(self._records), len(sizes))
            and (self._labels >= -1).all()
            and (self._labels < sizes).all(),
            "idf": self._idf.shape == (HASH_BUCKETS,),
            "starts": self._starts.shape == (HASH_BUCKETS + 1,)
            and (np.diff(self._starts) >= 0).all()
            and self._starts[0] == 0
            and self._starts[-1] == len(self._rows),
            "rows": self._rows.ndim == 1 and self._rows.max(initial=0) < max(1, len(self._records)),
            "counts": counts.shape == self._rows.shape and (counts >= 1).all(),
        }.items():
            if not fits:
                raise ValueError(f"{name} does not fit")
        values = (1 + np.log(counts)) * np.repeat(self._idf, np.diff(self._starts))
        lengths = np.sqrt(np.bincount(self._rows, values**2, len(self._records)))
        self._weights = np.asarray(values / np.maximum(1e-12, lengths)[self._rows], np.float32)

    def nearest(self, known: ReadReport, prediction: Prediction, k: int = 5) -> list[SimilarIssue]:
        """Find known issues like a report.

        Args:
            prediction: The bundle's model's, for the report.

        Returns:
            The most similar first; never the report's own issue.
        """
        scores = (self._shared_words(known.input) + LABEL_WEIGHT * self._label_agreement(prediction)) / (
            1 + LABEL_WEIGHT
        )
        own = self._places.get(thread_key(known.report.id), [])
        order = [int(row) for row in np.argsort(-scores, kind="stable")[: k + len(own)] if row not in own]
        return [self._issue(row, float(scores[row])) for row in order[:k]]

    def _shared_words(self, report: ModelInput) -> NDArray[np.float64]:
        """Cosine of TF-IDF with each record, [records]."""
        buckets, counts = hashed_features(report)
        ids = np.asarray(buckets, np.int64)
        values = tfidf(ids, np.asarray(counts), self._idf[ids])
        return cosines(ids, values, self._starts, self._rows, self._weights, len(self._records))

    def _label_agreement(self, prediction: Prediction) -> NDArray[np.float64]:
        """Mean over axes of the probability of each record's label, [records]."""
        total = np.zeros(len(self._records))
        for column, (axis, calibration) in enumerate(self._axes.items()):
            probabilities = [prediction.scores[axis].probabilities[label] for label in calibration.labels]
            total += np.asarray([*probabilities, 0.0])[self._labels[:, column]]  # -1 takes the 0
        return total / len(self._axes)

    def _issue(self, row: int, similarity: float) -> SimilarIssue:
        labels = {
            axis: calibration.labels[number]
            for (axis, calibration), number in zip(self._axes.items(), self._labels[row], strict=True)
            if number >= 0
        }
        identifier, url, title, note = self._records[row]
        similarity = round(min(1.0, max(0.0, similarity)), 4)
        return SimilarIssue(id=identifier, url=url, title=title, labels=labels, similarity=similarity, note=note)
