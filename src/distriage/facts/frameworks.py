"""The framework of a report, by its repository or the names in its text; and the launcher. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from distriage.base.texts import regex
from distriage.facts.projects import PYTORCH, Projects, Tracker, What, projects
from distriage.facts.revisions import branches, commits
from distriage.facts.scanning import Passage, Source, any_of, matches_at, places
from distriage.facts.versions import (
    GAP,
    NAME_AFTER,
    NAME_BEFORE,
    NO_VERSIONS,
    NOTE,
    VERSION,
    Versions,
    joined,
    versions_at,
)

_IMAGE = r"(?<=/)(?=[\w-]{1,30}:v?(?!\d\d\.\d\d)\d)"  # `rayproject/ray:2.9.0`, not one that is numbered by month
_NO_LONGER_NAME = r"(?!-(?!\d))"  # as `vllm-flash-attn`; but `deepspeed-0.16.2.tar.gz`
_OUTSIDE_A_PATH = regex(rf"(?<![./\\])|{_IMAGE}")
# "We use DDP to accelerate training; it should accelerate it" names one framework.
_VERB_BEFORE = regex(r"\b(?:to|can|not|cannot|helps?)\s\Z", re.I)
_VERB_BEFORE_CHARS = 8  # at most
_VERB_AFTER = regex(r"accelerate\s(?:the|a|training|inference|computing|your|our|my|its?|this|that)\b(?!_)")
_NO_VERB = regex(rf"accelerate(?:\s{{1,3}}(?:launch|config|env|test)\b|\.\w|\s?[:=]|{GAP}{VERSION})")
# In a framework's own repository a number or a branch needs no name: three numbers of the title, "I am using 0.7.5",
# "upgraded to 0.8.0", "between 0.4.1 and 1.0", "current master". Each with the words that it begins with.
_THREE_NUMBERS = r"(?=\d+\.\d+\.\d)(?!\d+\.\d+\.\d+\.\d+)"
_RELEASE = rf"{_THREE_NUMBERS}{VERSION}(?!\w)"
_IN_TITLE = regex(
    r"(?:\A|\b(?:in|on|since|from|to|after|(?<!nccl\s)(?<!cuda\s)(?<!python\s)version|release|using|with|and)\s"
    rf"|(?<=\d)/|\]\s|[\s\[(]v)v?{_RELEASE}",
    re.I,
)
_USED = (
    ("\nin ", "using", "upgrad", "between", "running v", "version ", "update ", "release ", "since ", "in v"),
    regex(
        r"(?:(?:\nin|using|running(?=\sv)|upgrad(?:ed|ing)(?:\sfrom\sv?\d[\d.]{1,12})?\sto)\sv?"
        rf"{_THREE_NUMBERS}|update\s(?:from\s)?v?\d[\d.]{{1,12}}\s?(?:->|→|to)\sv?(?=\d+\.\d)|(?<=\n)release\s(?=\d+\.\d)"
        rf"|since\s(?:v\s?(?=\d)|{_THREE_NUMBERS})|in\sv{_THREE_NUMBERS}|between\sv?{_THREE_NUMBERS}[\d.]{{5,12}}\sand\sv?|(?<=with\s)version\s(?=\d+\.\d)){VERSION}(?![\w.]?\d)(?!\w)",
        re.I,
    ),
)
_FIELD = (  # of a form: the text below "Version" or "Which version do you use?"
    ("version", "which version", "what version", "release"),
    regex(
        r"(?:^|(?<=[^-]\n)|(?<=# ))(?:which |what )?(?:version|release)s?(?: or commit)?"
        r"(?: (?:are you using|do you use))?"
        rf"\??[ \t]?[:\n]\s{{0,4}}[`*v]{{0,3}}{VERSION}",
        re.I,
    ),
)
# The label of a form's line; for an unknown product "OpenPAI version: v0.11.0" is PAI's.
_OWN_LABEL = regex(
    rf"(?:^|\n)[\s*-]{{0,6}}(?P<name>[A-Za-z][\w -]{{2,30}}?)[ ]version\*{{0,2}}\s?[:=]\s{{0,3}}"
    rf"(?:[a-z-]{{3,30}}==|v)?{VERSION}",
    re.I,
)
_NIGHTLY = (
    ("nightly ",),
    regex(rf"(?<![\w-])nightly\s(?:build\s|version\s)?(?=\d+\.\d+\.\d+\.?dev\d){VERSION}", re.I),
)
_CHECKED_OUT = (
    ("git c", "branch v"),
    regex(rf"(?:git\s(?:checkout|clone)[^\n]{{0,60}}?\s(?:tags/)?v|branch\sv){VERSION}", re.I),
)
_LEAST_END = 7  # letters; more than in "python"
_FINE_UNDER = regex(
    r"\b(?:(?:fine|works|worked|ok) (?:under|with|by|using|via|in|through)"
    r"|(?P<no>not|without|instead of|rather than|not (?:use|using|via|with|by))) `?\Z"
)  # another launcher
_FINE_UNDER_CHARS = 24  # at most


def framework_of(
    own: Passage, short: Callable[[], Passage], output: Passage, tracker: Tracker
) -> tuple[str | None, Source | None]:
    """The framework that a report is about, and its place: that of its tracker, else the one in its text.

    A listing of the environment names versions, not the subject. A path, such as a traceback's, and a log name a
    framework only for lack of other words.

    Args:
        own: The reporter's words, without listings; the title first.
        short: Lists of a few versions that the reporter wrote.
    """
    if tracker.product and tracker.product != PYTORCH:
        return tracker.product, None
    own_names, own_paths = _named(own)
    named = own_names or _named(short())[0] or sum(_named(output), own_paths)
    if tracker.product:  # a part of PyTorch says more than PyTorch
        named = [(name, source) for name, source in named if name in projects().parts]
    if not named:
        return tracker.product, None
    meant = _meant([name for name, source in named if source.line == 0], [name for name, _ in named])
    return meant, next(source for name, source in named if name == meant)


def launcher_of(text: Passage) -> tuple[str, int] | None:
    """The launcher that a text names, and its place; one said to work for lack of another."""
    known = projects()
    if not any_of(known.starts_of_launchers, text.words):
        return None
    working = None
    for name, launcher in known.launchers.items():
        found = list(matches_at(launcher.expression, text.text, places(launcher.starts, text.words)))
        starts = [one.start() for one in found]
        fine = [_FINE_UNDER.search(text.words, max(0, start - _FINE_UNDER_CHARS), start) for start in starts]
        meant = [start for start, one in zip(starts, fine, strict=True) if not (one and one["no"])]
        if meant and any(one and not one["no"] for one in fine):
            working = working or (name, meant[0])
        elif meant:
            return name, meant[0]
    return working


def frameworks_in(passage: Passage) -> list[str]:
    """The frameworks that a text names in words."""
    return [name for name, _ in _named(passage)[0]]


def _named(passage: Passage) -> tuple[list[tuple[str, Source]], list[tuple[str, Source]]]:
    """The frameworks that a text names: in words, and in paths."""
    known = projects()
    starts, pattern = _framework_name(known)
    text = passage.text
    in_words: list[tuple[str, Source]] = []
    in_paths: list[tuple[str, Source]] = []
    for place in places(starts, passage.words):
        match = pattern.match(text, place)
        if match and not (match[1] == "accelerate" and _is_verb(text, place)):
            named = in_words if _OUTSIDE_A_PATH.match(text, place) else in_paths
            named.append((known.names[passage.words[place : match.end()]], passage.source(place)))
    return in_words, in_paths


@cache
def _framework_name(known: Projects) -> tuple[Sequence[str], re.Pattern[str]]:
    """The words that a name begins with, and the pattern of all names."""
    names = known.names
    starts = [word for word in names if not word.startswith(tuple(other for other in names if other != word))]
    longest_first = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return starts, re.compile(rf"(?<![A-Za-z0-9_-])({longest_first}){NAME_AFTER}{_NO_LONGER_NAME}", re.I)


def versions_of_framework(framework: str, passage: Passage, tracker: Tracker, *, labelled: bool = False) -> Versions:
    """The versions beside a framework's name, or its commit or branch.

    Args:
        framework: Not PyTorch itself.
        labelled: As for `versions_at`.
    """
    project = projects().all.get(framework)
    at_home = framework == tracker.product
    spellings = tracker.spellings if at_home or project is None else project.names
    named = {word: begins for word in spellings if (begins := places((word,), passage.words))}
    beside = (
        versions_at(_framework_version(word), passage, begins, labelled=labelled) for word, begins in named.items()
    )
    versions = joined(beside) or joined(_stamped(stamp, passage) for stamp in (project.stamps if project else ()))
    versions = versions or joined(
        versions_at(build.expression, passage, places(build.starts, passage.words), labelled=labelled)
        for build in (project.builds if project else ())
    )
    if not versions and framework not in projects().parts and not labelled:
        versions = commits(passage, named)
    if not versions and at_home:
        nameless = NO_VERSIONS if labelled else nameless_versions(passage)
        versions = nameless or _labelled(passage, spellings)
        versions = versions or (NO_VERSIONS if labelled else branches(passage, spellings))
    return versions


def _stamped(stamp: str, passage: Passage) -> Versions:
    before, _, after = stamp.partition("{}")
    pattern = re.compile(rf"(?<![A-Za-z0-9]){re.escape(before)}{VERSION}{re.escape(after)}", re.I)
    return versions_at(pattern, passage, places((before.lower(),), passage.words))


def nameless_versions(passage: Passage) -> Versions:
    """The versions without a name of a report that was filed in the framework's own repository."""
    title = passage.text.partition("\n")[0]
    in_title = [match.start() for match in _IN_TITLE.finditer(title)]
    found = versions_at(_IN_TITLE, passage, in_title)
    for starts, pattern in (_FIELD, _USED, _CHECKED_OUT, _NIGHTLY):
        found = found or versions_at(pattern, passage, places(starts, passage.words))
    return found


