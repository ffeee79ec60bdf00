"""Which of several versions of one thing is in use. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from distriage.base.texts import regex
from distriage.facts.scanning import Source
from distriage.facts.versions import NO_VERSIONS, Versions
from distriage.segments import Kind

_MOVED = regex(  # of a title: "breaks from 4.33.2 to 4.35.2", "regression 0.6.7 -> 0.6.8"
    r"\b(?:break|fail|regress|slow|broke|crash|hang)\w{0,6} (?:\w{1,12} ){0,2}"
    r"(?:(?P<from>from )|(?=v?\d+\.\d+\.\d\S{0,12} ?(?:->|→) ?v?\d+\.\d+\.\d))"
    r"v?(?P<left>\d[\w.]{1,16}) ?(?(from)to|(?:->|→)) ?v?(?P<to>\d[\w.]{1,16})",
    re.I,
)
_RELEASE = regex(r"\d+(?:\.\d{1,4})+(?!\d)")  # without a build's number, 6.1.40091
# Between two versions of a list, perhaps with the name again
_BESIDE = (
    r"[`'\"]{0,2}(?:\s?(?:[,/&+、和及])\s?(?:(?:and|or)\s)?|\s(?:and|or|as\swell\sas)\s(?:(?:with|on|in|also)\s)?)"
    r"(?:[\w-]{1,16}[ =-]{1,2})?[`'\"v]{0,2}"
)
_NUMBERS = regex(r"\d{1,9}")
_MOST_NUMBERS = 5  # of a version that are compared
_MOST = 8  # versions of a list; more would be looked for in too long a time


def moved_in(title: str) -> Versions:
    """The releases of a title such as "breaks from 4.33.2 to 4.35.2"."""
    moved = _MOVED.search(title)
    if moved is None or "." not in moved["left"] or "." not in moved["to"]:
        return NO_VERSIONS
    at = Source(Kind.TITLE, 0)
    return Versions({moved["to"]: at}, {moved["left"]: at})


def of_title(named: Versions, title: str) -> Versions:
    """The one of several releases that the title names alone; the body's `2.0.1` tells more of it than `2.0`."""
    if (moved := _MOVED.search(title)) and {moved["left"], moved["to"]} <= named.in_use.keys():
        left, to = moved["left"], moved["to"]
        return Versions({to: named.in_use[to]}, {**named.working, left: named.in_use[left]})
    titled = {version: source for version, source in named.in_use.items() if version in title}
    if not len(titled) == 1 < len(named.in_use):
        return named
    begin = f"{next(iter(titled))}."
    longer = {version: at for version, at in named.in_use.items() if version.startswith(begin)}
    return Versions(longer if len(longer) == 1 else titled, named.working)


def of_a_list(named: Versions, text: str) -> Versions:
    """The newest of several releases that a text names side by side, as "0.12 and 0.13", for it fails with each."""
    if not 1 < len(named.in_use) <= _MOST:
        return named
    newest = max(named.in_use, key=lambda version: [*map(int, _NUMBERS.findall(version)[:_MOST_NUMBERS])])
    others = "|".join(re.escape(version) for version in named.in_use if version != newest)
    one = re.escape(newest)
    listed = rf"(?<![\w.])v?(?:(?:{others}){_BESIDE}{one}|{one}{_BESIDE}(?:{others}))(?![\w.]\d)"
    if re.search(listed, text, re.I) is None:
        return named
    return Versions({newest: named.in_use[newest]}, named.working)


def releases(versions: Iterable[str]) -> list[str]:
    """One version of each release among them: 2.1 may be 2.1.2, and 2.1.2+cu121 is; 2.3 is not."""
    found: dict[tuple[str, ...], str] = {}
    for version in versions:
        if numbers := _RELEASE.search(version):
            found.setdefault(tuple(numbers[0].split(".")), version)
    shorter = {release[:length] for release in found for length in range(1, len(release))}
    return [version for release, version in found.items() if release not in shorter]
