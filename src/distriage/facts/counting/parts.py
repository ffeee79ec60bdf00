"""The parts of a number of GPUs: those of each node, and those of a machine that a job uses. Pure."""

from __future__ import annotations

import re

from distriage.base.texts import regex
from distriage.facts.counting.numerals import NUMBER_WORDS, number_of
from distriage.facts.gpus import GPU_NAME
from distriage.facts.scanning import Counts

BY_NODES = regex(  # 4*H800*8: so many nodes with so many each
    rf"(?<![\w.])(?P<v>[1-9]\d?)\s?[x×*]\s?{GPU_NAME}\s?[x×*]\s?(?P<by>[1-9]|1[0-6])(?!\w)"
)
_BEFORE = regex(
    r"\b(?:on|with|using|uses?|only|over|takes?|to|choose|chose|select) (?P<part>\d{1,3}) (?:gpus? )?(?:to use )?\(?"
    r"(?:(?:out )?of|among) (?:the |our |my |its )?\Z|\b(?P<some>\d{1,3}) gpus? (?:on|of|in) an? \Z"
)
_BEFORE_CHARS = 40  # at most
# "prefill on 8 GPUs, decode on 4", "prefill 1 node + decode 2 nodes"
_SIDE = regex(r"\b(prefill|decod)(?:(?!prefill|decod)[^\n.;,+]){0,40}\Z", re.I)
_SIDE_CHARS = 50  # at most
_BOTH_SIDES = regex(  # "2 prefill nodes with 8 H20 each and 4 decode nodes of 8xH20"
    rf"\b(?P<v>[1-9]\d?|{'|'.join(NUMBER_WORDS[:8])}) (?P<side>prefill|decod)[a-z]{{0,3}} "
    r"(?:(?:(?P<nodes>nodes?|machines?|servers?|hosts?)|workers?|instances?) )?(?:of|with|having) "
    r"(?P<by>[1-9]|1[0-6])(?=[ x×*])(?! ?(?:cpu|core|gi?b))"
)
_BEHIND = regex(
    r"[^\n.;。；]{0,24}[ ,，](?:but |and )?(?:(?:i|we|the job|this job|it) (?:(?:only|just) )?uses? (?:only |just )?"
    r"|(?:只|仅)(?:使?用)了?(?:其中)?的?)(?P<part>\d{1,3})(?= of (?:them|these|those)|[ ,.;张块卡]|\n|\Z)"
)


def part_of(words: str, start: int, end: int) -> tuple[int, int] | None:
    """The part that a job uses of the number between two places of a folded text, and its place: "4 of the 8 GPUs", "8
    H100s but I only use 2".
    """
    part = _BEFORE.search(words, max(0, start - _BEFORE_CHARS), start) or _BEHIND.match(words, end)
    return (int(part[part.lastgroup or 0]), part.start(part.lastgroup or 0)) if part else None


def both_sides(words: str) -> tuple[int, int, int] | None:
    """The nodes and GPUs of a server that splits prefill from decoding, both sides together, and the place.

    Args:
        words: Folded text, such as "2 prefill nodes with 8 H20 each and 4 decode nodes of 8xH20".

    Returns:
        Number of nodes (0 if others are counted), number of GPUs, place; None unless both sides are counted.
    """
    found = {side["side"]: side for side in _BOTH_SIDES.finditer(words)} if "prefill" in words else {}
    if len(found) < 2:
        return None
    nodes = sum(map(number_of, found.values())) if any(side["nodes"] for side in found.values()) else 0
    return nodes, sum(number_of(side) * int(side["by"]) for side in found.values()), found["decod"].start()


def sides(text: str, counts: Counts) -> Counts:
    """The sum of what a server has for prefill and for decoding, if both are counted."""
    found = {
        side[1].lower(): count
        for count in counts
        if (side := _SIDE.search(text, max(0, count[1] - _SIDE_CHARS), count[1]))
    }
    return [(sum(number for number, _ in found.values()), found["decod"][1])] if len(found) > 1 else []
