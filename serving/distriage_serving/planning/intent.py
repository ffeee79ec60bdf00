"""The reason for a change, as GitHub shows it beside the change: how sure, and one sentence. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from distriage.answer.verdict import AxisVerdict, LikelyDuplicate
from distriage.base.references import IssueReference
from distriage.past.same import HOW_OFTEN, RIGHT
from distriage.signs.kinds import Sign, kinds

Confidence = Literal["low", "medium", "high"]
MAX_CHARS: Final = 280  # GitHub's limit of a rationale, in characters
_HIGH, _MEDIUM = 0.9, 0.8
_ADDRESS: Final = re.compile(r"\b(?:https?://|www\.)", re.I)
_REFERENCE: Final = re.compile(r"(?<=\w)[#@](?=\w)|[#@]|\bGH-(?=\d)", re.I)
# Emphasis begins and ends at the edge of a word; within one, an underscore is part of a name.
_MARKUP: Final = re.compile(r"[`*~|<>\\\[\]!]|(?<!\w)_{1,99}|_{1,99}(?!\w)")


@dataclass(frozen=True, slots=True)
class Intent:
    """Why a change is made.

    Attributes:
        rationale: Plain text of one line, at most `MAX_CHARS` characters.
    """

    rationale: str
    confidence: Confidence

    def fields(self, *, suggest: bool) -> Mapping[str, object]:
        """A request's fields for the reason."""
        return {
            "rationale": self.rationale,
            "confidence": self.confidence,
            **({"suggest": True} if suggest else {}),
        }


def intent_of(said: AxisVerdict, title: str) -> Intent:
    """The reason for a change based on an axis."""
    right = (
        f"labels this sure were right in {said.precision:.0%} of held-out reports"
        if said.precision is not None
        else "no measured precision stands behind it"
    )
    begin, end = f"{title} {said.label}", f" ({right})."
    line = plain(said.evidence[0].line) if said.evidence else ""
    if not line:
        return Intent(_cut(begin, MAX_CHARS - len(end)) + end, confidence_of(said.precision))
    begin, end = f"{begin}, most of all by the line “", f"”{end}"
    return Intent(begin + _cut(line, MAX_CHARS - len(begin) - len(end)) + end, confidence_of(said.precision))


def decided_intent() -> Intent:
    """The reason for a change that a person asked for in the queue or by a command."""
    return Intent("A maintainer decided so in Distriage.", "high")


def own_intent(precision: float | None) -> Intent:
    """The reason for an own label, with its measured precision."""
    right = "" if precision is None else f", and right in {precision:.0%} of held-out ones"
    return Intent(f"Learned from this repository's labelled issues{right}.", confidence_of(precision))


def sign_intent(sign: Sign) -> Intent:
    """The reason for the label of a sign, with its measured precision."""
    precision = kinds()[sign.name].precision
    return Intent(f"{plain(sign.says)} Right in {precision:.0%} of judged reports.", confidence_of(precision))


def duplicate_intent(found: LikelyDuplicate, number: int) -> Intent:
    """The reason for closing a duplicate; `distriage.past.same` has the figure."""
    end = f" ({HOW_OFTEN})."
    begin = _cut(f"Likely the same as issue {number}: {plain(found.title)}", MAX_CHARS - len(end))
    return Intent(begin + end, confidence_of(RIGHT))


def confidence_of(precision: float | None) -> Confidence:
    """GitHub's word for a measured precision."""
    if precision is None or precision < _MEDIUM:
        return "low"
    return "high" if precision >= _HIGH else "medium"


def plain(text: str) -> str:
    """A reporter's line without anything that GitHub could read as Markdown, a mention, a reference or a link."""
    shown = "".join(char if char.isprintable() else " " for char in text[: 8 * MAX_CHARS])
    shown = _REFERENCE.sub(" ", _ADDRESS.sub(" ", shown))
    return " ".join(_MARKUP.sub("", shown).split())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def original_of(found: LikelyDuplicate, issue: IssueReference) -> int | None:
    """Number of the issue that a likely duplicate names, if it is of the same repository."""
    place, _, number = found.id.rpartition("#")
    is_here = not place or place.casefold() == issue.repository.casefold()
    return int(number) if is_here and number.isdecimal() and int(number) != issue.number else None
