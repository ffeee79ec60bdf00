"""The numbers, branches and commits of a text that may be its product's version, each with its measures.

Pure except for reading the kinds of words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from distriage.base.texts import folded, regex
from distriage.facts.release.names import HAN, OTHER, Names, kinds_of, named, whose, words_of
from distriage.facts.release.others import goes_on, is_of_another, is_upgrade_of_another
from distriage.facts.release.places import Of, Place, is_not_in_use, versions_in
from distriage.facts.scanning import Passage, Source, any_of, places
from distriage.segments import Kind

# What stands directly behind a version, the first that holds.
_BEHIND = regex(
    r"(?P<described>-[1-9]\d{0,4}-g[0-9a-f]{6})|(?P<end>[`'\"*)\]]{0,3}(?:[\s.,;)|]{0,3}(?:\n|\Z)|[.,;)]\s))"
    r"|(?P<file>[.-]?(?:py|md|txt|html|tar|whl|jar|zip|sh|so|js)\b|/)|(?P<colon>[`'\"*)]{0,3}:)"
    r"|(?P<unit>\s?(?:[GMTK]i?B|ms|s|sec|min|hours?|[x×%°]|times|[GM]Hz|epochs?|[KMB])\b|e[-+]?\d|(?a:\w)|[×%]|\.\d|-\d"
    r"|\s?[*/+]\s?\d)|(?P<dash>[-_][a-z])|(?P<arrow>\s(?:->|→))|(?P<closed>[`'\"*)\]])",
    re.I,
)
# Before it, read backwards, so that the nearest sign comes first.
_SIGN = regex(
    r"(?P<pin>==)|(?P<to>>-|→)|=?(?P<bound>[<>~!])|(?P<label>[:=])|(?P<at>@)|(?P<open>[(\[])|(?P<path>[/\\])|(?P<dash>[-_])"
)
_COMMIT = regex(r"(?:\A|[.,;，。]\s?)\W{0,4}commit(?:\s(?:id|hash))?[\s:]{1,2}\W?\Z")
_ELSEWHERE = frozenset({"blame", "fixed", "old", "back", "works"})  # said of a commit that is not in use
_V = regex(r"(?<![^\W_])v\.?\s?[`'\"*]{0,2}\Z")
_END = regex(r"[.;!?]\s|[。；！？，]")  # of a sentence, or of a clause in Chinese
_IS_BESIDE = regex(rf" |[{HAN}]")
_DOES = regex(r"\sdoes(?:[.,;\n]|\Z)")
_DOES_NOT = regex(r"\s(?:does|did)(?:\snot|n['’]t)(?:[.,;)\n]|\Z)")
_HAS_NONE = regex(r"\sha[ds]\sno\s(?:such\s|this\s)?(?:problem|issue|bug|error)s?\b")
WORKS: Final = "said to work"
FAILS: Final = "said to fail"
COMPARED: Final = "compared with"
A_CLAUSE: Final = "a clause of its own"  # "H800, commit 2c4f1d9."
IN_A_TABLE: Final = "in a table's first column"
# "Dropped 22% compared to 0.10.2", "slower than vllm 0.8.2", "regression against 0.8.4"
_COMPARED_WORDS: Final = ("than", "compared", "relative", "against")
_COMPARED_WITH = regex(
    r"\b(?:compared\s(?:to|with|against)|relative\sto|regress\w{0,6}\sagainst|(?:slower|worse|higher|lower|larger|more|less)\s(?:\w{1,12}\s){0,5}than)\s"
    r"(?:(?:in|with|on|for|the|version|release)\s){0,2}(?:[a-z][\w-]{1,30}[\s=])?[`'\"*(]{0,2}\Z"
)
_QUOTES: Final = " \t`'\"*v|."
_MARKS: Final = " \t>*-#`|.:=v_'\"()[]0123456789"
_BEFORE_CHARS, _BEHIND_CHARS = 100, 48  # read at most
_MOST_OF_ONE: Final = 4  # places that are measured of one version
_WORDS_BEFORE, _WORDS_BEHIND = 6, 4
_EARLY: Final = 3  # the first lines
_KINDS: Final[Mapping[Kind, str]] = {Kind.CONFIGURATION: "source", Kind.TRACEBACK: "log"}


@dataclass(slots=True)
class Mention:
    """A version that a text mentions.

    Attributes:
        source: Its first place.
        measures: Name -> value, the largest over its places; 0 where absent.
    """

    of: Of
    value: str
    source: Source
    measures: dict[str, float] = field(default_factory=dict)
    times: int = 0


def mentions(stated: Passage, output: Passage, names: Names) -> list[Mention]:
    """The versions that may be the product's, in the order of the text. Time is linear in the text.

    Args:
        output: Of tools; read only where it speaks of a version.
    """
    found: dict[str, Mention] = {}
    for passage, spans in ((stated, [(0, len(stated.text))]), (output, _lines_with_versions(output.words))):
        for one in versions_in(passage, spans):
            measured = dict.fromkeys((*one.measures, *_around(passage, one, names)), 1.0)
            if passage is output and "after version" not in measured:
                continue
            if one.of is not Of.NUMBER and is_not_in_use(passage, one):
                continue
            if one.of is Of.NUMBER and is_upgrade_of_another(passage.words, one.begin, names):
                continue
            mention = found.setdefault(one.value.lower(), Mention(one.of, one.value, passage.source(one.begin)))
            mention.times += 1
            if mention.times <= _MOST_OF_ONE:
                works_everywhere = WORKS in measured and (mention.times == 1 or WORKS in mention.measures)
                mention.measures |= measured
                if not works_everywhere:
                    mention.measures.pop(WORKS, None)
    for place, mention in enumerate(found.values()):
        mention.measures |= {
            "place": math.log1p(place),
            "others": math.log1p(len(found) - 1),
            "times": math.log1p(mention.times - 1),
        }
    return list(found.values())


def _lines_with_versions(words: str) -> list[tuple[int, int]]:
    """Begin and end of each line that has the word."""
    spans: list[tuple[int, int]] = []
    for place in places(("version",), words):
        if not spans or place > spans[-1][1]:
            end = words.find("\n", place)
            spans.append((words.rfind("\n", 0, place) + 1, end if end >= 0 else len(words)))
    return spans


def _around(passage: Passage, one: Place, names: Names) -> Iterator[str]:
    """The measures of a version's surroundings."""
    words = passage.words
    first = max(0, one.begin - _BEFORE_CHARS)
    begin = max(words.rfind("\n", first, one.begin) + 1, first)
    before = words[begin : one.begin]
    if letter := _V.search(before):
        before = before[: letter.start()]
        yield "v"
    behind = words[one.end : one.end + _BEHIND_CHARS].partition("\n")[0]
    said = kinds_of(words_of(_END.split(before)[-1])[-_WORDS_BEFORE:])
    match, sign = _BEHIND.match(words, one.end), _SIGN.match(before.rstrip(_QUOTES)[::-1])
    name, *further = named(before, names, is_number=one.of is Of.NUMBER)
    goes_on_with = name == "no name" and goes_on(words, one.begin, one.value, names)
    if one.of is Of.NUMBER and (goes_on_with or (name != "own" and is_of_another(behind, names))):
        name = OTHER
    signs = (
        f"just after {(said[-1] or 'name') if said else 'nothing'}",
        f"then {match.lastgroup if match else 'word'}",
        f"sign {sign.lastgroup if sign else 'glued' if 'a' <= before[-1:] <= 'z' else 'apart'}",
    )
    yield from (name, *further, *signs, *(f"{name}, {sign}" for sign in signs))
    is_clause = one.of is Of.COMMIT and match is not None and match.lastgroup == "end"
    if is_clause and _COMMIT.search(before) and _ELSEWHERE.isdisjoint(said):
        yield A_CLAUSE
    if name == "no name" and words[begin - 1 : begin] == "\n":
        above = words[max(0, begin - _BEFORE_CHARS) : begin - 1].rpartition("\n")[2]
        yield f"above {whose(words_of(above), names)}"
    if {"not", "fails"} <= {*said}:
        is_other = said[-2:] == ["not", "within"] and "fails" in said[:-2]  # hangs in 0.9.1, not in 0.9.0
        said.append("works" if is_other else "denied")
    elif {"not", "works"} <= {*said}:
        said = ["fails" if kind == "works" else kind for kind in said]
    yield from (f"after {kind}" for kind in said if kind)
    following = kinds_of(words_of(_END.split(behind)[0])[:_WORDS_BEHIND])
    yield from (f"before {kind}" for kind in following if kind)
    yield from _outcome(said, following, behind)
    if any_of(_COMPARED_WORDS, before) and _COMPARED_WITH.search(before):
        yield COMPARED
    yield from _placed(passage, one, (before, behind), names)


