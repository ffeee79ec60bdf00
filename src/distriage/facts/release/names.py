"""The words around a version, and the names that it may be of. Pure except for reading `words.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from distriage.base.texts import packaged_table, regex
from distriage.facts.projects import PYTORCH, Tracker, projects

_NO_LETTERS = regex(r"[^a-z0-9]+")


class Names(NamedTuple):
    """Names in small letters and digits alone: the product's, and those of other things with versions."""

    own: frozenset[str]
    others: frozenset[str]


def names_of(tracker: Tracker) -> Names:
    """The names of a tracker's product; its owner's is another's, unless they are the same."""
    parts = ("torch",) if tracker.product == PYTORCH else ()
    own = frozenset(letters_of(one) for one in (tracker.repository, *tracker.spellings, *parts)) - {""}
    return Names(own, (_others() | {letters_of(tracker.repository.partition("/")[0])}) - own)


def letters_of(words: str) -> str:
    """Small letters and digits alone."""
    return _NO_LETTERS.sub("", words)


def kinds_of(words: Iterable[str]) -> list[str]:
    """The kind of each word, or empty."""
    kinds = kinds_of_words()
    return [kinds.get(word, "not" if "n't" in word else "") for word in words]


@cache
def kinds_of_words() -> Mapping[str, str]:
    """Word -> its kind."""
    return {word: kind for kind, words in packaged_table(__package__, "words.toml")["kinds"].items() for word in words}


@cache
def _others() -> frozenset[str]:
    named = packaged_table(__package__, "words.toml")["names"]["other"]
    return frozenset(map(letters_of, (*named, *projects().names)))
