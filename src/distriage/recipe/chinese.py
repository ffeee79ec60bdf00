"""Chinese words, in English: the encoder hardly knows Chinese. The glossary's gain: training/LOG.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from distriage.base.texts import packaged_table, regex

GLOSSARY = "chinese.toml"
_CHINESE = regex("[\u4e00-\u9fff]")


def in_english(text: str) -> str:
    """The text with the glossary's words in English, each between blanks."""
    if text.isascii() or not _CHINESE.search(text):
        return text
    words, english = glossary()
    return words.sub(lambda found: f" {english[found[0]]} ", text)


@cache
def glossary() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """A pattern of all Chinese words that are known, the longest first, and the English one of each."""
    english = packaged_table(__package__, GLOSSARY)
    return re.compile("|".join(sorted(english, key=len, reverse=True))), english
