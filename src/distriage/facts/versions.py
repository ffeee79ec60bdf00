"""How to read a version beside a name, and which of several is in use. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from distriage.base.texts import regex
from distriage.facts.scanning import Passage, Source, before_on_line, matches_at

# An image's `2.3.0-cuda12.1-cudnn8` is 2.3.0, `0.4.6-cu124` and `0.4.6-rocm630` are 0.4.6, a file's `0.1.post1.tar.gz`
# is 0.1.post1. Each text is read in one way only: the second suffix begins with a sign.
_SUFFIX = r"(?:rc|dev|post|a|b(?=\d|eta)|cu|cpu|git|rocm|xpu)(?:\w|\.(?!tar|whl|zip))*"
_OF_BUILD = r"-(?:cu|rocm\d)"
_ADDRESS = (  # of a network
    r"(?!\d{1,3}(?:\.\d{1,3}){3}[/:]\d"
    r"|(?:192\.168|127\.0|10\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?![\w.]\d))"
)
_FACTOR = r"(?!\d{0,2}[xB](?!\w))"  # 2.5x, or any 2.5; a model of 1.8B
VERSION = (  # the fourth number is not ROCm's in a Debian package: rccl 2.27.7.70100
    rf"{_ADDRESS}(?P<v>\d+\.\d+(?:\.\d+(?:\.(?!\d{{5}}(?!\d))\d+)?)?(?:(?!{_OF_BUILD})[-+.]?{_SUFFIX}(?:(?!{_OF_BUILD})[-+]{_SUFFIX})*)?)"
    rf"{_FACTOR}"
)
# MXNet's listing begins a part with a rule; an item's number may stand close: "4.pytorch version: 1.5.1"
NAME_BEFORE = r"(?:(?<![A-Za-z0-9_./-])(?<![<>]=)(?<![<>]=\s)|(?<=-----)|(?<=\n\d\.))"
NAME_AFTER = r"(?![A-Za-z_]|\d{1,2}(?!\.\d|\d))"  # "torch2.3" states a version, "torch2" is a name
IS = r"is(?=\s)|版本号?|[为是的：は]|バージョン|버전|верси[яи]|إصدار|هو"
BLANKS = r"[^\S\n]{1,80}+"  # `pip list` sets versions in a column of their own: a run of blanks counts once
GAP = (  # each text is read in one way only
    rf"""(?:["'`*|\n]|,(?=\sv(?:ersion|\d))|{BLANKS}|'s(?=\sversion)|versions?|ver(?:\.(?!\.))?|both|\(|info|:|=|@|-|v\.?|\.{{3,}}+"""
    rf"""|out\[\d{{1,4}}\]:|{IS}){{0,24}}?"""
)
# Before that: what Lightning's and Transformers' templates say, and "after upgrading torch to 2.4.0".
NOTE = (
    r"(?:\snightly|\s(?:main|master)(?=\s\(v?\d)|\sbuilt\sfrom\ssource(?=\s\()|\sinfo-{5,20}(?=\n)|\sversion:?\s\([^()\n\d]{3,120}\)(?=:)"
    r"|\sversion\s\((?:GPU\?|accelerator\?|use\scommand\sbelow|[ ]{3,120}|e\.g\.?,?\s[\d.]{1,10})\)"
    r"|(?P<to>\s(?:from\sv?(?P<left>\d[\d.]{1,12})\s)?to(?=\s)))?"
)
# "torch 2.7.0 works; after the upgrade to 2.8.0 it hangs": a version without a name, of the last one named.
_OTHER_VERSION = regex(
    r"[^\n]{0,80}?(?:\b(?:to|with|on|in|but|only|and|or|vs\.?|(?P<bound>than|since|until|With|On|In|Since|After))\s|[到至]\s?|(?:->|→)\s?"
    r"|[，,；;]\s?(?=v?\d[\d.]{2,12}\s?(?:不行|报错|失败|出错|就|会|卡|挂))"
    r"|[,;]\s(?=v?\d[\d.]{2,12}\s(?:hangs?|fails?|crash|does|gives|breaks?|works|is)))"
    rf"v?{VERSION}(?![\w%]|\s?(?:times|[GMTK]i?B|seconds|minutes|hours)\b)"
)
_AND = regex(r"(?:\s?[,/&]\s?|\sand\s)v?")
_LISTED = regex(rf"(?:\s?[,/&、和]\s?(?:and\s)?|\sand\s)v?{VERSION}(?!\w|\.\d|[ -](?:and\s)?[A-Za-z][\w-]+[ =]v?\d)")
_NAMED = regex(  # another thing with its version, to which the number behind it may belong
    r"(?<![\w-])(?!(?i:to|with|on|in|but|only|and|or|vs|than|since|until|from|version|release|v)\b)"
    r"[A-Za-z][\w-]{1,30}[ =:](?:v\d+|v?\d+\.\d+)\.\d|\b(?:[Dd]own|[Uu]p)(?:grad|dat)(?:ed?|ing)\s(?:(?:the|my|our)\s)?"
    r"(?!(?:it|this|back|versions?|everything|all|image|container|server|cluster)\s)(?P<moved>[\w-]{2,30})\s(?:to|from)\s"
)
_ONLY = regex(r"[^\n.;]{0,6}\b(?:but\sonly|only\s(?:if|with|when|after|without))\b", re.I)
# A version that works; not "works around". In "torch 2.8.0, works with torch 2.7.1" the words are of the second one.
_WORKS_BEHIND = regex(
    r"(?!\)?,\s(?:it\s)?(?:works?|worked)\s(?:fine\s)?(?:with|in|on|under|for)\s(?:the\s)?(?:[\w.-]{1,30}[\s=]{1,2})?v?\d)"
    r"(?:\.x\b)?(?:-cp\d\S{0,40})?[`'\"*)]{0,3},?\s(?:it\s|this\s|everything\s|all\s|the\ssame\s\w{3,9}\s)?"
    r"(?:works?|worked|passe[sd]|(?:is|was|runs|ran)\s(?:fine|ok|all\sright)|does\sit\sright|(?:ha[ds]\s)?no\s(?:this|such)\s(?:bug|problem|issue|error)"
    r"|(?:does|did)(?:n't|\snot)(?:\s(?:have|show)\s(?:this|it|that)(?:\s(?:bug|problem|issue|error))?)?(?=[.,;\n]|\Z)|helps|(?:solv|fix|resolv)e[sd])\b"
    r"(?!\s(?:but|(?:\w{1,12}\s)?only|until|except|around))|\s?\|(?:[^|\n]{1,20}\|)?\s?(?:normal|works|ok|fine|good)\b|\s?(?:就|则)?(?:没问题|没有问题|正常)"
    r"|[`'\"*)]{0,3},?\s(?:ok(?:ay)?|good|fine|all\sright|it\swas)\b(?!-|\s(?:until|but))|[`'\"*)]{0,3}:\s(?:ok(?:ay)?|good|fine|all\sright)(?=[.,;\n]|\Z)|[`'\"*)]{0,3},?\sit\sdoes(?=[.,;\n]|\Z)|[`'\"*)]{0,3}\sinstead\b[^\n.;]{0,80}\bwork(?:s|ed)\b",
    re.I,
)
# Bare "work" is nearly always denied or wished for: "can't get it to work with", "should work on".
_WORKS_BEFORE = regex(
    r"(?<!not\s)(?<!n't\s)(?<!never\s)(?<!longer\s)\b(?:works|worked|passe[sd]|used\sto\swork|(?:is|was)\sworking|fine|ok|as\s(?:they|it)\sdo(?:es)?|does(?:n.t|\snot)\s(?:occur|happen)"
    r"|(?:issue|problem|bug|error|crash|hang|it|this|that)\s(?:does|did)(?:n.t|\snot)\s(?:appear|exist|happen|occur)"
    r"|not\sreproduc(?:ed|ible)"
    r"|no\s(?:problems?|errors?|issues?))\s(?:fine\s|well\s|correctly\s)?(?:with|on|in|under|up\sto)\s(?:the\s)?\Z|\b(?:working|good)\s(?:version|release)s?\s?[:=]\s?\Z"
    r"|\n[\s*-]{0,6}previous\s\Z",  # of Megatron's form, beside the new one
    re.I,
)
_WORKS_BEFORE_CHARS = 40  # at most
_LAST_GOOD_BEFORE = regex(
    r"\blast\s(?:(?:known\s)?(?:good|working)\s(?:release|version)|(?:release|version)\s[^\n.;]{0,50}\bworks\b)[^\n.;]{0,20}\Z",
    re.I,
)
_LAST_GOOD_BEFORE_CHARS = 100  # at most
_DOWNGRADED = regex(rf"[Dd]owngrad(?:e|ed|ing)\s(?:[\w-]{{1,30}}\s)?to\sv?{VERSION}")
# "Is this fixed in vLLM 0.11?", "does NCCL 2.28 fix it?", "we cannot upgrade to torch 2.7", "support Python 3.14"
_ASKED_BEFORE = regex(
    r"(?:\b(?:is|was|will|has|should)\s(?:this|it|that)\s(?:already\s|be\s|been\s){0,2}"
    r"(?:fixed|solved|resolved|supported|planned|addressed)\s(?:in|with|by)\s(?:the\s)?"
    r"|\b(?:can(?:not|\s?n.t)|unable\sto|plan(?:ning)?\sto|would\slike\sto)\s(?:upgrade|update|move|switch|go)\sto\s"
    r"|(?:(?<!not\s)(?<!with\s)(?<!only\s)\bsupport(?:s|ing)?(?:\sfor)?|\brequires?|希望[^\n，。]{0,12}?(?:支持|提供))\s?"
    r"(?:[\w-]{2,9}\s[\d.]{1,7}(?:\s(?:and|[+&])\s|[,、]\s?))?|\b(?P<does>does|would|will)\s)\Z",
    re.I,
)
_ASKED_BEFORE_CHARS = 50  # at most
_FIXES_BEHIND = regex(r"\s(?:fix|solve|resolve|help|address|support)\b", re.I)
_UPGRADED_BEFORE = regex(
    r"(?:(?<!not\s)(?<!n't\s)(?<!be\s)\b(?:upgrad|updat|bump|switch)ed"
    r"|\b(?:after|since|when|once)\s(?:i\s|we\s)?(?:upgrad|updat)(?:ing|e))\s(?:my\s|our\s|the\s)?\Z",
    re.I,
)
_UPGRADED_BEFORE_CHARS = 30  # at most
# "We moved from vLLM 0.8.4 to 0.8.5": the first one is no longer in use; but it is if one may "upgrade from" it.
_LEFT_BEFORE = regex(
    r"\b(?:\w{2,12}(?:ed|ing|ion)|breaks|fails|broke|slower)\s(?:(?!to\s)[\w.-]{1,20}\s){0,3}from\s(?:the\s)?\Z"
    r"|\b(?:after|since|by|when|once)\s(?:an?\s|the\s|i\s|we\s)?(?:upgrad|updat|bump)(?:e|ed|ing)?\s(?:of\s)?(?:the\s)?\Z",
    re.I,
)
_LEFT_BEFORE_CHARS = 90  # at most
_BACK_BEFORE = regex(  # "downgraded torch 2.7.0 ->", "plan to update torch 2.6.0 ->": the first is in use
    r"(?:\b(?:downgrad|revert|roll|went back|plan|will|want|please)|降级|回退|退回)[^.;。\n]{0,40}\Z", re.I
)
_LEFT_BEHIND = regex(
    r"[`'\"*)]{0,3}\s(?:to\s|(?P<arrow>->|→)\s(?:[\w-]{1,30}\s)?v?\d+\.\d[\d.]{0,9}(?![\d.])"
    r"(?!\W{1,3}(?:\w{2,5}\s)?(?:fix|solv|resolv|help|work|did\s?n[o'])))"
)
# setuptools-scm's version of a checkout without tags, `0.1.dev7393+gb1c1fe3`: a commit.
UNTAGGED = regex(r"0\.1\.dev\d{1,6}(?:\+g(?P<commit>[0-9a-f]{7,40}))?")
# `git describe` before the release that it is of: v2.2.0-rc4-8-g2b96f3662b 2.2.0
_DESCRIBED = regex(r"-\d{1,5}-g[0-9a-f]{6,40},?\s{1,3}(?P<v>\d+\.\d+[\w.]{0,16}(?:-(?:dev|rc|alpha|beta)\d{0,8})?)")
_MOST_LABELLED = 8
_LABEL = regex(r"[:=/]|-\d|\bv\d|\+cuda|version|release", re.I)


class Comparison(NamedTuple):
    """Two releases, one said to work and one to fail: a regression, or a fixed fault.

    Attributes:
        fact: The name of the fact, such as `torch` or `framework_version`.
        works, works_at: The working version, as written, and its place.
    """

    fact: str
    works: str
    works_at: Source
    fails: str
    fails_at: Source


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one thing in a text, as written, each with its first place; false if empty.

    Attributes:
        in_use: Those that may be in use, the likeliest first.
        working: Those said to work, unlike those in use.
        all_work: Each of them is said to work.
    """

    in_use: Mapping[str, Source] = field(default_factory=dict)
    working: Mapping[str, Source] = field(default_factory=dict)
    all_work: bool = False

    def __bool__(self) -> bool:
        return bool(self.in_use)

    def compared(self, fact: str) -> Comparison | None:
        """The last working and the first failing one."""
        if not self.working or not self.in_use:
            return None
        works, works_at = list(self.working.items())[-1]
        fails, fails_at = next(iter(self.in_use.items()))
        return Comparison(fact, works, works_at, fails, fails_at)


NO_VERSIONS = Versions()


def joined(found: Iterable[Versions]) -> Versions:
    """The versions of one thing under several names; a version is of the first place."""
    in_use: dict[str, Source] = {}
    working: dict[str, Source] = {}
    parts = list(filter(None, found))
    all_work = all(one.all_work for one in parts)
    for one in parts:
        working.update(one.working)
        for version, source in one.in_use.items():
            (working if one.all_work and not all_work else in_use).setdefault(version, source)
    return Versions(in_use, working, all_work)


def versions_at(
    pattern: re.Pattern[str], passage: Passage, begins: Sequence[int], *, labelled: bool = False
) -> Versions:
    """The versions at some places, each with the version that the text contrasts with it.

    Versions said to work are left out of several: the report is about the others. Among these the one in use is that of
    a labelled line, such as `PyTorch version: 2.4.0`.

    Args:
        labelled: Count only a version after a colon, an equals sign or the word: a tool's own, not one that its message
            mentions ("In PyTorch 2.6, we changed ...").
    """
    if not begins:
        return NO_VERSIONS
    text = passage.text
    found: list[tuple[str, int, bool]] = []
    own: list[str] = []
    after_working = 0
    for match in matches_at(pattern, text, begins):
        if not (version := _written(match)) or not _is_in_use(match) or (labelled and not _LABEL.search(match[0])):
            continue
        if left := match.groupdict().get("left"):
            found.append((left, match.start("left"), True))
        works = _works(text, match.start(), match.end()) or bool(
            after_working and _AND.fullmatch(text, after_working, match.start())  # "it works with TF 1.15 and TF 2.1"
        )
        after_working = match.end() if works else 0
        found.append((version, match.start(), works))
        listed = [version, *_listed_behind(text, match)]
        found += ((one, match.start(), works) for one in listed[1:])
        if _is_labelled(text, match):
            own += listed
        other = _OTHER_VERSION.match(text, match.end())
        if other is None:
            continue
        another = _NAMED.search(text, match.end(), other.start("v"))
        if another and not match[0].lower().startswith((another["moved"] or " ").lower()):
            continue
        if not (_is_like(other["v"], version) or _is_left(text, match.start(), match.end())):
            continue
        # "0.8.4 is slower than 0.8.2, since 0.7.0": of one that fails, the other is but a comparison.
        if (works or not other["bound"]) and (written := _written(other)):
            same = works and _AND.fullmatch(text, match.end(), other.start("v"))
            found.append((written, other.start("v"), bool(same) or _works(text, other.start("v"), other.end())))
    works_there = {version for version, _, works in found if works}
    if len(found) > 1:
        works_there.update(match["v"] for match in _DOWNGRADED.finditer(text))
    sources: dict[str, Source] = {}
    for version, place, _ in found:
        sources.setdefault(version, passage.source(place))
    failing = [version for version in sources if version not in works_there]
    labels = tuple(dict.fromkeys(version for version in own if version in (failing or sources)))[:_MOST_LABELLED]
    longer = tuple(f"{version}." for version in labels)  # a label's 3.6 is the 3.6.8 of the text
    in_use = [one for one in failing or sources if not labels or one in labels or one.startswith(longer)]
    working = [version for version in sources if version in works_there] if failing else []
    return Versions({one: sources[one] for one in in_use}, {one: sources[one] for one in working}, not failing)


def _is_like(other: str, version: str) -> bool:
    """Whether a number without a name may be a release of the same thing: 0.8 beside 0.9.0 may be a setting's."""
    major = version.partition(".")[0]
    is_short = other.count(".") < version.count(".")
    return other.partition(".")[0] == major and not (major == "0" and is_short)


def _listed_behind(text: str, match: re.Match[str]) -> Iterator[str]:
    """The versions of a list that a match begins: "0.8.0, 0.8.5", "both 0.6.6 and 0.7"."""
    major, end = (match.groupdict().get("v") or "").partition(".")[0], match.end()
    while (one := _LISTED.match(text, end)) and one["v"].partition(".")[0] == major:
        if version := _written(one):
            yield version
        end = one.end()


def _is_labelled(text: str, match: re.Match[str]) -> bool:
    """Whether a version follows the colon of a line of its own, or is in a listing of `torch.utils.collect_env`."""
    before = before_on_line(text, match.start())
    return before in {"[pip3]", "[conda]"} or (before == "" and (":" in match[0] or ".version = " in match[0].lower()))


def _is_in_use(match: re.Match[str]) -> bool:
    """Not of "the last release that works", "is it fixed in torch 2.4?", nor of an intended upgrade to 2.4.0."""
    start = match.start()
    if _LAST_GOOD_BEFORE.search(match.string, max(0, start - _LAST_GOOD_BEFORE_CHARS), start):
        return False
    if asked := _ASKED_BEFORE.search(match.string, max(0, start - _ASKED_BEFORE_CHARS), start):
        return bool(asked["does"] and not _FIXES_BEHIND.match(match.string, match.end()))
    before = max(0, start - _UPGRADED_BEFORE_CHARS)
    return not match.groupdict().get("to") or bool(_UPGRADED_BEFORE.search(match.string, before, start))


def _works(text: str, start: int, end: int) -> bool:
    """Whether a version, with its name from `start` to `end`, is said to work or to be the one before an upgrade."""
    before = _WORKS_BEFORE.search(text, max(0, start - _WORKS_BEFORE_CHARS), start)
    if before and _ONLY.match(text, end):
        return False
    return bool(before or _WORKS_BEHIND.match(text, end) or _is_left(text, start, end))


def _is_left(text: str, start: int, end: int) -> bool:
    """Whether a version, with its name from `start` to `end`, is the one before an upgrade."""
    behind = _LEFT_BEHIND.match(text, end)
    begin = max(0, start - _LEFT_BEFORE_CHARS)
    return behind is not None and bool(
        not _BACK_BEFORE.search(text, begin, start) if behind["arrow"] else _LEFT_BEFORE.search(text, begin, start)
    )


def _written(match: re.Match[str]) -> str:
    """The version of a match, as written; the meaning of a wheel's tag; the commit of a checkout, or nothing."""
    parts = match.groupdict()
    if tag := parts.get("tag"):
        return f"{tag[:2]}.{tag[2]}"
    if tag := parts.get("py"):
        return f"{tag[0]}.{tag[1:]}"
    if digits := parts.get("digits"):
        return ".".join(digits)
    if checkout := UNTAGGED.match(match.string, match.start("v")):
        return f"commit {checkout['commit']}" if checkout["commit"] else ""
    if described := _DESCRIBED.match(match.string, match.end("v")):
        return described["v"].rstrip(".")
    version = parts["v"].rstrip(".,")
    return f"RCCL {version}" if parts.get("rccl") else version
