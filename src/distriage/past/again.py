"""Whether a failure that was fixed is back: a report's version against the fix of a past issue. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from distriage.signs.gate import main_line, version_of

if TYPE_CHECKING:
    from distriage.github.releases import Release
    from distriage.past.issue import PastIssue

_NOT_FIXED = ("duplicate", "not_planned")  # GitHub's reasons, and `duplicate of #12`


def fixed_in(issue: PastIssue, releases: Sequence[Release]) -> str:
    """The release that probably has the fix: the milestone's, else the first one after the issue was closed; empty
    where unknown, or if it was closed without a fix."""
    if not _is_fixed(issue):
        return ""
    if (planned := version_of(issue.milestone)) is not None:
        return str(planned)
    since = {at: version for version, at in main_line(releases).items() if issue.closed_at and at >= issue.closed_at}
    return str(since[min(since)]) if since else ""


def is_back(issue: PastIssue, version: str, fix: str) -> bool:
    """Whether a report that states a version may be a regression of an issue.

    Args:
        fix: From `fixed_in`.
    """
    if not _is_fixed(issue):
        return False
    stated, before = _read(version), _read(fix or issue.version)
    return stated is not None and before is not None and (stated >= before if fix else stated > before)


def _is_fixed(issue: PastIssue) -> bool:
    return issue.state == "closed" and not issue.closed_by.lower().startswith(_NOT_FIXED)


def _read(version: str) -> Version | None:
    try:
        return Version(version.partition("+")[0])
    except InvalidVersion:
        return None
