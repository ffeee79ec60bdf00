"""The lines of issue forms and templates; the offline table is `forms.toml`. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from distriage.base.texts import packaged_table, regex
from distriage.base.types import FormLines

MAX_LINE_CHARS = 300
_FIRST_WORD = regex(r"(?:\d{1,2}[.)] )?([^\W_])")
_IN_BRACKETS = regex(r"\s*[(（\[][^()（）\[\]]{0,200}[)）\]]?$")
_CLOSING = (")", "）", "]")
_TICKED = regex(r"(?:[-*+] )?\[[ xX✓✔]?\] ")
# "OS: [e.g. Ubuntu 20.04]", "<fill in>": not filled in.
_PLACEHOLDER = regex(r".{0,80}(?:\[(?:e\.g\.|if applicable|please)[^\]]{0,200}\])\W{0,3}$", re.I)
_KEY = 4  # letters that index a beginning


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of a tracker.

    Attributes:
        headings: The fields', from `words_of`.
        beginnings: The first letters of an instruction -> beginnings of instructions.
        empty: Answers that say nothing.
    """

    headings: frozenset[str]
    beginnings: Mapping[str, tuple[str, ...]]
    empty: frozenset[str]

    def read(self, line: str) -> str | None:
        """A field's heading in a stripped line; "" for an instruction, box or placeholder; None for the reporter's."""
        if len(line) > MAX_LINE_CHARS:
            return None
        words = words_of(line)
        folded = words.lower()
        if folded in self.headings or (folded[-1:] in _CLOSING and _IN_BRACKETS.sub("", folded) in self.headings):
            return words
        if "[" in line and (_TICKED.match(line) or _PLACEHOLDER.match(line)):
            return ""
        folded = folded.replace("`", "")
        if folded in self.empty or folded.startswith(self.beginnings.get(folded[:_KEY], ()) or "\0"):
            return ""
        return None


def words_of(line: str) -> str:
    """Without mark-up, emoji, an item's number or punctuation (except a closing bracket) at either end."""
    first = _FIRST_WORD.search(line)
    if first is None:
        return ""
    end = len(line)
    while not (line[end - 1].isalnum() or line[end - 1] in ")）]"):
        end -= 1
    return line[first.start(1) : end]


@lru_cache(maxsize=64)
def forms_with(lines: FormLines) -> Forms:
    """The known forms with those of a repository, of which only a whole line is the form's: "Version:" may be filled in."""
    known = known_forms()
    headings = {words_of(heading).lower() for heading in lines.headings}
    empty = {words_of(line).lower().replace("`", "") for line in lines.lines}
    return replace(known, headings=known.headings | (headings - {""}), empty=known.empty | (empty - {""}))


@cache
def known_forms() -> Forms:
    """The table of the target trackers' forms."""
    rows = packaged_table(__package__, "forms.toml")
    headings = {heading for tracker in rows["headings"].values() for heading in tracker}
    return make_forms(headings, rows["instructions"], rows["empty"])


def make_forms(headings: set[str], instructions: list[str], empty: list[str]) -> Forms:
    """Forms of headings, beginnings of instructions and empty answers, each in lower case and without mark-up."""
    beginnings: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for instruction in instructions:
        beginnings[instruction[:_KEY]] += (instruction,)
    return Forms(frozenset(headings), dict(beginnings), frozenset(empty))
