"""A maintainer's comment or a merged change -> the issues that it settles. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from distriage.base.references import IssueReference
from distriage_serving.github.timeline import MAINTAINERS

MOST_CLOSED: Final = 20  # by one change
# https://docs.github.com/en/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
_CLOSES: Final = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? #(\d{1,18})\b", re.I | re.ASCII)
_DUPLICATE: Final = re.compile(r"^duplicate of #(\d{1,18})\s{0,9}$", re.I | re.M | re.ASCII)


@dataclass(frozen=True, slots=True)
class Settled:
    """Issues of a repository that a change fixes, or that duplicate another.

    Attributes:
        by: As `PastIssue.closed_by`.
    """

    repository: str
    numbers: frozenset[int]
    by: str


def settled(payload: Mapping[str, Any], thread: IssueReference) -> Settled | None:
    """The issues that a delivery about an issue or a pull request settles, if any."""
    match payload:
        case {"action": "created", "comment": {"author_association": str(role), "body": str(body)}}:
            original = _DUPLICATE.search(body) if role in MAINTAINERS else None
            if original is not None:
                return Settled(thread.repository, frozenset({thread.number}), f"duplicate of #{original[1]}")
        case {
            "action": "closed",
            "pull_request": {"merged": True, "body": str(body), "base": {"ref": branch}},
            "repository": {"default_branch": default},
        } if branch == default:
            fixed = frozenset(int(one[1]) for one in islice(_CLOSES.finditer(body), MOST_CLOSED))
            return Settled(thread.repository, fixed, f"#{thread.number}") if fixed else None
    return None
