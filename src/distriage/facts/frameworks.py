"""The framework of a report, by the repository that it was filed in or by the names in its text. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from distriage.facts.projects import PYTORCH, Projects, Tracker, What, projects
from distriage.facts.scanning import any_of, matches_at, places
from distriage.facts.versions import GAP, NAME_AFTER, NAME_BEFORE, NOTE, VERSION, versions_at

_IMAGE = r"(?<=/)(?=[\w-]{1,30}:v?\d)"  # before a name as in `rayproject/ray:2.9.0`
_NO_LONGER_NAME = r"(?!-(?!\d))"  # as `vllm-flash-attn`; but `deepspeed-0.16.2.tar.gz`
_OUTSIDE_A_PATH = re.compile(rf"(?<![./\\])|{_IMAGE}")
# "We use DDP to accelerate training; it should accelerate it" names one framework.
_VERB_BEFORE = re.compile(r"\b(?:to|can|not|cannot|helps?)\s\Z", re.I)
_VERB_BEFORE_CHARS = 8  # at most
_VERB_AFTER = re.compile(r"accelerate\s(?:the|a|training|inference|computing|your|our|my|its?|this|that)\b(?!_)")
_NO_VERB = re.compile(rf"accelerate(?:\s{{1,3}}(?:launch|config|env|test)\b|\.\w|\s?[:=]|{GAP}{VERSION})")
# In a framework's own repository a number or a branch needs no name: three numbers of the title, "I am using 0.7.5",
# "upgraded to 0.8.0", "between 0.4.1 and 1.0", "current master". Each with the words that it begins with.
_THREE_NUMBERS = r"(?=\d+\.\d+\.\d)(?!\d+\.\d+\.\d+\.\d+)"
_RELEASE = rf"{_THREE_NUMBERS}{VERSION}(?!\w)"
_IN_TITLE = re.compile(
    rf"(?:\A|\b(?:in|on|since|from|to|after|version|release|using|with|and)\s|(?<=\d)/|\]\s|[\s\[(]v)v?{_RELEASE}", re.I
)
_USED = (
    ("using", "upgrad", "between"),
    re.compile(
        r"(?:(?:using|upgrad(?:ed|ing)(?:\sfrom\sv?\d[\d.]{1,12})?\sto)\sv?"
        rf"{_THREE_NUMBERS}|between\sv?{_THREE_NUMBERS}[\d.]{{5,12}}\sand\sv?){VERSION}(?![\w.]?\d)(?!\w)",
        re.I,
    ),
)
_CHECKED_OUT = (
    ("git c", "branch v"),
    re.compile(rf"(?:git\s(?:checkout|clone)[^\n]{{0,60}}?\s(?:tags/)?v|branch\sv){VERSION}", re.I),
)
_BRANCH = re.compile(
    r"(?P<v>master|main|nightly)\b[\"'`*]{0,2}"
    r"(?=\s?(?:branch|build|wheels?|version|install|(?:of|as|on|from|at|and)\s|[.,;:()\r\n]|\Z))",
    re.I,
)
_BRANCH_BEFORE = re.compile(
    r"\b(?:(?:current|latest|lastest|newest|recent)\s(?:[\w-]{1,20}\s){0,2}|(?:tip|top|head)\sof\s)[\"'`*]{0,2}\Z", re.I
)
_BRANCH_BEFORE_CHARS = 56  # at most
# "I have checked that it fails on the latest master" is what a form asks for, and "please try" a maintainer.
_NO_BRANCH_IN = re.compile(r"\[[ x]\]|verified|checked|try|tried|updat|upgrad|please|fixed|merged", re.I)
_HASH = r"(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}(?![0-9a-z])"
_COMMIT = re.compile(
    rf"commit(?:\s(?:id|hash|sha))?[\s:=`'\"*(]{{1,6}}(?P<v>(?=[a-f]{{0,39}}\d)[0-9a-f]{{7,40}})(?![0-9a-z])"
    rf"|version[:=`'\"* ]{{1,6}}(?P<bare>{_HASH})",
    re.I,
)


def framework_of(title: str, text: str, words: str, tracker: Tracker) -> str | None:
    """The framework that a report is about: that of its tracker, else the one that its text is about.

    A path, such as a traceback's, names a framework only where nothing else does.

    Args:
        text: The title and the body.
        words: The same text, folded.
    """
    if tracker.product and tracker.product != PYTORCH:
        return tracker.product
    known = projects()
    starts, pattern = _framework_name(known)
    in_words: list[tuple[int, str]] = []
    in_paths: list[tuple[int, str]] = []
    for place in places(starts, words):
        match = pattern.match(text, place)
        if match and not (match[1] == "accelerate" and _is_verb(text, place)):
            named = in_words if _OUTSIDE_A_PATH.match(text, place) else in_paths
            named.append((place, known.names[words[place : match.end()]]))
    named = in_words or in_paths
    if tracker.product:  # a part of PyTorch says more than PyTorch
        named = [(place, name) for place, name in named if name in known.parts]
    if not named:
        return tracker.product
    return _meant([name for place, name in named if place < len(title)], [name for _, name in named])


@cache
def _framework_name(known: Projects) -> tuple[Sequence[str], re.Pattern[str]]:
    """The words that a name begins with, and the pattern of all names."""
    names = known.names
    starts = [word for word in names if not word.startswith(tuple(other for other in names if other != word))]
    longest_first = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return starts, re.compile(rf"(?<![A-Za-z0-9_-])({longest_first}){NAME_AFTER}{_NO_LONGER_NAME}", re.I)


def versions_of_framework(framework: str, text: str, words: str, tracker: Tracker) -> list[str]:
    """The versions of a framework that stand beside its name, or its commit or branch.

    Args:
        framework: Not PyTorch itself.
        words: The same text, folded.
    """
    project = projects().all.get(framework)
    at_home = framework == tracker.product
    spellings = tracker.spellings if at_home or project is None else project.names
    named = {word: begins for word in spellings if (begins := places((word,), words))}
    versions: list[str] = []
    for word, begins in named.items():
        versions += versions_at(_framework_version(word), text, begins)
    for stamp in project.stamps if project and not versions else ():
        before, _, after = stamp.partition("{}")
        pattern = re.compile(rf"(?<![A-Za-z0-9]){re.escape(before)}{VERSION}{re.escape(after)}", re.I)
        versions += versions_at(pattern, text, places((before.lower(),), words))
    if not versions and framework not in projects().parts:
        versions = _commits(text, words, named)
    if not versions and at_home:
        versions = nameless_versions(text, words) or _branches(text, words, spellings)
    return versions


def nameless_versions(text: str, words: str) -> list[str]:
    """The versions without a name of a report that was filed in the framework's own repository.

    Args:
        text: The title, a line break and the body.
        words: The same text, folded.
    """
    title = text.partition("\n")[0]
    in_title = [match.start() for match in _IN_TITLE.finditer(title)]
    words_of_use, used = _USED
    starts, checked_out = _CHECKED_OUT
    return (
        versions_at(_IN_TITLE, title, in_title)
        or versions_at(used, text, places(words_of_use, words))
        or versions_at(checked_out, text, places(starts, words))
    )


def _meant(in_title: Sequence[str], everywhere: Sequence[str]) -> str:
    """Of the frameworks that are named the first in the title, else the one that is named most.

    FSDP and DDP are parts that others use, and so come after them; but only a wrapper comes before one in the title.
    Of the restated reports from a framework's own repository, 80 % are told right so, 77 % without this exception.
    """
    if in_title and in_title[0] not in projects().parts:
        return in_title[0]
    known = projects()
    users = [one for one in everywhere if (known.is_a(one, What.TRAINER) if in_title else one not in known.parts)]
    return Counter(users or in_title[:1] or everywhere).most_common(1)[0][0]


def _is_verb(text: str, place: int) -> bool:
    """Whether the word `accelerate` at a place names no framework."""
    before = _VERB_BEFORE.search(text, max(0, place - _VERB_BEFORE_CHARS), place)
    return bool((before or _VERB_AFTER.match(text, place)) and not _NO_VERB.match(text, place))


@cache
def _framework_version(word: str) -> re.Pattern[str]:
    name = re.escape(word)
    # Not "TF 2.0: `python -c ...`", which says how to ask for the version, nor of a log "will be removed in TF 2.0" and
    # "vllm     3577.9s".
    return re.compile(
        rf"(?:{NAME_BEFORE}(?<!included\sin\s)(?<!removed\sin\s){name}(?:_version|\.__version__)?{NAME_AFTER}{_NO_LONGER_NAME}"
        rf"(?:\sAPI\sserver|\[[\w,-]{{1,40}}\])?{NOTE}{GAP}(?!\d{{4}}|[12]\.0:)"
        rf"|(?<=/){name}-(?=\d[\w.+]{{1,60}}-(?:cp|py)\d)"  # the address of a wheel
        rf"|{_IMAGE}{name}(?:-[a-z]{{1,10}})?:v?){VERSION}",
        re.I,
    )


def _commits(text: str, words: str, named: Mapping[str, Sequence[int]]) -> list[str]:
    """The commits behind a framework's name or at the beginning of a line; others are of lines of code."""
    found = [
        f"commit {match['v']}" for word, begins in named.items() for match in matches_at(_commit_of(word), text, begins)
    ]
    for match in matches_at(_COMMIT, text, places(("commit", "version"), words)):
        line = words.rfind("\n", 0, match.start()) + 1
        before = words[max(line, match.start() - 40) : match.start()]
        alone = not before.strip(" -*#`") and (match["v"] or _begins_section(words, line))
        if alone or any_of(named, before):
            found.append(f"commit {match['v'] or match['bare']}")
    return found


