"""A framework's commit or branch, where no release is stated. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from distriage.base.texts import regex
from distriage.facts.scanning import Passage, Source, any_of, matches_at, places
from distriage.facts.versions import NAME_BEFORE, Versions

_BRANCH = regex(
    r"(?P<v>master|main|nightly|develop)\b[\"'`*]{0,2}"
    r"(?=\s?(?:branch|build|wheels?|version|install|(?:of|as|on|from|at|and)\s|/\d|[.,;:()\r\n]|\Z))",
    re.I,
)
_BRANCH_BEFORE = regex(
    r"\b(?:(?:current|latest|lastest|newest|recent)\s(?:[\w-]{1,20}\s){0,2}|(?:tip|top|head)\sof\s)[\"'`*]{0,2}\Z", re.I
)
# The text below a form's heading "Versions / Dependencies"
_VERSION_FIELD = regex(
    r"\n#{1,6} versions?[^\n]{0,40}\n\s{0,4}[`*]{0,3}(?:master|main|nightly)"
    r"(?:, [a-z]{3,9} 20\d\d)?[`*. ]{0,3}(?=\n|\Z)"
)
_BRANCH_BEFORE_CHARS = 56  # at most
# "I have checked that it fails on the latest master" is a form's demand, and "please try" a maintainer's.
_NO_BRANCH_IN = regex(r"\[[ x]\]|verified|checked|try|tried|updat|upgrad|please|fixed|merged", re.I)
_HASH = r"(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}(?![0-9a-z])"
_COMMIT_BEFORE = frozenset({"", "git", "latest", "last", "current", "the"})
_COMMIT = regex(
    rf"commit(?:\s(?:id|hash|sha)|\sused\sto\sbuild\s[\w-]{{1,30}})?(?:\s\([`a-z -]{{3,24}}\))?"
    r"[\s:=`'\"*(]{1,6}(?P<v>(?=[a-f]{0,39}\d)[0-9a-f]{7,40})(?![0-9a-z])"
    rf"|version[:=`'\"* ]{{1,6}}(?P<bare>{_HASH})|(?:master|main) at @?(?P<at>{_HASH})",
    re.I,
)


def commits(passage: Passage, named: Mapping[str, Sequence[int]]) -> Versions:
    """The commits behind a framework's name or at the beginning of a line; others are of lines of code."""
    text, words = passage.text, passage.words
    found = [match for word, begins in named.items() for match in matches_at(_commit_of(word), text, begins)]
    for match in matches_at(_COMMIT, text, places(("commit", "version", "master at", "main at"), words)):
        line = words.rfind("\n", 0, match.start()) + 1
        before = words[max(line, match.start() - 40) : match.start()]
        if match["at"]:
            found.append(match)
            continue
        alone = before.strip(" -*#`") in _COMMIT_BEFORE and (match["v"] or _begins_section(words, line))
        if alone or passage.source(match.start()).line == 0 or any_of(named, before):
            found.append(match)
    return Versions(
        {f"commit {one['v'] or one['bare'] or one['at']}": passage.source(one.start()) for one in reversed(found)}
    )


def _begins_section(words: str, line: int) -> bool:
    """Whether the line that begins at a place follows a heading or the title directly."""
    above = words.rfind("\n", 0, max(0, line - 1)) + 1
    return above == 0 or words.startswith("#", above) or not words[above:line].strip()


@cache
def _commit_of(word: str) -> re.Pattern[str]:
    """`Horovod version: b94d8b4`, `Horovod version: tip of master (b94d8b4)`, "horovod at b94d8b4"."""
    return re.compile(
        rf"{NAME_BEFORE}{re.escape(word)}(?:\sversion\s?[:=]\s?(?:[a-z ]{{0,20}}\b(?:main|master)\s)?"
        rf"|[\w-]{{0,8}}\s(?:at|@)\s(?:commit\s)?|\s#\d{{4,5}}\s)[`(]{{0,2}}(?P<v>{_HASH})(?P<bare>)(?P<at>)",
        re.I,
    )


def branches(passage: Passage, names: Iterable[str]) -> Versions:
    """The branches behind a framework's name or "current", but not on the line of a form's checklist."""
    text, words = passage.text, passage.words
    found: dict[str, Source] = {}
    for match in matches_at(_BRANCH, text, places(("master", "main", "nightly", "develop"), words)):
        start = match.start()
        line = max(text.rfind("\n", 0, start) + 1, start - 200)
        before = words[max(line, start - _BRANCH_BEFORE_CHARS) : start]
        named = before.rstrip(" :()").removesuffix(" version").endswith(tuple(names)) or _BRANCH_BEFORE.search(before)
        named = named or _VERSION_FIELD.search(words, max(0, start - _BRANCH_BEFORE_CHARS), match.end() + 20)
        if named and not _NO_BRANCH_IN.search(text, line, start + 60):
            found.setdefault(match["v"].lower(), passage.source(start))
    return Versions(found)
