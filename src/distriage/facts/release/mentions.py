"""The numbers, branches and commits of a text that may be its product's version, each with its measures.

Pure except for reading the kinds of words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from distriage.base.texts import folded, regex
from distriage.facts.release.names import OTHER, WORD, Names, goes_on, is_of_another, kinds_of, named, whose
from distriage.facts.scanning import Passage, Source, matches_at, places
from distriage.facts.versions import UNTAGGED, VERSION, is_last_good
from distriage.segments import Kind

_NUMBER_WITHIN = regex(r"\d\.\d")
_NUMBER = regex(rf"{VERSION}(?:\+[0-9a-f]{{7,12}}(?!\w)|-(?:nightly|snapshot))?", re.I | re.A)
_PREFIX = regex(r"(?<![A-Za-z0-9])(?:rc|beta|alpha|dev|r)[-_.]?\Z", re.I)  # rc3.8, r1.13
_PART_BEFORE = regex(r"\d\.\Z")  # of a longer number
_NO_PART = regex(r"[-_](?:gpu|cpu|ubuntu|linux|20\d{6}).*", re.I)
_OF_A_MODEL = regex(r"-\d{1,4}(?:\.\d)?[BM]\b", re.I)  # llava-v1.5-7b
_PLAIN = regex(r"[\d.]+")
_HASH = r"(?=[0-9a-f]{0,39}[a-f])(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40}(?![0-9A-Za-z_])"
_COMMIT = regex(rf"\b{_HASH}")
_BRANCHES: Final = ("main", "master", "nightly", "develop", "dev", "trunk")
_BRANCH = regex(
    r"(?<![\w-])(?<!\w\[)(?P<name>main|master|nightly|develop|dev|trunk)(?![\w-]|\.\w|/\w|\s{1,9}__libc"
    r"|\s(?:process|thread|node|pod|port|rank|worker|addr|proc|loop|function|reason|problem|issue|goal|idea)s?\b)"
    r"(?:[`'\"*)]{0,3}\s(?:branch|build|version|image|wheels?))?[`'\"*:@(\s-]{0,5}"
    rf"(?:(?:of|at|from|commit|on)\s)?[`'\"*:@(\s-]{{0,3}}(?:(?P<hash>{_HASH})|(?P<date>20\d\d-?[01]\d-?[0-3]\d(?!\d)))?",
    re.I | re.A,
)
_LOCAL_IMAGE = regex(r"=[\w.-]{1,60}:\Z")  # --image=trainer:dev
_LOCAL_IMAGE_CHARS: Final = 62  # at most
_SAME_BRANCH: Final = {"master": "main", "develop": "dev", "trunk": "dev"}
# What stands directly behind a version, the first that holds.
_BEHIND = regex(
    r"(?P<described>-[1-9]\d{0,4}-g[0-9a-f]{6})|(?P<end>[`'\"*)\]]{0,3}(?:[\s.,;)|]{0,3}(?:\n|\Z)|[.,;)]\s))"
    r"|(?P<file>[.-]?(?:py|md|txt|html|tar|whl|jar|zip|sh|so|js)\b|/)|(?P<colon>[`'\"*)]{0,3}:)"
    r"|(?P<unit>\s?(?:[GMTK]i?B|ms|s|sec|min|hours?|[x×%°]|times|[GM]Hz|epochs?|[KMB])\b|e[-+]?\d|[\w×%]|\.\d|-\d"
    r"|\s?[*/+]\s?\d)|(?P<dash>[-_][a-z])|(?P<arrow>\s(?:->|→))|(?P<closed>[`'\"*)\]])",
    re.I,
)
# Before it, read backwards, so that the nearest sign comes first.
_SIGN = regex(
    r"(?P<pin>==)|(?P<to>>-|→)|=?(?P<bound>[<>~!])|(?P<label>[:=])|(?P<at>@)|(?P<open>[(\[])|(?P<path>[/\\])|(?P<dash>[-_])"
)
_V = regex(r"(?<![^\W_])v\.?\s?[`'\"*]{0,2}\Z")
_END = regex(r"[.;!?]\s")  # of a sentence
# Directly before a branch or commit that is not in use: "fixed on main", "a PR against main", "reverting commit". But
# it is in use in "worked before the move to main", "no error message on main", "works partly on main".
_UNDENIED = r"(?<!not\s)(?<!n't\s)(?<!never\s)(?<!longer\s)(?<!not\syet\s)\b"
_NO_TURN = r"(?!(?:before|until|till|since|when|after|but|then|only|part\w*|messages?|logs?|at(?!\sall))\b)"
_TWO_WORDS = rf"(?:\s{_NO_TURN}\w{{1,12}}){{0,2}}\s"
_NOT_IN_USE = regex(
    rf"(?:(?:(?:{_UNDENIED}(?:fixed|solved|resolved|works|worked|fine)|\bno\s(?:problem|issue|error)s?){_TWO_WORDS}(?:on|in|with|at)"
    rf"|{_UNDENIED}(?:merged|landed){_TWO_WORDS}(?:on|in|at|to|into)"
    rf"|\b(?:prs?|pull\srequest|patch){_TWO_WORDS}(?:on|in|with|at|into|against))\s(?:the\s)?(?:latest\s|current\s)?"
    r"|\b(?:see|revert|reverts|reverting|reverted)\s(?:the\s|this\s)?(?:commit\s)?)[`'\"*(\[]{0,3}\Z",
    re.I,
)
_MACHINE = regex(r"[\s*#>-]*master[\s*:]*(?:\n|\Z)")
_DOES = regex(r"\sdoes(?:[.,;\n]|\Z)")
_NOT_IN_USE_CHARS: Final = 60  # at most
_TO_BLAME = regex(
    r"\b(?:introduced\s(?:in|by|with)|caused\sby|bisected\sto|regression\sfrom)\s(?:the\s|this\s)?(?:commit\s)?[`'\"*(\[]{0,3}"
    r"(?:https?://\S{1,80}/commits?/)?\Z",
    re.I,
)
_TO_BLAME_CHARS: Final = 140  # at most
WORKS: Final = "said to work"
FAILS: Final = "said to fail"
_QUOTES: Final = " \t`'\"*v|."
_MARKS: Final = " \t>*-#`|.:=v_'\"()[]0123456789"
_BEFORE_CHARS, _BEHIND_CHARS, _PREFIX_CHARS = 100, 48, 7  # read at most
_MOST, _MOST_OF_ONE = 150, 4  # places that are measured: of a text, and of one version
_WORDS_BEFORE, _WORDS_BEHIND = 6, 4
_DIGITS, _LARGE, _WHOLE, _EARLY = 4, 30, 40, 3
_KINDS: Final[Mapping[Kind, str]] = {Kind.CONFIGURATION: "source", Kind.TRACEBACK: "log"}


class Of(StrEnum):
    """A kind of version; each has weights of its own."""

    NUMBER = "number"
    BRANCH = "branch"
    COMMIT = "commit"


class Place(NamedTuple):
    """A version at a place.

    Attributes:
        end: End of the part that other words are looked for behind; `last`: of the whole.
        measures: Those of its shape.
    """

    of: Of
    value: str
    begin: int
    end: int
    last: int
    measures: Sequence[str]


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
        for one in _places(passage, spans):
            measured = dict.fromkeys((*one.measures, *_around(passage, one, names)), 1.0)
            if passage is output and "after version" not in measured:
                continue
            if one.of is not Of.NUMBER and _is_not_in_use(passage, one):
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


def _is_not_in_use(passage: Passage, one: Place) -> bool:
    """Whether a branch or commit is where it works, is to be changed, or where a fault began; or the master machine."""
    words = passage.words
    if _NOT_IN_USE.search(words, max(0, one.begin - _NOT_IN_USE_CHARS), one.begin):
        return True
    if "slave" in words and _MACHINE.match(words, words.rfind("\n", 0, one.begin) + 1):
        return "version" not in folded(passage.headings[passage.number(one.begin)])
    begin = max(0, one.begin - _TO_BLAME_CHARS)
    return one.of is Of.COMMIT and _TO_BLAME.search(words, begin, one.begin) is not None


def _lines_with_versions(words: str) -> list[tuple[int, int]]:
    """Begin and end of each line that has the word."""
    spans: list[tuple[int, int]] = []
    for place in places(("version",), words):
        if not spans or place > spans[-1][1]:
            end = words.find("\n", place)
            spans.append((words.rfind("\n", 0, place) + 1, end if end >= 0 else len(words)))
    return spans


def _places(passage: Passage, spans: Iterable[tuple[int, int]]) -> Iterator[Place]:
    """The versions in some parts of a text, at most `_MOST`."""
    left, last = _MOST, 0
    for begin, end in spans:
        finders = (finder(passage, begin, end) for finder in (_numbers, _branches, _commits))
        for one in sorted((one for found in finders for one in islice(found, left)), key=attrgetter("begin"))[:left]:
            if one.begin >= last:  # a branch's commit is found twice
                last = one.last
                left -= 1
                yield one


def _numbers(passage: Passage, begin: int, end: int) -> Iterator[Place]:
    text, last = passage.text, 0
    for point in _NUMBER_WITHIN.finditer(text, begin, end):
        place = point.start()
        while place and text[place - 1].isdecimal() and point.start() - place < _DIGITS:
            place -= 1
        if place < last or text[place - 1 : place].isdecimal() or _PART_BEFORE.search(text, max(0, place - 2), place):
            continue
        number = _NUMBER.match(text, place)
        if number and not (_OF_A_MODEL.match(text, number.end()) or is_last_good(text, place, number.end())):
            last = number.end()
            if untagged := UNTAGGED.match(text, place):
                last = untagged.end()
                if untagged["commit"]:
                    yield Place(Of.COMMIT, f"commit {untagged['commit']}", place, last, last, ("untagged",))
                continue
            prefix = _PREFIX.search(text, max(begin, place - _PREFIX_CHARS), place)
            value = _NO_PART.sub("", f"{prefix[0] if prefix else ''}{number[0]}".rstrip(".-_+"))
            measures = [f"{number['v'].count('.') + 1} parts"]
            measures += [] if _PLAIN.fullmatch(number[0]) else ["suffix"]
            measures += ["prefix"] if prefix else []
            measures += ["large"] if int(text[place : point.start() + 1]) > _LARGE else []
            yield Place(Of.NUMBER, value, prefix.start() if prefix else place, last, last, measures)


def _branches(passage: Passage, begin: int, end: int) -> Iterator[Place]:
    begins = (begin + place for place in places(_BRANCHES, passage.words[begin:end]))
    for branch in matches_at(_BRANCH, passage.text, begins):
        if _LOCAL_IMAGE.search(passage.text, max(0, branch.start() - _LOCAL_IMAGE_CHARS), branch.start()):
            continue
        name, commit, date = branch["name"].lower(), branch["hash"], branch["date"]
        measures = [f"is {_SAME_BRANCH.get(name, name)}"]
        of, value = (Of.COMMIT, f"commit {commit}") if commit else (Of.BRANCH, f"{name} {date}" if date else name)
        yield Place(of, value, branch.start(), branch.end("name"), branch.end(), [*measures, *["dated"] * bool(date)])


def _commits(passage: Passage, begin: int, end: int) -> Iterator[Place]:
    for commit in _COMMIT.finditer(passage.text, begin, end):
        whole = ("whole",) if len(commit[0]) == _WHOLE else ()
        yield Place(Of.COMMIT, f"commit {commit[0]}", commit.start(), commit.end(), commit.end(), whole)


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
    said = kinds_of(WORD.findall(_END.split(before)[-1])[-_WORDS_BEFORE:])
    match, sign = _BEHIND.match(words, one.end), _SIGN.match(before.rstrip(_QUOTES)[::-1])
    name, *further = named(before, names, is_number=one.of is Of.NUMBER)
    goes_on_with = name == "no name" and goes_on(words, one.begin, one.value, names)
    if one.of is Of.NUMBER and (goes_on_with or (name != "own" and is_of_another(behind, names))):
        name = OTHER
    signs = (
        f"just after {(said[-1] or 'name') if said else 'nothing'}",
        f"then {match.lastgroup if match else 'word'}",
        f"sign {sign.lastgroup if sign else 'glued' if before[-1:].isalpha() else 'apart'}",
    )
    yield from (name, *further, *signs, *(f"{name}, {sign}" for sign in signs))
    if name == "no name" and words[begin - 1 : begin] == "\n":
        above = words[max(0, begin - _BEFORE_CHARS) : begin - 1].rpartition("\n")[2]
        yield f"above {whose(WORD.findall(above), names)}"
    if {"not", "fails"} <= {*said}:
        said.append("denied")
    elif {"not", "works"} <= {*said}:
        said = ["fails" if kind == "works" else kind for kind in said]
    yield from (f"after {kind}" for kind in said if kind)
    following = kinds_of(WORD.findall(_END.split(behind)[0])[:_WORDS_BEHIND])
    yield from (f"before {kind}" for kind in following if kind)
    yield from _outcome(said, following, behind)
    yield from _placed(passage, one, (before, behind), names)


def _outcome(said: Sequence[str], following: Sequence[str], behind: str) -> Iterator[str]:
    """Whether a version is said to work or to fail, by the kinds of words before and behind it; the nearest counts."""
    near = [kind for kind in following[:3] if kind != "this"] if behind.startswith(" ") else []
    if {"not", "works"} <= {*near}:
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
    if "[ ]" in before or "[x]" in before:
        yield "ticked"
    words = WORD.findall(folded(heading))
    said = set(kinds_of(words)) - {""}
    yield from (f"heading {kind}" for kind in said)
    yield from (f"{place}, heading {kind}" for kind in said & {"version", "commit"})
    yield f"heading {whose(words, names)}"
