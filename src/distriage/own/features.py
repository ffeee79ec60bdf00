"""A report -> the numbers that heads for a repository's own labels read. Pure; the same in fitting and in serving.

Three blocks. Hashed n-grams as TF-IDF: words of each view (`recipe.features`), characters of the title, answers in the
tracker's form, and opening words of the report; each view has a fixed length and counts only buckets that several
reports had. The mean vector of the encoder's last layer but one, centred, of length 1, as the last layer is bent to our
axes (training/LOG.md). The model's own answers, as standardized log-probabilities per axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from distriage.base.texts import regex
from distriage.base.types import Prediction
from distriage.recipe.features import HASH_BUCKETS, VIEWS, word_grams
from distriage.recipe.text import ModelInput
from distriage.recipe.weights import Floats, tfidf

# The views behind those of the words. Many trackers' titles begin with a label, such as `[Bug]:`; others ask for it in
# their form, often first.
TITLE, FORM, OPENING = range(VIEWS, VIEWS + 3)
OWN_VIEWS = VIEWS + 3
VIEW_WEIGHTS = np.array([1.0] * VIEWS + [0.5] * 3)  # lengths of their blocks
TITLE_GRAMS = (3, 4)  # characters
OPENING_CHARS = 200  # of the body
AXES_WEIGHT = 0.5  # typical length of the block of log-probabilities
LEAST_REPORTS = 2  # that must have a bucket
_LEAST_PROBABILITY = 1e-6
# For a stripped line in lower case.
_HEADING = regex(r"#{1,6} .{1,100}|\*\*.{1,100}\*\*:?")
_TICKED = regex(r"[-*] \[x\] .{3}")
_KEY = regex(r"[a-z][a-z /_-]{2,40}")
_ANSWER_CHARS = 60


@dataclass(frozen=True, slots=True)
class OwnFeatures:
    """The features of one report.

    Attributes:
        ids, counts: Hashed n-grams [features] of all views, ascending.
        vector: The encoder's [width], of its last layer but one.
        axes: Log-probabilities of all labels of all axes of the model, one after the other.
    """

    ids: NDArray[np.int64]
    counts: NDArray[np.float64]
    vector: NDArray[np.float32]
    axes: NDArray[np.float32]


def own_features(report: ModelInput, prediction: Prediction) -> OwnFeatures:
    """Features of a report and its prediction."""
    ids, counts = (array.tolist() for array in report.features)
    body = report.filed.partition("\n")[2]
    for view, found in (
        (TITLE, title_grams(report.title)),
        (FORM, form_answers(body)),
        (OPENING, word_grams(body[:OPENING_CHARS])),
    ):
        ids += [view * HASH_BUCKETS + bucket for bucket in sorted(found)]
        counts += [float(found[bucket]) for bucket in sorted(found)]
    probabilities = [p for scores in prediction.scores.values() for p in scores.probabilities.values()]
    return OwnFeatures(
        np.asarray(ids, np.int64),
        np.asarray(counts, np.float64),
        np.asarray(prediction.penultimate, np.float32),
        np.log(np.maximum(np.asarray(probabilities, np.float32), _LEAST_PROBABILITY)),
    )


def title_grams(title: str) -> Counter[int]:
    """Bucket -> how often it occurs: hashed runs of characters within the words of a title, each between two blanks."""
    between = (f" {word} " for word in title.lower().split())
    return _hashed(
        word[start : start + size]
        for word in between
        for size in TITLE_GRAMS
        for start in range(max(1, len(word) - size + 1))
    )


def form_answers(body: str) -> Counter[int]:
    """Bucket -> how often it occurs: hashed questions of a form, each whole and with its answer.

    A heading and the short line below it, `key: value`, and ticked boxes.
    """
    lines = [stripped for line in body.lower().split("\n") if (stripped := line.strip())]
    return _hashed(_answers(lines))


def _answers(lines: Sequence[str]) -> Iterator[str]:
    for question, answer in pairwise(lines):
        if _HEADING.fullmatch(question) and len(answer) <= _ANSWER_CHARS and not _HEADING.fullmatch(answer):
            yield f"{question}={answer}"
    for line in lines:
        if _TICKED.match(line):
            yield line
        key, _, value = line.partition(":")
        key, value = key.strip("-* "), value.strip("* ")
        if 0 < len(value) <= _ANSWER_CHARS and _KEY.fullmatch(key):
            yield f"{key}={value}"


def _hashed(runs: Iterable[str]) -> Counter[int]:
    return Counter(crc32(run.encode("utf-8", "replace")) % HASH_BUCKETS for run in runs)


@dataclass(frozen=True, slots=True)
class Scales:
    """How features become numbers, fitted on the same reports as the heads.

    Attributes:
        buckets: Those that count, ascending, [words].
        idf: Their inverse document frequencies, [words].
        centre: Mean vector [width]; empty: the block is left out.
        mean, scale: The log-probabilities', [axes]; empty: the block is left out.
    """

    buckets: NDArray[np.int64]
    idf: NDArray[np.float64]
    centre: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fitted(
        cls, rows: Sequence[OwnFeatures], *, views: Sequence[int] = range(OWN_VIEWS), dense: bool = True
    ) -> Scales:
        """Fit.

        Args:
            views: The n-grams': 0 is the report as cleaned, 1 as filed; `TITLE`, `FORM`, `OPENING`.
            dense: Include the blocks of the encoder.
        """
        frequencies = np.zeros(OWN_VIEWS * HASH_BUCKETS, np.int64)
        for features in rows:
            frequencies[features.ids] += 1
        for view in set(range(OWN_VIEWS)).difference(views):
            frequencies[view * HASH_BUCKETS : (view + 1) * HASH_BUCKETS] = 0
        buckets = np.flatnonzero(frequencies >= LEAST_REPORTS)
        nothing = np.zeros(0)
        axes = np.array([features.axes for features in rows], np.float64)
        return cls(
            buckets,
            np.log((1 + len(rows)) / (1 + frequencies[buckets])) + 1,
            np.mean([features.vector for features in rows], axis=0, dtype=np.float64) if dense else nothing,
            axes.mean(0) if dense else nothing,
            axes.std(0) + 1e-6 if dense else nothing,
        )

    @property
    def width(self) -> int:
        """How many numbers a report becomes."""
        return len(self.buckets) + len(self.centre) + len(self.mean)

    def words(self, features: OwnFeatures) -> tuple[NDArray[np.int64], Floats]:
        """Columns and values of the n-grams of one report, those of each view as long as its weight."""
        columns = np.searchsorted(self.buckets, features.ids)
        known = columns < len(self.buckets)
        known[known] = self.buckets[columns[known]] == features.ids[known]
        columns = columns[known]
        ids = features.ids[known]
        values = tfidf(ids, features.counts[known], self.idf[columns], OWN_VIEWS)
        return columns, values * VIEW_WEIGHTS[ids // HASH_BUCKETS]

    def dense(self, features: OwnFeatures) -> Floats:
        """The numbers after the words, [width of vector + axes]."""
        vector = np.zeros(0)
        if len(self.centre):
            moved = features.vector - self.centre
            vector = moved / max(1e-12, float(np.linalg.norm(moved)))
        if not len(self.mean):
            return vector
        axes = (features.axes - self.mean) / self.scale / np.sqrt(len(self.mean))
        return np.concatenate([vector, AXES_WEIGHT * axes])
