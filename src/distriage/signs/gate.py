"""A stated version held against a repository's releases. Pure.

`affects-latest` and `old-version` are of the time at which a report was filed. A version that is not listed, or that is
too short to tell, has neither.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from distriage.base.texts import regex
from distriage.github.releases import Release
from distriage.signs.kinds import Sign

# `v0.8.5`, `core_r0.12.0`, `ray-2.9.3`, `v2.27.3-1`; the text before the number tells lines of releases apart.
_TAG = regex(
    r"(?P<line>[A-Za-z][\w.]{0,40}?[-_/@])?[vr]?(?P<number>\d{1,6}(?:\.\d{1,6}){1,4}(?:[-_.]?(?:rc|a|b|alpha|beta|dev|pre|post)"
    r"[-_.]?\d{0,8})?)(?:-\d{1,2})?"
)
_LONGEST_TAG = 100
_RELEASE = regex(r"v?\d{1,6}(?:\.\d{1,6}){1,4}(?:[-.]?post\d{1,3})?(?:\+[\w.]{1,40})?")
_DEVELOPED = regex(r"(?<![\d.])(?P<v>\d{1,4}(?:\.\d{1,4}){1,2})[-.]?(?:dev|rc)\d")


def gate(version: str, line: int | None, text: str, releases: Sequence[Release], at: float = math.inf) -> Sign | None:
    """Whether a version was the newest release, or an older one.

    Args:
        line: Where the report states it.
        text: The report. One that names the newest release beside an older one is about both, or neither; and so is
            one that names a later build.
        at: When the report was filed, Unix time in seconds.
    """
    if not _RELEASE.fullmatch(version):
        return None
    out = main_line([one for one in releases if one.published_at <= at and not one.prerelease])
    stated = Version(version.partition("+")[0])
    newest = max(out, default=stated)
    if newest not in out or stated > newest or _names_later_build(text, stated):
        return None
    if stated == newest:
        return Sign(name="affects-latest", says=f"States {version}, the newest release.", line=line)
    length = len(stated.release)
    same = [one for one in out if one == stated or one.release[:length] == stated.release]
    # The newest may be 2.3.1 where 2.3 is stated; and a release of an older line may be the later one.
    if not same or newest in same or max(map(out.__getitem__, same)) > out[newest] or _names(text, newest):
        return None
    return Sign(name="old-version", says=f"States {version}; {newest} was out.", line=line)


def _names(text: str, version: Version) -> bool:
    post = rf"[-.\s]?post\s?{version.post}" if version.post is not None else ""
    short = re.escape(".".join(map(str, version.release))).removesuffix(r"\.0")
    return re.search(rf"(?<![\d.]){short}(?:\.0)?{post}(?![\d]|\.[1-9])", text) is not None


def _names_later_build(text: str, stated: Version) -> bool:
    built = (Version(one["v"]) for one in _DEVELOPED.finditer(text))
    return any(one > stated and one.major == stated.major for one in built)


def main_line(releases: Sequence[Release]) -> dict[Version, float]:
    """The stable versions of the line with the most releases, and when each was published."""
    lines: dict[str, dict[Version, float]] = defaultdict(dict)
    for one in releases:
        line, version = _tagged(one.tag)
        if version is not None:
            lines[line][version] = one.published_at
    return max(lines.values(), key=len, default={})


def version_of(tag: str) -> Version | None:
    """The stable version that a tag or a milestone names; None for any other text."""
    return _tagged(tag)[1]


def _tagged(tag: str) -> tuple[str, Version | None]:
    """Line of releases, in lower case, and the stable version, if it is one."""
    found = _TAG.fullmatch(tag) if len(tag) <= _LONGEST_TAG else None
    try:
        version = Version(found["number"].replace("_", ".")) if found is not None else None
    except InvalidVersion:
        version = None
    if found is None or version is None or version.is_prerelease:
        return "", None
    return (found["line"] or "").lower(), version