def _begins_section(words: str, line: int) -> bool:
    """Whether nothing but a heading, or the title, stands above the line that begins at a place."""
    above = words.rfind("\n", 0, max(0, line - 1)) + 1
    return above == 0 or words.startswith("#", above) or not words[above:line].strip()


@cache
def _commit_of(word: str) -> re.Pattern[str]:
    """`Horovod version: b94d8b4`, `Horovod version: tip of master (b94d8b4)`."""
    return re.compile(
        rf"{NAME_BEFORE}{re.escape(word)}\sversion\s?[:=]\s?(?:[a-z ]{{0,20}}\b(?:main|master)\s)?"
        rf"[`(]{{0,2}}(?P<v>{_HASH})",
        re.I,
    )


def _branches(text: str, words: str, names: Iterable[str]) -> list[str]:
    """The branches behind a framework's name or "current", but not on the line of a form's checklist."""
    found = []
    for match in matches_at(_BRANCH, text, places(("master", "main", "nightly"), words)):
        start = match.start()
        line = max(text.rfind("\n", 0, start) + 1, start - 200)
        before = words[max(line, start - _BRANCH_BEFORE_CHARS) : start]
        named = before.rstrip(" :").endswith(tuple(names)) or _BRANCH_BEFORE.search(before)
        if named and not _NO_BRANCH_IN.search(text, line, start + 60):
            found.append(match["v"].lower())
    return found
