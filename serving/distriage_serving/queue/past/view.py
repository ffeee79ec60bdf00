"""The past issues that are nearest to one, as the queue shows them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from distriage.base.references import web_link
from distriage.past.index import Match, PastIndex, PastQuery
from distriage.past.same import is_spoken_of
from distriage_serving.queue.listing import percent

NEAREST: Final = 5


@dataclass(frozen=True, slots=True)
class PastView:
    """One past issue; `same` is empty unless it is likely the same issue."""

    number: int
    url: str
    title: str
    state: str
    closed_by: str
    same: str


def nearest(index: PastIndex, query: PastQuery) -> list[PastView]:
    """The nearest past issues."""
    return [_view(match) for match in index.find(query, NEAREST)]


def _view(match: Match) -> PastView:
    issue = match.issue
    same = percent(match.same) if match.same is not None and is_spoken_of(match.same) else ""
    return PastView(issue.number, web_link(issue.url), issue.title, issue.state, issue.closed_by, same)
