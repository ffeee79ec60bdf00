"""Numbers in figures and in words of several languages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from distriage.facts.scanning import Counts, matches_at, places

NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "sixteen", "dual", "both")
_SIGNS = "两二双三四五六七八"
_UNITS = "一二三四五六七八九"
_NUMERALS = {
    **{  # 十六, 三十二
        f"{tens}十{unit}": (_UNITS.find(tens) + 1 if tens else 1) * 10 + (_UNITS.find(unit) + 1 if unit else 0)
        for tens in ("", *_UNITS[1:])
        for unit in ("", *_UNITS)
    },
    **{word: number for number, word in enumerate(NUMBER_WORDS[:7], 2)},
    **dict(zip(f"{_SIGNS}九", (2, 2, 2, *range(3, 10)), strict=True)),
    **dict.fromkeys(("dual", "both", "два", "две", "двух"), 2),
    "sixteen": 16,
}
WORD = rf"\b(?P<v>{'|'.join(NUMBER_WORDS)})[ -]"
SIGN_NUMBER = (  # 八, 十六, 三十二; whole ones: not the end of 一百二十八, nor of 第二, the second
    rf"(?P<v>[{_SIGNS}九十](?<![第几数百千零十{_SIGNS}一九].)(?:(?<![十两双])十)?(?:(?<=十)[{_UNITS}])?)"
)
FIGURES = r"\d{0,3}(?:,\d{3}){0,2}"  # behind the first one


def numbers_at(pattern: re.Pattern[str], text: str, starts: Iterable[str]) -> Counts:
    """The numbers of the matches that begin with some words."""
    begins = places(starts, text)
    return [(number_of(match), match.start()) for match in matches_at(pattern, text, begins)] if begins else []


def number_of(match: re.Match[str]) -> int:
    """The value of the group `v`, in figures or in words."""
    return number_in(match["v"].lower())


def number_in(said: str) -> int:
    """The value of a number in figures, or in words in lower case."""
    return _NUMERALS[said] if said in _NUMERALS else int(said.replace(",", ""))
