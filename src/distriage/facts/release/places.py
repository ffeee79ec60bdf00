"""Where a text has a number, a branch or a commit that may be its product's version, and of which shape. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from distriage.base.texts import folded, regex
from distriage.facts.scanning import Passage, matches_at, places
from distriage.facts.versions import UNTAGGED, VERSION

_NUMBER_WITHIN = regex(r"\d\.\d")
_NUMBER = regex(rf"{VERSION}(?:\+[0-9a-f]{{7,12}}(?!\w)|-(?:nightly|snapshot))?", re.I | re.A)
_PREFIX = regex(r"(?<![A-Za-z0-9])(?:rc|beta|alpha|dev|r)[-_.]?\Z", re.I)  # rc3.8, r1.13
_PART_BEFORE = regex(r"\d\.\Z")  # of a longer number
_NO_PART = regex(r"[-_](?:gpu|cpu|ubuntu|linux|20\d{6}).*", re.I)
_OF_A_MODEL = regex(r"-\d{1,4}(?:\.\d)?[BM]\b", re.I)  # llava-v1.5-7b
_PLAIN = regex(r"[\d.]+")
_OF_AN_IMAGE = regex(r"/[\w-]{1,30}:v?\Z")
_OF_AN_IMAGE_CHARS: Final = 33  # at most
_PACKAGE = regex(r"(?<![^\n])(?:wheel|build|pip)(?: {2,40}|==)\Z")  # a row of `pip list`
_PACKAGE_CHARS: Final = 46  # at most
_MONTH = regex(r"2\d\.(?:0[1-9]|1[0-2])(?!\d)")  # nvcr.io/nvidia/nemo:25.09
_HASH = r"(?=[0-9a-f]{0,39}[a-f])(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40}(?![0-9A-Za-z_])"
_COMMIT = regex(rf"\b{_HASH}")
_BRANCHES: Final = ("main", "master", "nightly", "develop", "dev", "trunk")
_BRANCH = regex(
    r"(?<![\w-])(?<!\w\[)(?P<name>main|master|nightly|develop|dev|trunk)(?![\w-]|\.\w"
    rf"|/(?!{_HASH})\w|\s{{1,9}}__libc"
    r"|\s(?:process|thread|node|pod|port|rank|worker|addr|proc|loop|function|reason|problem|issue|goal|idea)s?\b)"
    r"(?:[`'\"*)]{0,3}\s(?:branch|build|version|image|wheels?))?[`'\"*:@,(\s/-]{0,5}"
    rf"(?:(?:of|at|from|on|with|as\sof(?:\s[a-z]{{3,9}}\s\d\d?,?\s20\d\d,)?)\s)?"
    rf"(?:(?:latest\s)?commit(?:\s(?:id|hash|number))?[\s:]{{1,4}})?[`'\"*:@(\s-]{{0,3}}"
    rf"(?:(?P<hash>{_HASH})|(?P<date>20\d\d-?[01]\d-?[0-3]\d(?!\d)))?",
    re.I | re.A,
)
_LOCAL_IMAGE = regex(r"=[\w.-]{1,60}:\Z")  # --image=trainer:dev
_LOCAL_IMAGE_CHARS: Final = 62  # at most
# "Up to 1.7.7 I could", "it worked until 1.7.7"
_UP_TO = regex(r"\b(?P<works>(?:works|worked|fine|ok) )?(?:up to|until|till) (?:version )?[`v]{0,2}\Z", re.I)
_UP_TO_CHARS: Final = 36  # at most
_COULD = regex(r"[`'\"]{0,2},? (?:i|we|it|this|everything|all) (?:could|can|was|worked|works|ran|did)\b", re.I)
_SAME_BRANCH: Final = {"master": "main", "develop": "dev", "trunk": "dev"}
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
_NOT_IN_USE_CHARS: Final = 60  # at most
_TO_BLAME = regex(
    r"\b(?:introduced\s(?:in|by|with)|caused\sby|bisected\sto|regression\sfrom)\s(?:the\s|this\s)?(?:commit\s)?[`'\"*(\[]{0,3}"
    r"(?:https?://\S{1,80}/commits?/)?\Z",
    re.I,
)
_TO_BLAME_CHARS: Final = 140  # at most
_PREFIX_CHARS: Final = 7  # read at most
_MOST: Final = 150  # places in a text
_DIGITS, _LARGE, _WHOLE = 4, 30, 40


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


def versions_in(passage: Passage, spans: Iterable[tuple[int, int]]) -> Iterator[Place]:
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
        if number and not _is_another(text, place, number.end()):
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


def _is_another(text: str, begin: int, end: int) -> bool:
    """Whether a number is a model's, a package's, a release that worked, or the month of an image."""
    if _MONTH.match(text, begin) and _OF_AN_IMAGE.search(text, max(0, begin - _OF_AN_IMAGE_CHARS), begin):
        return True
    if _PACKAGE.search(text, max(0, begin - _PACKAGE_CHARS), begin):
        return True
    return _OF_A_MODEL.match(text, end) is not None or _is_last_good(text, begin, end)


def _branches(passage: Passage, begin: int, end: int) -> Iterator[Place]:
    begins = (begin + place for place in places(_BRANCHES, passage.words[begin:end]))
    for branch in matches_at(_BRANCH, passage.text, begins):
        if _LOCAL_IMAGE.search(passage.text, max(0, branch.start() - _LOCAL_IMAGE_CHARS), branch.start()):
            continue
        name, commit, date = branch["name"].lower(), branch["hash"], branch["date"]
        measures = [f"is {_SAME_BRANCH.get(name, name)}"]
        of, value = (Of.COMMIT, f"commit {commit}") if commit else (Of.BRANCH, f"{name} {date}" if date else name)
        end = branch.end("hash" if commit else "name")
        yield Place(of, value, branch.start(), end, branch.end(), [*measures, *["dated"] * bool(date)])


def _commits(passage: Passage, begin: int, end: int) -> Iterator[Place]:
    for commit in _COMMIT.finditer(passage.text, begin, end):
        whole = ("whole",) if len(commit[0]) == _WHOLE else ()
        yield Place(Of.COMMIT, f"commit {commit[0]}", commit.start(), commit.end(), commit.end(), whole)


def is_not_in_use(passage: Passage, one: Place) -> bool:
    """Whether a branch or commit is where it works, is to be changed, or where a fault began; or the master machine."""
    words = passage.words
    if _NOT_IN_USE.search(words, max(0, one.begin - _NOT_IN_USE_CHARS), one.begin):
        return True
    if "slave" in words and _MACHINE.match(words, words.rfind("\n", 0, one.begin) + 1):
        return "version" not in folded(passage.headings[passage.number(one.begin)])
    begin = max(0, one.begin - _TO_BLAME_CHARS)
    return one.of is Of.COMMIT and _TO_BLAME.search(words, begin, one.begin) is not None


def _is_last_good(text: str, start: int, end: int) -> bool:
    """Whether the release between two places is said to be the last one that works."""
    before = _UP_TO.search(text, max(0, start - _UP_TO_CHARS), start)
    return bool(before and (before["works"] or _COULD.match(text, end)))
