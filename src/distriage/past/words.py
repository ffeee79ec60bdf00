"""Hashed n-grams, error lines and titles of issues -> the index's postings: the issues of each, with weights. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from distriage.base.texts import regex
from distriage.recipe.features import HASH_BUCKETS, VIEWS
from distriage.recipe.folding import DIGITS
from distriage.recipe.weights import tfidf

if TYPE_CHECKING:
    from distriage.recipe.text import ModelInput

Features = tuple[NDArray[np.int32], NDArray[np.float32]]
Floats = NDArray[np.float32]

LINES = VIEWS * HASH_BUCKETS  # from here on, a bucket is a whole error line
TITLES = LINES + HASH_BUCKETS  # from here on, a word of the title
BUCKETS = TITLES + HASH_BUCKETS
MIN_LINE_WORDS = 3  # a shorter line, as `RuntimeError`, names no failure
_ENDS = regex(r"segmentation fault|\bSIG(?:SEGV|KILL|ABRT|BUS)\b|exit (?:code|status)", re.I)  # of any failure
POSTINGS = (128, 0, 8, 32)  # of an issue and view, the heaviest; the text as filed adds nothing to the cleaned one
MAX_TITLE_CHARS = 300  # as the model reads
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)?|[\u3400-\u9fff]")
_PART = regex(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")  # of a name


@dataclass(frozen=True, slots=True)
class Postings:
    """Issue, bucket and weight; one element each."""

    columns: NDArray[np.int64]
    rows: NDArray[np.uint32]
    weights: Floats


def features_of(read: ModelInput) -> Features:
    """The n-grams that the model reads, and behind them the error lines, each as one bucket without its numbers."""
    lines = [DIGITS.sub("0", line.lower()).split() for line in read.errors if not _ENDS.search(line)]
    named = (" ".join(words).encode("utf-8", "replace") for words in lines if len(words) >= MIN_LINE_WORDS)
    hashes = {crc32(line) % HASH_BUCKETS for line in named}
    buckets, counts = read.features
    return (
        np.concatenate([buckets, np.asarray(sorted(hashes), np.int32) + np.int32(LINES)]),
        np.concatenate([counts, np.ones(len(hashes), np.float32)]),
    )


def titled(features: Features, title: str) -> Features:
    """The features, and behind them the words of a title: `getDataLoader` as a whole, and as get, data and loader."""
    counts: Counter[int] = Counter()
    for name in _NAME.findall(title[:MAX_TITLE_CHARS]):
        parts = [part for part in _PART.findall(name) if len(part) > 1]
        said = [name, *parts] if parts != [name] else parts
        counts.update(crc32(word.lower().encode()) % HASH_BUCKETS for word in said)
    buckets = sorted(counts)
    return (
        np.concatenate([features[0], np.asarray(buckets, np.int32) + np.int32(TITLES)]),
        np.concatenate([features[1], np.asarray([counts[one] for one in buckets], np.float32)]),
    )


def rarity(features: Sequence[Features]) -> Floats:
    """Inverse document frequency, [BUCKETS]."""
    frequency = np.zeros(BUCKETS, np.int64)
    for buckets, _ in features:
        frequency[np.asarray(buckets, np.int64)] += 1
    return (np.log((1 + len(features)) / (1 + frequency)) + 1).astype(np.float32)


def postings(features: Sequence[Features], idf: Floats) -> Postings:
    """The issues', numbered from 0; the heaviest of each."""
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
