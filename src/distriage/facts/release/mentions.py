"""The numbers, branches and commits of a text that may be the version of its product, and what is measured of each.

Pure except for reading the words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from distriage.base.texts import folded, packaged_table, regex
from distriage.facts.projects import PYTORCH, Tracker, projects
from distriage.facts.scanning import Passage, Source, matches_at, places
from distriage.facts.versions import VERSION
from distriage.segments import Kind

_HASH = r"(?=[0-9a-f]{0,39}[a-f])(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40}(?![0-9A-Za-z_])"
_NUMBER = regex(rf"{VERSION}(?:\+[0-9a-f]{{7,12}}(?!\w)|-(?:nightly|snapshot))?", re.I | re.A)
_NUMBER_WITHIN = regex(r"\d\.\d")
_BEGINS = regex(r"(?<![A-Za-z0-9])(?:rc|beta|alpha|dev|r)[-_.]?\Z", re.I)  # rc3.8, r1.13
_BRANCH = regex(
    r"(?<![\w-])(?<!\w\[)(?P<name>main|master|nightly|develop|dev|trunk)(?![\w-]|\.\w|/\w)"
    r"(?P<behind>(?:[`'\"*)]{0,3}\s(?:branch|build|version|image|wheels?))?[`'\"*:@(\s-]{0,5}"
    rf"(?:(?:of|at|from|commit|on)\s)?[`'\"*:@(\s-]{{0,3}}(?:(?P<hash>{_HASH})|(?P<date>20\d\d-?[01]\d-?[0-3]\d(?!\d)))?)",
    re.I | re.A,
)
_BRANCHES = ("main", "master", "nightly", "develop", "dev", "trunk")
_COMMIT = regex(rf"\b{_HASH}")
# What directly follows a version, the first that holds.
_BEHIND = regex(
    r"(?P<described>-[1-9]\d{0,4}-g[0-9a-f]{6})|(?P<end>[`'\"*)\]]{0,3}(?:[\s.,;)|]{0,3}(?:\n|\Z)|[.,;)]\s))"
    r"|(?P<file>[.-]?(?:py|md|txt|html|tar|whl|jar|zip|sh|so|js)\b|/)|(?P<colon>[`'\"*)]{0,3}:)"
    r"|(?P<unit>\s?(?:[GMTK]i?B|ms|s|sec|min|hours?|[x×%°]|times|[GM]Hz|epochs?|[KMB])\b|e[-+]?\d|[\w×%]|\.\d|-\d|\s?[*/+]\s?\d)"
    r"|(?P<dash>[-_][a-z])|(?P<arrow>\s(?:->|→))|(?P<closed>[`'\"*)\]])",
    re.I,
)
_WORD = regex(r"[^\W\d_](?:[\w-]|'(?=[a-z]))*")
# Read backwards, so that the nearest comes first.
_SIGN = regex(r"(?P<pin>==)|=?(?P<bound>[<>~!])|(?P<label>[:=])|(?P<at>@)|(?P<open>[(\[])|(?P<path>[/\\])|(?P<dash>[-_])")
_V = regex(r"(?<![^\W_])v\.?\s?[`'\"*]{0,2}\Z")
_END = regex(r"[.;!?]\s")
_PART_BEFORE = regex(r"\d\.\Z")  # of a longer number
_NO_PART = regex(r"[-_](?:gpu|cpu|ubuntu|linux|20\d{6}).*", re.I)
_UNTAGGED = regex(r"0\.1\.dev\d{1,6}\+g([0-9a-f]{7,40})")  # by setuptools-scm, of a checkout without tags
_PLAIN = regex(r"[\d.]+")
_NO_LETTERS = regex(r"[^a-z0-9]+")
_QUOTES = " \t`'\"*v|."
_MARKS = " \t>*-#`|.:=v_'\"()[]0123456789"
_BEFORE, _BEHIND_CHARS = 100, 48  # characters that are read
_MOST, _MOST_OF_ONE = 150, 4  # mentions of a text, and of a value, that are measured
_WORDS_BEFORE, _WORDS_BEHIND, _WORDS_OF_NAME = 6, 4, 4
_LEAST_PART, _SHORT = 4, 2  # letters of a part of a name; of a name that is looked for as a whole word only
_DIGITS, _LARGE, _WHOLE, _EARLY = 4, 30, 40, 3
_KINDS: Final[Mapping[Kind, str]] = {Kind.CONFIGURATION: "source", Kind.TRACEBACK: "log"}


class Of(StrEnum):
    """What a version is of: each has weights of its own."""

    NUMBER = "number"
    BRANCH = "branch"
    COMMIT = "commit"


class Found(NamedTuple):
    """A version at its place.

    Attributes:
        end: The end of the part that words are looked for behind.
        last: The end of the whole.
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
        measures: By name, each the largest over its places; those absent are 0.
    """

    of: Of
    value: str
    source: Source
    measures: dict[str, float] = field(default_factory=dict)
    times: int = 0


@dataclass(frozen=True, slots=True)
class Names:
    """Names in letters and digits alone, in lower case.

    Attributes:
        own: The product's.
        others: Of other things with versions.
    """

    own: frozenset[str]
    others: frozenset[str]


def names_of(tracker: Tracker) -> Names:
    """The names of a tracker's product, and of everything else that is known, its owner among them."""
    owner, _, _ = tracker.repository.partition("/")
    parts = ("torch",) if tracker.product == PYTORCH else ()
    own = {_letters(one) for one in (tracker.repository, *tracker.spellings, *parts)} - {""}
    return Names(frozenset(own), (_others() | {_letters(owner)}) - own)


