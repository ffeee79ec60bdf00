"""Sparse features of a report: hashed word 1- and 2-grams. Pure.

They let the model read a report beyond the encoder's window, up to 24,000 characters, and remember rare words (an
option's name, an error code) that sub-word pieces blur. Hashing (Weinberger et al., 2009) needs no vocabulary file.
"""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from typing import Protocol
from zlib import crc32

from distriage.base.texts import regex

HASH_BUCKETS = 1 << 17
_bucket_of = (HASH_BUCKETS - 1).__and__  # code % HASH_BUCKETS, for `map` in one loop of C
MAX_FEATURES = 2048  # per report and view; the most frequent are kept
VIEWS = 2  # of a report: cleaned, and as filed

# For a text in lower case. The dotless i and the long s count as i and s, as they do for `re.I`; with that flag the
# pattern takes three times as long to compile and a fifth longer to search.
WORD = regex(r"[a-z\u0131\u017f_][a-z0-9\u0131\u017f_]*|\d+(?:\.\d+)?|[\u3400-\u9fff]")


class Prepared(Protocol):
    """The parts of a report that are counted; see `ModelInput`."""

    @property
    def title(self) -> str: ...
    @property
    def errors(self) -> tuple[str, ...]: ...
    @property
    def text(self) -> str: ...
    @property
    def filed(self) -> str: ...


def words(text: str) -> list[str]:
    """Lower-case words, identifiers, numbers and single CJK characters, in order."""
    return WORD.findall(text.lower())


def hashed_features(report: Prepared) -> tuple[list[int], list[float]]:
    """Count hashed n-grams.

    Returns:
        Bucket numbers in `range(HASH_BUCKETS)`, ascending and distinct, and how often each occurs; at most `MAX_FEATURES` of each.
        Words of the title and of error lines count apart from those of the rest, since the same word means more there.
    """
    counts: Counter[int] = Counter()
    for field, text in ((b"", report.text), (b"t ", report.title), (b"e ", "\n".join(report.errors))):
        _count(counts, text, field)
    return _most_frequent(counts)


def filed_features(report: Prepared) -> tuple[list[int], list[float]]:
    """The same of the report as filed, without fields."""
    return _most_frequent(word_grams(report.filed))


def word_grams(text: str) -> Counter[int]:
    """Bucket -> how often it occurs: the words and pairs of words of a text."""
    counts: Counter[int] = Counter()
    _count(counts, text)
    return counts


def all_features(report: Prepared) -> tuple[list[int], list[float]]:
    """Both views as the model takes them: the buckets of the second follow those of the first, in `range(VIEWS * HASH_BUCKETS)`."""
    cleaned, filed = hashed_features(report), filed_features(report)
    return cleaned[0] + [HASH_BUCKETS + bucket for bucket in filed[0]], cleaned[1] + filed[1]


def _count(counts: Counter[int], text: str, field: bytes = b"") -> None:
    """Add a text's words and pairs of words, each prefixed by `field`, as CRC-32; a pair continues its first word's."""
    tokens = " ".join(words(text)).encode().split()
    firsts = list(map(crc32, tokens, repeat(crc32(field))))
    pairs = map(crc32, (b" " + token for token in tokens[1:]), firsts)
    counts.update(map(_bucket_of, firsts))
    counts.update(map(_bucket_of, pairs))


def _most_frequent(counts: Counter[int]) -> tuple[list[int], list[float]]:
    if len(counts) > MAX_FEATURES:  # of those that are as frequent, the first in the text
        counts = Counter(dict(counts.most_common(MAX_FEATURES)))
    kept = sorted(counts)
    return kept, list(map(float, map(counts.__getitem__, kept)))
