"""Words of our field in a report: evidence of the domain that no other project's vocabulary imitates."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"[a-z][a-z0-9_]*")


class _Names:
    """Whole words, beginnings of words, and words of languages that put no space between them."""

    def __init__(self, names: list[str]) -> None:
        self._whole = frozenset(names)
        self._beginnings = tuple(name[:-1] for name in names if name.endswith("*"))
        self._unspaced = [name for name in names if not name.isascii()]

    def among(self, words: set[str], text: str) -> int:
        begun = {word for word in words if word.startswith(self._beginnings)}
        return len(words & self._whole | begun) + sum(name in text for name in self._unspaced)


def field_words(text: str) -> tuple[int, int]:
    """How many different words of the field a text has: those that mean nothing else, and all (`field.toml`)."""
    certain, shared = _vocabulary()
    words = set(_WORD.findall(text.lower()))
    found = certain.among(words, text)
    return found, found + shared.among(words, text)


@cache
def _vocabulary() -> tuple[_Names, _Names]:
    table = tomllib.loads((files("distriage.recipe") / "field.toml").read_text(encoding="utf-8"))
    return _Names(table["certain"]), _Names(table["shared"])