def mentions(stated: Passage, output: Passage, names: Names, taken: Iterable[str] = ()) -> list[Mention]:
    """The versions that may be the product's, in the order of the text.

    Of a tool's output only the lines are read that speak of a version. Time is linear in the text.

    Args:
        taken: Versions that the report states of something else.
    """
    found: dict[str, Mention] = {}
    lines = ((0, len(stated.text)),)
    for passage, spans in ((stated, lines), (output, _lines(output))):
        for one in _found(passage, spans):
            around = [*one.measures, *_around(passage, one, names)]
            if passage is output and "after version" not in around:
                continue
            mention = found.setdefault(one.value.lower(), Mention(one.of, one.value, passage.source(one.begin)))
            mention.times += 1
            if mention.times <= _MOST_OF_ONE:
                mention.measures |= dict.fromkeys(around, 1.0)
    for place, (value, mention) in enumerate(found.items()):
        longer = f"{value}."
        mention.measures |= {
            "place": math.log1p(place),
            "others": math.log1p(len(found) - 1),
            "times": math.log1p(mention.times - 1),
            "longer": float(any(other != value and other.startswith(value) for other in found)),
            "taken": float(any(other == value or other.startswith(longer) for other in map(str.lower, taken))),
        }
    return list(found.values())


def _lines(passage: Passage) -> list[tuple[int, int]]:
    """Begin and end of the lines of a tool's output that speak of a version."""
    words, spans = passage.words, list[tuple[int, int]]()
    for place in places(("version",), words):
        if not spans or place > spans[-1][1]:
            end = words.find("\n", place)
            spans.append((words.rfind("\n", 0, place) + 1, end if end >= 0 else len(words)))
    return spans


def _found(passage: Passage, spans: Iterable[tuple[int, int]]) -> Iterator[Found]:
    """The versions of some parts of a text, at most `_MOST`."""
    left, last = _MOST, 0
    for begin, end in spans:
        finders = (_numbers(passage.text, begin, end), _branches(passage, begin, end), _commits(passage.text, begin, end))
        for one in sorted((one for finder in finders for one in islice(finder, left)), key=attrgetter("begin"))[:left]:
            if one.begin >= last:  # a branch's commit is found twice
                last = one.last
                left -= 1
                yield one


def _numbers(text: str, begin: int, end: int) -> Iterator[Found]:
    last = 0
    for within in _NUMBER_WITHIN.finditer(text, begin, end):
        place = within.start()
        while place and text[place - 1].isdecimal() and within.start() - place < _DIGITS:
            place -= 1
        if place < last or text[place - 1 : place].isdecimal() or _PART_BEFORE.search(text, max(0, place - 2), place):
            continue
        number = _NUMBER.match(text, place)
        if number is None:
            continue
        last = number.end()
        prefix = _BEGINS.search(text, max(begin, place - 7), place)
        value = _NO_PART.sub("", f"{prefix[0] if prefix else ''}{number[0]}".rstrip(".-_+"))
        if untagged := _UNTAGGED.match(value):
            yield Found(Of.COMMIT, f"commit {untagged[1]}", place, last, last, ("untagged",))
            continue
        parts = number["v"].count(".")
        measures = [f"{min(parts, 3) + 1} parts"]
        measures += ["suffix"] if not _PLAIN.fullmatch(number[0]) else []
        measures += ["prefix"] if prefix else []
        measures += ["large"] if int(text[place : within.start() + 1]) > _LARGE else []
        yield Found(Of.NUMBER, value, prefix.start() if prefix else place, last, last, measures)


def _branches(passage: Passage, begin: int, end: int) -> Iterator[Found]:
    for branch in matches_at(_BRANCH, passage.text, places(_BRANCHES, passage.words)):
        if begin <= branch.start() < end:
            name = branch["name"].lower()
            measures = [f"is {'main' if name in {'main', 'master'} else 'nightly' if name == 'nightly' else 'dev'}"]
            value = f"commit {branch['hash']}" if branch["hash"] else " ".join(filter(None, (name, branch["date"])))
            of = Of.COMMIT if branch["hash"] else Of.BRANCH
            measures += ["dated"] if branch["date"] else []
            yield Found(of, value, branch.start(), branch.end("name"), branch.end(), measures)


def _commits(text: str, begin: int, end: int) -> Iterator[Found]:
    for commit in _COMMIT.finditer(text, begin, end):
        measures = ("whole",) if len(commit[0]) == _WHOLE else ()
        yield Found(Of.COMMIT, f"commit {commit[0]}", commit.start(), commit.end(), commit.end(), measures)