def _labelled(passage: Passage, spellings: Sequence[str]) -> Versions:
    """The version of a line whose label ends in the product's name, however spelled, or is the end of that name."""
    called = tuple(_letters(one) for one in spellings if len(one) > 2)
    others = {_letters(name) for name in projects().all}

    def means(name: str) -> bool:
        is_end = len(name) >= _LEAST_END and name not in others and any(one.endswith(name) for one in called)
        return is_end or name.endswith(called)

    found = [one for one in _OWN_LABEL.finditer(passage.text) if called and means(_letters(one["name"]))]
    return Versions({one["v"]: passage.source(one.start("v")) for one in found})


def _letters(name: str) -> str:
    return re.sub("[-_ ]", "", name.lower())


def _meant(in_title: Sequence[str], everywhere: Sequence[str]) -> str:
    """The first framework named in the title, else the one named most.

    FSDP and DDP are parts that others use, and so come after them; but in the title only a wrapper comes before them.
    This is right for 80 % of the restated reports from a framework's own repository, 77 % without the exception.
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
    # Maven's coordinates have Scala's release before its own.
    # Not "TF 2.0: `python -c ...`", which says how to ask for the version, nor of a log "will be removed in TF 2.0" and
    # "vllm     3577.9s".
    return re.compile(
        rf"(?:{NAME_BEFORE}(?<!included\sin\s)(?<!removed\sin\s){name}"
        rf"(?:_version|\.__version__|\.version(?:\sis)?|-cu\d{{2,3}}(?:mkl)?|(?:-node)?-[cg]pu|\simage)?{NAME_AFTER}{_NO_LONGER_NAME}"
        rf"(?:\sAPI\sserver|\[[\w,-]{{1,40}}\])?{NOTE}{GAP}(?!\d{{4}}|[12]\.0:)"
        rf"|(?<=:){name}_2\.1[0-3]:|(?<=/){name}(?:-[a-z]{{1,10}})?\simage\s(?:with|tag|version)\sv?"
        rf"|(?<=/){name}-(?=\d[\w.+]{{1,60}}-(?:cp|py)\d|\d+\.\d+\.\d+[/#.-])"  # of a wheel, or of an unpacked release
        rf"|{_IMAGE}{name}(?:-[a-z]{{1,10}})?:v?){VERSION}",
        re.I,
    )
