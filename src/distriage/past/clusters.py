"""Open issues of one cause, gathered. Pure.

An issue joins the oldest one with the same signature, filed at most `DAYS` before it, whose vector is near. So all are
near to one, and no chain drifts. The figures are in training/LOG.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distriage.past.issue import PastIssue
from distriage.past.words import Floats

NEAR = 0.8  # cosine of the encoder's vectors
DAYS = 180
_DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Issues of one cause, two of them open at least.

    Attributes:
        open, closed: The oldest first.
    """

    open: Sequence[PastIssue]
    closed: Sequence[PastIssue]

    @property
    def reactions(self) -> int:
        """The sum over the open ones."""
        return sum(issue.reactions for issue in self.open)

    @property
    def filed(self) -> tuple[float, float]:
        """When the first and the last open one were filed, Unix time in seconds; 0 if unknown."""
        return self.open[0].filed_at, self.open[-1].filed_at

    @property
    def version(self) -> str:
        """The latest one that an open issue states, or empty."""
        from packaging.version import InvalidVersion, Version  # slow to import

        found: dict[Version, str] = {}
        for issue in self.open:
            try:
                found[Version(issue.version)] = issue.version
            except InvalidVersion:
                continue
        return found[max(found)] if found else ""

    @property
    def as_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "open": [issue.id for issue in self.open],
            "closed": [issue.id for issue in self.closed],
            "title": self.open[0].title,
            "filed_at": self.filed,
            "version": self.version,
            "reactions": self.reactions,
        }


def clusters(issues: Sequence[PastIssue], vectors: Floats) -> list[Cluster]:
    """Clusters of issues: those with most open issues first, then with most reactions, then the oldest.

    Args:
        vectors: The encoder's, of length 1, [issues, width]; none, if the model lacks them.
    """
    of_message = defaultdict[str, list[int]](list)
    for row in sorted(range(len(issues) if vectors.size else 0), key=lambda row: (issues[row].filed_at, row)):
        if message := issues[row].signature.partition(":")[0]:
            of_message[message].append(row)
    found = []
    for rows in of_message.values():
        for gathered in _gathered(rows, issues, vectors):
            members = [issues[row] for row in gathered]
            still = [issue for issue in members if issue.state != "closed"]
            if len(still) > 1:
                found.append(Cluster(still, [issue for issue in members if issue.state == "closed"]))
    return sorted(found, key=lambda one: (-len(one.open), -one.reactions, one.open[0].filed_at))


def _gathered(rows: Sequence[int], issues: Sequence[PastIssue], vectors: Floats) -> list[list[int]]:
    """Rows of one message, by time -> those that belong together."""
    gathered: list[list[int]] = []
    for row in rows:
        since = issues[row].filed_at - DAYS * _DAY_S
        late = [one for one in gathered if issues[one[0]].filed_at >= since]
        cosines = vectors[[one[0] for one in late]] @ vectors[row] if late else np.zeros(0)
        near = (one for one, cosine in zip(late, cosines, strict=True) if cosine >= NEAR)
        home = next((one for one in near if _has_one_frame(issues[one[0]], issues[row])), None)
        if home is None:
            gathered.append([row])
        else:
            home.append(row)
    return gathered


def _has_one_frame(first: PastIssue, other: PastIssue) -> bool:
    """Whether both were raised at one place, as far as both show it."""
    frames = {issue.signature.partition(":")[2] for issue in (first, other)} - {""}
    return len(frames) < 2