def _around(passage: Passage, one: Found, names: Names) -> Iterator[str]:
    """The measures of what surrounds a version."""
    words = passage.words
    begin = words.rfind("\n", max(0, one.begin - _BEFORE), one.begin) + 1 or max(0, one.begin - _BEFORE)
    before = words[begin : one.begin]
    if letter := _V.search(before):
        before = before[: letter.start()]
        yield "v"
    behind = words[one.end : one.end + _BEHIND_CHARS].partition("\n")[0]
    here = _WORD.findall(before)
    said = _kinds_of(_WORD.findall(_END.split(before)[-1])[-_WORDS_BEFORE:])
    last = (said[-1] or "name") if said else "nothing"
    if {"not", "fails"} <= {*said}:
        said.append("denied")
    elif {"not", "works"} <= {*said}:
        said = ["fails" if kind == "works" else kind for kind in said]
    match = _BEHIND.match(words, one.end)
    sign = _SIGN.match(before.rstrip(_QUOTES)[::-1])
    glued = "glued" if before[-1:].isalpha() else "apart"
    then = (match.lastgroup or "") if match else "word"
    name, *also = _named(here, before, names)
    yield from also
    yield from (name, f"just after {last}", f"then {then}", f"sign {sign.lastgroup if sign else glued}")
    yield from (f"{name}, just after {last}", f"{name}, then {then}", f"{name}, sign {sign.lastgroup if sign else glued}")
    yield from (f"after {kind}" for kind in said if kind)
    following = _kinds_of(_WORD.findall(_END.split(behind)[0])[:_WORDS_BEHIND])
    yield from (f"before {kind}" for kind in following if kind)
    yield from _placed(passage, one, before, behind, names)


def _kinds_of(words: Iterable[str]) -> list[str]:
    kinds = _kinds()
    return [kinds.get(word, "not" if "n't" in word else "") for word in words]


def _named(here: list[str], before: str, names: Names) -> Iterator[str]:
    """What the name before a version on its line is, and further measures."""
    kinds = _kinds()
    while here and here[-1] in kinds and _letters(here[-1]) not in names.own:
        here.pop()
    name, near = (_letters(here[-1]), _letters("".join(here[-_WORDS_OF_NAME:]))) if here else ("", "")
    if not here:
        yield "no name"
    elif name in names.own or near.endswith(tuple(one for one in names.own if len(one) > _SHORT)):
        yield "own"
    elif not names.others.isdisjoint({name, *re.split("[-_]", here[-1])}):
        yield "other"
    elif len(name) >= _LEAST_PART and any(
        one.startswith(name) or one.endswith(name) or (len(one) >= _LEAST_PART and (name.startswith(one) or name.endswith(one)))
        for one in names.own
    ):
        yield "own part"
    else:
        yield "word" if len(name) >= _LEAST_PART else "short word"
    if not names.others.isdisjoint(map(_letters, here[-_WORDS_OF_NAME:])):
        yield "other on line"
    line = _letters(before)
    if any(own in line for own in names.own if len(own) > _SHORT):
        yield "own on line"
        if any(_letters(before.rpartition(":")[0]).startswith(own) for own in names.own if len(own) > _SHORT):
            yield "own in label"


def _placed(passage: Passage, one: Found, before: str, behind: str, names: Names) -> Iterator[str]:
    """The measures of the line and the segment of a version."""
    number = passage.number(one.begin)
    kind, heading = passage.kinds[number], passage.headings[number]
    yield f"in {_KINDS.get(kind, kind.value)}"
    if passage.lines[number].number <= _EARLY:
        yield "early"
    if number == 0 or (kind, heading) != (passage.kinds[number - 1], passage.headings[number - 1]):
        yield "first line"
    begins = len(before) < _BEFORE and not before.strip(_MARKS)
    place = ("alone" if not behind.strip(_MARKS) else "begins line") if begins else "within"
    yield place
    if "[ ]" in before or "[x]" in before:
        yield "ticked"
    if heading:
        said = folded(heading)
        kinds, letters = _kinds(), _letters(said)
        yield from (f"heading {kind}" for word in _WORD.findall(said) if (kind := kinds.get(word)))
        if any(kinds.get(word) == "version" for word in _WORD.findall(said)):
            yield f"{place}, heading version"
        if any(name in letters for name in names.own if len(name) > _SHORT):
            yield "heading own"
        elif any(_letters(word) in names.others for word in _WORD.findall(said)):
            yield "heading other"


def _letters(words: str) -> str:
    return _NO_LETTERS.sub("", words)


@cache
def _kinds() -> Mapping[str, str]:
    """Word -> kind."""
    return {word: kind for kind, words in packaged_table(__package__, "words.toml")["kinds"].items() for word in words}


@cache
def _others() -> frozenset[str]:
    named = packaged_table(__package__, "words.toml")["names"]["other"]
    return frozenset(map(_letters, (*named, *projects().names)))
