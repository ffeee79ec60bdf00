"""A sentence that says which release of the product worked, in the product's own tracker. Pure.

There, a number needs no name: "it worked in v0.6.3", "after the upgrade from 0.6.2 to 0.6.3". Only plain sentences
count: not a wish, a question, a condition, nor something that still fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Final

from distriage.base.texts import regex
from distriage.facts.compatibility.matrix import listed_releases, released
from distriage.facts.projects import Tracker
from distriage.facts.release.names import names_of
from distriage.facts.release.others import is_nearer, is_of_another, is_release_of_another
from distriage.facts.scanning import Passage, Source, any_of
from distriage.facts.versions import Comparison

_TRIGGERS: Final = (
    *("work", "fine", "downgrad", "roll", "revert", "upgrad", "updat", "regress", "good", "last", "happen", "occur"),
    *("bump", "switch", "went back", "going back", "no issue", "no problem", "no such", "does not exist", "correct"),
    *("stable", "broke", "compared", " than", " ok", "正常", "没问题", "可以", "升", "passe"),
)
_NUMBER: Final = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3}){0,2}(?:\.?post\d{1,2}|\.?rc\d)?(?!(?a:\w)|%|\.\d)"
_WELL: Final = (
    r"(?:\s(?:just|perfectly|totally|completely|fine|well|good|great|correctly|properly|ok|okay|as\sexpected|normally"
    r"|stably?|smoothly|without\s(?:any\s)?(?:issues?|problems?|errors?))){0,2}"
)
_IN: Final = r"\s(?:in|on|with|under|using|for|at|before)"
_FIXES: Final = (
    r"(?:works?|worked|working|fix(?:es|ed)?|solve[sd]?|resolve[sd]?|helps?|helped|no\s(?:issues?|problems?|errors?)"
    r"|go(?:es)?\saway|went\saway|gone|disappear(?:s|ed)?|is\sfine|runs?\sfine|everything\sis)"
)
_DENIED: Final = regex(
    r"(?:\bnot|n['’]t|\bnever|\blonger|\bshould|\bwould|\bwill|\bmay|\bmight|\bcould|\bcan|\bdoes|\bdo|\bdid|\bif"
    r"|\bonly|\bnothing|\bto|\bcannot|\bstops?|\bstopped|\bmake|\bmakes|\bhow|\bwhether|\bthink|\bhope|\bsupposed\sto|\bwithout)(?:\s(?:be|it|have|been|also|even))?\s\Z",
    re.I,
)
_USED: Final = regex(r"\bused\sto\s\Z", re.I)
_BUT: Final = regex(
    r"[`'\"*)]{0,3}\s?(?:,\s)?(?:but\s)?(?:only\b|until\b|if\b|when\b|unless\b|not\b|\?|except\b|(?:\w{1,12}\s)?only\b|and\s(?:fails?|crash))",
    re.I,
)
_ALSO: Final = regex(rf"[`'\"*)]{{0,2}}(?:\s?[,/&]\s?|\sand\s|\sor\s)v?({_NUMBER})", re.I)
_UNCERTAIN: Final = regex(
    r"\b(?:still|hop(?:e|ed|ing)|wish|same\s(?:issue|problem|error|behaviou?r|result)|also\s(?:fails?|happens?|occurs?)|persists?|both|neither|tried|did\snot\shelp"
    r"|didn['’]t\shelp|no\sregression|not\sa\sregression)\b|仍|依[然旧]|还是|[也都](?:没|不|一样|有|会|是|报|卡)|没有?(?:解决|用|效果)",
    re.I,
)
_BEFORE_CHARS: Final = 16
_BEHIND_CHARS: Final = 60
_END: Final = regex(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?](?=\s|\Z)|\n|;\s|[。；]")
_MOST_CHARS: Final = 600  # of a sentence


def worked_before(own: Passage, tracker: Tracker, failing: Mapping[str, Source]) -> Comparison | None:
    """The last release that a plain sentence says to work, and the later one that fails.

    Args:
        own: The reporter's words of a report in the product's own tracker.
        failing: The versions in use, the likeliest first.
    """
    if not any_of(_TRIGGERS, own.words):
        return None
    names, in_use = names_of(tracker), [one for one in failing if one[:1].isdecimal()]
    for (before, _), (place, sentence) in pairwise(chain([(0, "")], _sentences(own.text))):
        if _UNCERTAIN.search(sentence):
            continue
        for works, fails, at, fails_at in _plain(sentence, tracker.spellings):
            end = place + (fails_at + len(fails) if fails else at + len(works))
            if not _is_release(works, tracker, in_use) or is_of_another(own.words[end : end + _BEHIND_CHARS], names):
                continue
            near = before if "\n" not in own.words[before:place] else place
            if is_release_of_another(own.words, (near, place, place + at), works, names, in_use):
                continue
            if fails and in_use and is_nearer(fails, works, in_use):
                continue  # "We upgraded from 2.7.1 to 2.8.0. Ray 2.49.1"
            known = {fails: own.source(place + fails_at)} if fails else dict(failing)
            also = _ALSO.match(sentence, at + len(works))
            if not fails and also:  # "works in 1.15 and 2.1"
                known.pop(also[1], None)
            for later, source in known.items():
                if _is_later(later, works):
                    return Comparison("framework_version", works, own.source(place + at), later, source)
    return None


def is_regression(pair: Comparison) -> bool:
    """Whether the failing release of a pair is the later one."""
    return _is_later(pair.fails, pair.works)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for end in _END.finditer(text):
        if 8 <= end.start() - begin <= _MOST_CHARS:
            yield begin, text[begin : end.start()]
        begin = end.end()
    if 8 <= len(text) - begin <= _MOST_CHARS:
        yield begin, text[begin:]


def _plain(sentence: str, names: tuple[str, ...]) -> Iterator[tuple[str, str, int, int]]:
    """Working and failing version, the latter perhaps empty, with their places."""
    if not any_of(_TRIGGERS, sentence.lower()):
        return
    moved, others, called = _patterns(names)
    for match in moved.finditer(sentence):
        yield match["x"], match["y"], match.start("x"), match.start("y")
    for pattern in others:
        for match in pattern.finditer(sentence):
            before = sentence[max(0, match.start() - _BEFORE_CHARS) : match.start()]
            if (_DENIED.search(before) and not _USED.search(before)) or _BUT.match(sentence, match.end()):
                continue
            if match["x"].count(".") == 1 and not called.search(sentence, 0, match.start("x")):
                continue  # "--gpu-memory-utilization 0.9 crashes, 0.8 works"
            yield match["x"], "", match.start("x"), 0


@cache
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], Sequence[re.Pattern[str]], re.Pattern[str]]:
    """An upgrade with both numbers, one number that works, and what says before a short one that it is a release; for a
    product's names.
    """
    called = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    ours = rf"(?:the|my|our|a|version|release|{called})"
    before = "the|my|our|a|previous|older|earlier|old|version|release|docker|image|container"
    name = rf"(?:(?:{before}|{called})[\s:=-]{{1,2}}){{0,3}}"
    image = rf"[`'\"*(]{{0,2}}(?:(?:[\w.-]{{1,30}}/)?(?:{called})(?:[:@=-]{{1,2}}|(?=v?\d)))?v?"
    x, y = rf"{image}(?P<x>{_NUMBER})", rf"{image}(?P<y>{_NUMBER})"
    moved = re.compile(
        rf"(?:(?:\bafter|\bsince|\bwhen|\bonce)\s(?:(?:i|we|having|i['’]ve|we['’]ve|just|{ours})\s){{0,3}}?"
        rf"(?:upgrad|updat|bump|mov|switch|migrat|go)(?:ing|ed|e)\s(?:{ours}\s){{0,3}}?(?:from\s)?"
        rf"|\bafter\s(?:the\s)?(?:{called})?\s?(?:upgrade|update)\s(?:from\s)?"
        rf"|\bregress(?:ion|ed|es)\s(?:from|between)\s"
        rf"|从\s?|\A\W{{0,4}}(?:(?:i|we)\s)?(?:have\s)?(?:just\s|recently\s)?(?:upgrad|updat)ed\s(?:{ours}\s){{0,3}}?from\s)"
        rf"{name}{x}(?:-[\w.]{{1,20}})?[`'\"*)]{{0,2}}\s?(?:to|->|→|=>|and|vs\.?|升级?到了?|更新到了?)\s?{name}{y}",
        re.I,
    )
    texts = (
        rf"\b(?:works?|worked|working|passe[sd]|runs|ran){_WELL}{_IN}\s{name}{x}",
        rf"\b(?:was|is|were)\s(?:fine|ok|okay|good|stable|correct){_IN}\s{name}{x}",
        rf"\b(?:does|did|do)(?:\snot|n['’]t)\s(?:happen|occur|exist|appear|have\s(?:this|that|the)\s(?:issue|problem|bug|error))(?:\s(?:at\sall|anymore))?"
        rf"(?:{_IN}\s{name}|\s){x}",
        rf"\bno\s(?:such\s)?(?:issues?|problems?|errors?){_IN}\s{name}{x}",
        rf"{x}[`'\"*)]{{0,3}},?\s(?:it\s|everything\s|all\s)?(?:just\s)?(?:works?|worked|passe[sd]|is\sworking|(?:is|was|runs|ran)\s(?:fine|ok|okay|good|stable)"
        rf"|(?:(?:does|did)(?:\snot|n['’]t)\shave\s(?:this|the|that)|ha[ds]\sno(?:\ssuch|\sthis)?)\s(?:issues?|problems?|bugs?|errors?))\b",
        rf"{x}[`'\"*]{{0,2}}(?:\s|:\s|\s=\s)(?:is\s|was\s)?(?:fine|ok|okay|good)(?=\)|[.,;]?\Z)",
        rf"\b(?:drop|slow|regress|degrad|worse|decreas)\w{{0,6}}\s[^\n]{{0,60}}?\b(?:compared\s(?:to|with|against)|than)(?:{_IN})?\s{name}{x}",
        rf"\b(?:downgrad(?:e|ed|ing)|roll(?:ing|ed)?\sback|revert(?:ing|ed)?|switch(?:ing|ed)?\sback|go(?:ing)?\sback|went\sback)\s"
        rf"(?:{name}(?:from\s{name}v?{_NUMBER}\s)?)(?:back\s)?to\s{name}{x}[^\n]{{0,60}}?\b{_FIXES}\b",
        rf"{x}\s?(?:版本?)?[^\n\d，,.不没无]{{0,8}}(?:正常|没问题|没有问题|可以(?:正常)?(?:训练|运行|跑|用))",
        rf"\blast\s(?:known\s)?(?:working|good)\s(?:version|release)(?:\s(?:is|was))?[\s:=]{{1,3}}{name}{x}",
    )
    is_release = re.compile(rf"(?:\b(?:version|release|image|tag|v|in)|{called})[\s:=@/`'\"*(-]{{0,3}}v?\Z", re.I)
    return moved, tuple(re.compile(text, re.I) for text in texts), is_release


def _is_release(version: str, tracker: Tracker, in_use: Sequence[str]) -> bool:
    """Whether a number can be a release of the product: on PyPI's list or, where none is known, of three parts and of
    the same major number as one in use, or of any if that one is the first of its own.
    """
    listed: Sequence[str] = next(filter(None, map(listed_releases, tracker.spellings)), ())
    if listed:
        found = released(version)
        return found is not None and (str(found) in listed or any(one.startswith(f"{found}.") for one in listed))
    numbers = [one.split(".") for one in in_use]
    near = (one[0] == version.partition(".")[0] or (len(one) > 1 and one[1] in {"0", "1"}) for one in numbers)
    return version.count(".") >= 2 and (not numbers or any(near))


def _is_later(one: str, other: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        later, earlier = Version(one), Version(other)
    except InvalidVersion:
        return False
    same = min(len(later.release), len(earlier.release))
    return later > earlier and (
        later.release[:same] != earlier.release[:same] or len(later.release) == len(earlier.release)
    )
