"""The framework of a report, by its repository or the names in its text; and its version. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from distriage.base.texts import regex
from distriage.facts.projects import PYTORCH, Projects, Tracker, What, projects
from distriage.facts.scanning import Passage, Source, places
from distriage.facts.versions import GAP, NAME_AFTER, NAME_BEFORE, NOTE, VERSION, Versions, joined, versions_at

_IMAGE = r"(?<=/)(?=[\w-]{1,30}:v?(?!\d\d\.\d\d)\d)"  # `rayproject/ray:2.9.0`, not one that is numbered by month
_NO_LONGER_NAME = r"(?!-(?!\d))"  # as `vllm-flash-attn`; but `deepspeed-0.16.2.tar.gz`
_OUTSIDE_A_PATH = regex(rf"(?<![./\\])|{_IMAGE}")
# "We use DDP to accelerate training; it should accelerate it" names one framework.
_VERB_BEFORE = regex(r"\b(?:to|can|not|cannot|helps?)\s\Z", re.I)
_VERB_BEFORE_CHARS = 8  # at most
_VERB_AFTER = regex(r"accelerate\s(?:the|a|training|inference|computing|your|our|my|its?|this|that)\b(?!_)")
_NO_VERB = regex(rf"accelerate(?:\s{{1,3}}(?:launch|config|env|test)\b|\.\w|\s?[:=]|{GAP}{VERSION})")


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
    """The versions beside a framework's name.

    Args:
        framework: Not PyTorch itself.
        labelled: As for `versions_at`.
    """
    project = projects().all.get(framework)
    at_home = framework == tracker.product
    spellings = tracker.spellings if at_home or project is None else project.names
    if project and project.what is What.LIBRARY and not spellings:
        spellings = project.at_home  # "jax 0.7.1" beside a framework that stands on it
    begins = places(spellings, passage.words)
    return versions_at(_framework_version(tuple(spellings)), passage, begins, labelled=labelled) or joined(
        versions_at(stamp.expression, passage, places(stamp.starts, passage.words))
        for stamp in (project.stamps if project else ())
    )


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
def _framework_version(words: tuple[str, ...]) -> re.Pattern[str]:
    name = f"(?:{'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})"
    # Maven's coordinates have Scala's release before its own.
    # Not "TF 2.0: `python -c ...`", which says how to ask for the version, nor of a log "will be removed in TF 2.0" and
    # "vllm     3577.9s". A tag may begin with a word, core_v0.14.0.
    return re.compile(
        rf"(?:{NAME_BEFORE}(?<!included\sin\s)(?<!removed\sin\s){name}"
        rf"(?:_version|\.__version__\)?|\.version(?:\sis)?|-cu\d{{2,3}}(?:mkl)?|(?:-node)?-[cg]pu)?{NAME_AFTER}{_NO_LONGER_NAME}"
        rf"(?:\sAPI\sserver|\scommit\sid|\[[\w,-]{{1,40}}\])?{NOTE}{GAP}(?:[a-z]{{2,9}}_v)?(?!\d{{4}}|[12]\.0:)"
        rf"|(?<=:){name}_2\.1[0-3]:|(?<=/){name}(?:-[a-z]{{1,10}})?\simage\s(?:with|tag|version)\sv?"
        rf"|(?<=/){name}-(?=\d[\w.+]{{1,60}}-(?:cp|py)\d|\d+\.\d+\.\d+[/#.-])"  # of a wheel, or of an unpacked release
        rf"|{_IMAGE}{name}(?:-(?!router)[a-z]{{1,10}})?:v?){VERSION}",
        re.I,
    )
