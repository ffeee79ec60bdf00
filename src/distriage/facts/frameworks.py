"""The framework of a report, by its repository or the names in its text; and its version. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from distriage.base.texts import regex
from distriage.facts.projects import PYTORCH, Projects, Tracker, What, projects
from distriage.facts.scanning import Passage, Source, any_of, matches_at, places
from distriage.facts.versions import GAP, NAME_AFTER, NAME_BEFORE, NOTE, VERSION, Versions, joined, versions_at

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
    (
        *("\nin ", "using", "upgrad", "between", "running v", "version ", "update ", "release ", "since ", "in v"),
        *("nightly ",),
    ),
    regex(
        r"(?:(?:\nin|using|running(?=\sv)|upgrad(?:ed|ing)(?:\sfrom\sv?\d[\d.]{1,12})?\sto)\sv?"
        rf"{_THREE_NUMBERS}|update\s(?:from\s)?v?\d[\d.]{{1,12}}\s?(?:->|→|to)\sv?(?=\d+\.\d)|(?<=\n)release\s(?=\d+\.\d)"
        r"|(?<![\w-])nightly\s(?:build\s|version\s)?(?=\d+\.\d+\.\d+\.?dev\d)"
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
_CHECKED_OUT = (
    ("git c", "branch v"),
    regex(rf"(?:git\s(?:checkout|clone)[^\n]{{0,60}}?\s(?:tags/)?v|branch\sv){VERSION}", re.I),
)
_LEAST_END = 7  # letters; more than in "python"
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
    versions = joined(beside) or joined(
        versions_at(stamp.expression, passage, places(stamp.starts, passage.words))
        for stamp in (project.stamps if project else ())
    )
    if not versions and framework not in projects().parts and not labelled:
        versions = _commits(passage, named)
    if not versions and at_home:
        if not labelled:
            versions = nameless_versions(passage)
        versions = versions or _labelled(passage, spellings)
        if not labelled:
            versions = versions or branches(passage, spellings)
    return versions


def nameless_versions(passage: Passage) -> Versions:
    """The versions without a name of a report that was filed in the framework's own repository."""
    title = passage.text.partition("\n")[0]
    in_title = [match.start() for match in _IN_TITLE.finditer(title)]
    found = versions_at(_IN_TITLE, passage, in_title)
    for starts, pattern in (_FIELD, _USED, _CHECKED_OUT):
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
        rf"(?:_version|\.__version__|\.version(?:\sis)?|-cu\d{{2,3}}(?:mkl)?|(?:-node)?-[cg]pu)?{NAME_AFTER}{_NO_LONGER_NAME}"
        rf"(?:\sAPI\sserver|\[[\w,-]{{1,40}}\])?{NOTE}{GAP}(?!\d{{4}}|[12]\.0:)"
        rf"|(?<=:){name}_2\.1[0-3]:|(?<=/){name}(?:-[a-z]{{1,10}})?\simage\s(?:with|tag|version)\sv?"
        rf"|(?<=/){name}-(?=\d[\w.+]{{1,60}}-(?:cp|py)\d|\d+\.\d+\.\d+[/#.-])"  # of a wheel, or of an unpacked release
        rf"|{_IMAGE}{name}(?:-[a-z]{{1,10}})?:v?){VERSION}",
        re.I,
    )


def _commits(passage: Passage, named: Mapping[str, Sequence[int]]) -> Versions:
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
