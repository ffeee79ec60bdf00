"""The places in the filed report of the lines that carried a verdict. Pure.

The model reads a folded text: prefixes of log lines, paths and mark-up are gone, and Chinese words are English, so a
line of evidence is found by its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from distriage.answer.verdict import EvidenceLine
from distriage.recipe.chinese import in_english

MIN_SHARE: Final = 0.6  # of the words of a line of evidence must occur in a line of the report
MAX_LINES: Final = 5000
MAX_MARKED: Final = 3  # lines of an axis
_WORD: Final = re.compile(r"\w{2,}|\d")


@dataclass(frozen=True, slots=True)
class MarkedReport:
    """The places of a report's evidence.

    Attributes:
        title: Axes whose verdict it carried.
        lines: Line of the body, from 0 -> the same; other lines are absent.
    """

    title: Sequence[str]
    lines: Mapping[int, Sequence[str]]


def strongest(evidence: Sequence[EvidenceLine]) -> list[EvidenceLine]:
    """The heaviest lines, of those that weigh at least half as much as the heaviest one: in a short report every line
    carries a little.
    """
    heaviest = sorted(evidence, key=lambda item: -item.weight)[:MAX_MARKED]
    return [item for item in heaviest if item.weight >= heaviest[0].weight / 2]


def mark(title: str, body: str, evidence: Mapping[str, Sequence[EvidenceLine]]) -> MarkedReport:
    """Find the lines of a report that evidence names.

    Args:
        evidence: Axis -> its lines.
    """
    shown = body.replace("\r\n", "\n").split("\n")[:MAX_LINES]
    words = [_words(line) for line in [title, *shown]]
    axes: dict[int, list[str]] = {}
    for axis, items in evidence.items():
        for item in items:
            place = _find(_words(item.line), words)
            if place is not None and axis not in axes.setdefault(place, []):
                axes[place].append(axis)
    return MarkedReport(axes.pop(0, []), {place - 1: found for place, found in sorted(axes.items())})


def _words(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(in_english(line[:2000]).casefold()))


def _find(wanted: frozenset[str], lines: Sequence[frozenset[str]]) -> int | None:
    """The line that holds most of the wanted words, and of such lines the one with the fewest others."""
    if not wanted:
        return None
    best = max(range(len(lines)), key=lambda place: (len(wanted & lines[place]), -len(lines[place])))
    return best if len(wanted & lines[best]) >= MIN_SHARE * len(wanted) else None
