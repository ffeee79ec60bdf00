"""Sparse features of a report: hashed word 1- and 2-grams. Pure.

They let the model read the whole report, beyond the encoder's window, and remember rare words (an option's name, an
error code) that sub-word pieces blur. Hashing (Weinberger et al., 2009) needs no vocabulary file.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from itertools import pairwise

from distriage.recipe.text import ModelInput

HASH_BUCKETS = 1 << 17
MAX_FEATURES = 2048  # per report and view; the most frequent are kept
VIEWS = 2  # of a report: cleaned, and as filed

_WORD = re.compile(r"[a-z_][a-z0-9_]*|\d+(?:\.\d+)?|[\u3400-\u9fff]", re.I)


def words(text: str) -> list[str]:
    """Lower-case words, identifiers, numbers and single CJK characters, in order."""
    return _WORD.findall(text.lower())


def hashed_features(report: ModelInput) -> tuple[list[int], list[float]]:
    """Count hashed n-grams.

    Returns:
        Bucket numbers in `range(HASH_BUCKETS)`, ascending and distinct, and how often each occurs; at most `MAX_FEATURES` of each.
        Words of the title and of error lines count apart from those of the rest, since the same word means more there.
    """
    counts: Counter[int] = Counter()
    for field, text in (("", report.text), ("t ", report.title), ("e ", "\n".join(report.errors))):
        tokens = words(text)
        counts.update(_bucket(field + token) for token in tokens)
        counts.update(_bucket(f"{field}{a} {b}") for a, b in pairwise(tokens))
    return _most_frequent(counts)


def filed_features(report: ModelInput) -> tuple[list[int], list[float]]:
    """The same of the report as filed, without fields."""
    tokens = words(report.filed)
    counts = Counter(map(_bucket, tokens))
    counts.update(_bucket(f"{a} {b}") for a, b in pairwise(tokens))
    return _most_frequent(counts)


def all_features(report: ModelInput) -> tuple[list[int], list[float]]:
    """Both views as the model takes them: the buckets of the second follow those of the first, in `range(VIEWS * HASH_BUCKETS)`."""
    cleaned, filed = hashed_features(report), filed_features(report)
    return cleaned[0] + [HASH_BUCKETS + bucket for bucket in filed[0]], cleaned[1] + filed[1]


def _most_frequent(counts: Counter[int]) -> tuple[list[int], list[float]]:
    kept = sorted(bucket for bucket, _ in counts.most_common(MAX_FEATURES))
    return kept, [float(counts[bucket]) for bucket in kept]


def _bucket(ngram: str) -> int:
    return zlib.crc32(ngram.encode()) % HASH_BUCKETS
