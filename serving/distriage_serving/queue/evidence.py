"""Where the lines that carried a verdict stand in the report as filed. Pure.

The model reads a folded text: prefixes of log lines, paths and mark-up are gone, so a line of evidence is found by its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from distriage.verdict import EvidenceLine

MIN_SHARE: Final = 0.6  # of the words of a line of evidence must stand in a line of the report
MAX_LINES: Final = 5000
MIN_WEIGHT: Final = 0.2  # nats; less is noise
_WORD: Final = re.compile(r"\w{2,}|\d")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report as filed.

    Attributes:
        axes: Axes whose verdict it carried; empty: none.
    """

    text: str
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines of one kind: prose, or what stands between fences."""

    is_code: bool
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class MarkedReport:
    """A report with its evidence marked.

    Attributes:
        cut: Number of lines that are not shown.
    """

    title: Line
    blocks: tuple[Block, ...]
    cut: int


def strongest(evidence: Sequence[EvidenceLine]) -> list[EvidenceLine]:
    """The lines that weigh at least half as much as the heaviest one: in a short report every line carries a little."""
    least = max(MIN_WEIGHT, max((item.weight for item in evidence), default=0.0) / 2)
    return [item for item in evidence if item.weight >= least]


def mark(title: str, body: str, evidence: Mapping[str, Sequence[EvidenceLine]]) -> MarkedReport:
    """Divide a report into blocks and mark the lines that evidence names.

    Args:
        evidence: Axis -> its lines.
    """
    lines = body.replace("\r\n", "\n").split("\n")
    shown = lines[:MAX_LINES]
    words = [_words(line) for line in [title, *shown]]
    axes: dict[int, list[str]] = {}
    for axis, items in evidence.items():
        for item in items:
            place = _find(_words(item.line), words)
            if place is not None and axis not in axes.setdefault(place, []):
                axes[place].append(axis)
    marked = [Line(text, tuple(axes.get(place, ()))) for place, text in enumerate([title, *shown])]
    return MarkedReport(marked[0], tuple(_blocks(marked[1:])), len(lines) - len(shown))


def _words(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(line[:2000].casefold()))


def _find(wanted: frozenset[str], lines: Sequence[frozenset[str]]) -> int | None:
    """The line that holds most of the wanted words, and of such lines the one with the fewest others."""
    if not wanted:
        return None
    best = max(range(len(lines)), key=lambda place: (len(wanted & lines[place]), -len(lines[place])))
    return best if len(wanted & lines[best]) >= MIN_SHARE * len(wanted) else None


def _blocks(lines: Sequence[Line]) -> list[Block]:
    blocks: list[Block] = []
    block: list[Line] = []
    is_code = False

    def close() -> None:
        while block and not block[-1].text.strip():
            block.pop()
        if block:
            blocks.append(Block(is_code, tuple(block)))
        block.clear()

    for line in lines:
        if _FENCE.match(line.text):
            close()
            is_code = not is_code
        elif block or line.text.strip():
            block.append(line)
    close()
    return blocks
