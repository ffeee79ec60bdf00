"""The lines of issue forms and templates; the offline table is `forms.toml`. Pure."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

MAX_LINE_CHARS = 300
_FIRST_WORD = re.compile(r"(?:\d{1,2}[.)] )?([^\W_])")
_IN_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]{0,200}[)）\]]?$")
_TICKED = re.compile(r"(?:[-*+] )?\[[ xX✓✔]?\] ")
# "OS: [e.g. Ubuntu 20.04]", "<fill in>": nobody filled it in.
_PLACEHOLDER = re.compile(r".{0,80}(?:\[(?:e\.g\.|if applicable|please)[^\]]{0,200}\]|<fill in>)\W{0,3}$", re.I)
_KEY = 4  # letters by which a beginning is looked up


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of a tracker.

    Attributes:
        headings: Of fields, as `words_of` gives them.
        beginnings: The first letters of an instruction -> the beginnings of instructions that have them.
        empty: Answers that say nothing.
    """

    headings: frozenset[str]
    beginnings: Mapping[str, tuple[str, ...]]
    empty: frozenset[str]

    def heading(self, line: str) -> str | None:
        """The heading of a field that a stripped line is, without mark-up; None: it is none."""
        if len(line) > MAX_LINE_CHARS:
            return None
        words = words_of(line)
        folded = words.lower()
        if folded in self.headings or _IN_BRACKETS.sub("", folded) in self.headings:
            return words
        return None

    def is_instruction(self, line: str) -> bool:
        """Whether a stripped line is the form's: an instruction, a box that is ticked or not, a placeholder."""
        if len(line) > MAX_LINE_CHARS:
            return False
        if _TICKED.match(line) or _PLACEHOLDER.match(line):
            return True
        words = words_of(line).lower().replace("`", "")
        return words in self.empty or words.startswith(self.beginnings.get(words[:_KEY], ()) or "\0")


def words_of(line: str) -> str:
    """Without what is no word at either end: mark-up, emoji, an item's number, punctuation but a closing bracket."""
    first = _FIRST_WORD.search(line)
    if first is None:
        return ""
    end = len(line)
    while not (line[end - 1].isalnum() or line[end - 1] in ")）]"):
        end -= 1
    return line[first.start(1) : end]


@cache
def known_forms() -> Forms:
    """The table of the target trackers' forms."""
    rows: Mapping[str, Any] = tomllib.loads(files(__package__).joinpath("forms.toml").read_text(encoding="utf-8"))
    headings = {heading for tracker in rows["headings"].values() for heading in tracker}
    return make_forms(headings, rows["instructions"], rows["empty"])


def make_forms(headings: set[str], instructions: list[str], empty: list[str]) -> Forms:
    """Forms of headings, beginnings of instructions and empty answers, each in lower case and without mark-up."""
    beginnings: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for instruction in instructions:
        beginnings[instruction[:_KEY]] += (instruction,)
    return Forms(frozenset(headings), dict(beginnings), frozenset(empty))
