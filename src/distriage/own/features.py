"""A report -> the numbers that heads for a repository's own labels read. Pure; the same in fitting and in serving.

Three blocks. Hashed n-grams as TF-IDF, of the words of each view (`recipe.features`) and of the title's characters:
each view has a fixed length, and only buckets that several reports had count. The mean vector of the encoder's last
layer but one, centred, of length 1: the last layer has turned to our axes (training/LOG.md). What the model says on its
own axes, as standardized log-probabilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from distriage.recipe.features import HASH_BUCKETS, VIEWS, all_features
from distriage.recipe.text import ModelInput
from distriage.types import Prediction

TITLE = VIEWS  # the view behind those of the words: many trackers' titles begin with a label, such as `[Bug]:`
OWN_VIEWS = VIEWS + 1
VIEW_WEIGHTS = np.array([1.0] * VIEWS + [0.5])  # lengths of their blocks
TITLE_GRAMS = (3, 4)  # characters
AXES_WEIGHT = 0.5  # typical length of the block of log-probabilities
LEAST_REPORTS = 2  # that must have a bucket
_LEAST_PROBABILITY = 1e-6

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Reading:
    """What is kept of one report.

    Attributes:
        ids, counts: Hashed n-grams [features] of all views, ascending.
        vector: The encoder's [width], of its last layer but one; may be empty.
        axes: Log-probabilities of all labels of all axes of the model, one after the other.
    """

    ids: NDArray[np.int64]
    counts: NDArray[np.float64]
    vector: NDArray[np.float32]
    axes: NDArray[np.float32]


def reading_of(report: ModelInput, prediction: Prediction) -> Reading:
    """Of a report and what the model says of it."""
    ids, counts = all_features(report)
    title = title_grams(report.title)
    vector = prediction.penultimate if len(prediction.penultimate) else prediction.vector  # an older graph
    probabilities = [p for scores in prediction.scores.values() for p in scores.probabilities.values()]
    return Reading(
        np.asarray([*ids, *(TITLE * HASH_BUCKETS + bucket for bucket in sorted(title))], np.int64),
        np.asarray([*counts, *(float(title[bucket]) for bucket in sorted(title))], np.float64),
        np.asarray(vector, np.float32),
        np.log(np.maximum(np.asarray(probabilities, np.float32), _LEAST_PROBABILITY)),
    )


def title_grams(title: str) -> Counter[int]:
    """Bucket -> how often it occurs: hashed runs of characters within the words of a title, each between two blanks."""
    counts: Counter[int] = Counter()
    for word in title.lower().split():
        between = f" {word} "
        for size in TITLE_GRAMS:
            runs = (between[start : start + size] for start in range(max(1, len(between) - size + 1)))
            counts.update(crc32(run.encode("utf-8", "replace")) % HASH_BUCKETS for run in runs)
    return counts


@dataclass(frozen=True, slots=True)
class Scales:
    """How readings become numbers, fitted on the reports that heads are fitted on.

    Attributes:
        buckets: Those that count, ascending, [words].
        idf: Their inverse document frequencies, [words].
        centre: Mean vector [width]; empty: the block is left out.
        mean, scale: Of the log-probabilities, [axes]; empty: the block is left out.
    """

    buckets: NDArray[np.int64]
    idf: NDArray[np.float64]
    centre: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fitted(
        cls, readings: Sequence[Reading], *, views: Sequence[int] = range(OWN_VIEWS), dense: bool = True
    ) -> Scales:
        """Fit.

        Args:
            views: Of the n-grams: 0 is the report as cleaned, 1 as filed, 2 the title's characters.
            dense: With the blocks of the encoder.
        """
        frequencies = np.zeros(OWN_VIEWS * HASH_BUCKETS, np.int64)
        for reading in readings:
            frequencies[reading.ids] += 1
        for view in set(range(OWN_VIEWS)).difference(views):
            frequencies[view * HASH_BUCKETS : (view + 1) * HASH_BUCKETS] = 0
        buckets = np.flatnonzero(frequencies >= LEAST_REPORTS)
        nothing = np.zeros(0)
        axes = np.array([reading.axes for reading in readings], np.float64)
        return cls(
            buckets,
            np.log((1 + len(readings)) / (1 + frequencies[buckets])) + 1,
            np.mean([reading.vector for reading in readings], axis=0, dtype=np.float64) if dense else nothing,
            axes.mean(0) if dense else nothing,
            axes.std(0) + 1e-6 if dense else nothing,
        )

    @property
    def width(self) -> int:
        """How many numbers a report becomes."""
        return len(self.buckets) + len(self.centre) + len(self.mean)

    def words(self, reading: Reading) -> tuple[NDArray[np.int64], Floats]:
        """Columns and values of the n-grams of one report, those of each view as long as its weight."""
        columns = np.searchsorted(self.buckets, reading.ids)
        known = columns < len(self.buckets)
        known[known] = self.buckets[columns[known]] == reading.ids[known]
        columns = columns[known]
        values = (1 + np.log(reading.counts[known])) * self.idf[columns]
        view = reading.ids[known] // HASH_BUCKETS
        lengths = np.sqrt(np.bincount(view, values**2, OWN_VIEWS))
        return columns, values * VIEW_WEIGHTS[view] / np.maximum(1e-12, lengths[view])

    def dense(self, reading: Reading) -> Floats:
        """The numbers that stand behind the words, [width of vector + axes]."""
        vector = np.zeros(0)
        if len(self.centre):
            moved = reading.vector - self.centre
            vector = moved / max(1e-12, float(np.linalg.norm(moved)))
        if not len(self.mean):
            return vector
        axes = (reading.axes - self.mean) / self.scale / np.sqrt(len(self.mean))
        return np.concatenate([vector, AXES_WEIGHT * axes])