def _outcome(said: Sequence[str], following: Sequence[str], behind: str) -> Iterator[str]:
    """Whether a version is said to work or to fail, by the kinds of words before and behind it; the nearest counts."""
    near = [kind for kind in following[:3] if kind not in {"this", "version"}] if _IS_BESIDE.match(behind) else []
    is_other = "fails" in said and "works" not in said and _DOES_NOT.match(behind)  # 0.9.1 hangs, 0.9.0 does not
    if is_other or _HAS_NONE.match(behind) or said[-2:] == ["works", "within"]:  # works with 0.9.0 fails with 0.9.1
        near = ["works"]
    elif {"not", "works"} <= {*near}:
        near = ["fails"]
    elif {"not", "fails"} <= {*said} and _DOES.match(behind):  # 0.9.1 doesn't work, 0.9.0 does
        near = ["works"]
    told = [kind for kind in (*said, *near[:1]) if kind in {"works", "fails", "denied"}]
    yield from ({"works": WORKS, "fails": FAILS}[kind] for kind in told[-1:] if kind != "denied")


def _placed(passage: Passage, one: Place, around: tuple[str, str], names: Names) -> Iterator[str]:
    """The measures of the line, of its segment and of the heading above."""
    before, behind = around
    number = passage.number(one.begin)
    kind, heading = passage.kinds[number], passage.headings[number]
    yield f"in {_KINDS.get(kind, kind.value)}"
    if passage.lines[number].number <= _EARLY:
        yield "early"
    if number == 0 or (kind, heading) != (passage.kinds[number - 1], passage.headings[number - 1]):
        yield "first line"
    begins = len(before) < _BEFORE_CHARS and not before.strip(_MARKS)
    place = "within" if not begins else "begins line" if behind.strip(_MARKS) else "alone"
    yield place
    if begins and before.lstrip().startswith("|"):
        yield IN_A_TABLE
    if "[ ]" in before or "[x]" in before:
        yield "ticked"
    words = words_of(folded(heading))
    said = set(kinds_of(words)) - {""}
    yield from (f"heading {kind}" for kind in said)
    yield from (f"{place}, heading {kind}" for kind in said & {"version", "commit"})
    yield f"heading {whose(words, names)}"
