"""The tabs of the list: views with their counts. Reads the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from distriage_serving.queue.listing import Filters, list_href
from distriage_serving.queue.visit import Visit

# Name -> filters of its address. A new view is a row here.
VIEWS: Final[Mapping[str, Mapping[str, str]]] = {
    "Waiting": {},
    "Mine": {"assigned": "me"},
    "Snoozed": {"status": "snoozed"},
    "Suggested": {"decision": "suggested"},
}


@dataclass(frozen=True, slots=True)
class Tab:
    """A view, as the page links to it."""

    name: str
    href: str
    count: int
    is_current: bool


def tabs(visit: Visit, filters: Filters) -> list[Tab]:
    """All views, each within the chosen repository and in the chosen order."""
    kept = {key: value for key, value in filters.chosen.items() if key in {"repository", "order"}}
    views = {name: Filters({**kept, **view}) for name, view in VIEWS.items()}
    counts = visit.store.count_each([visit.issue_filter(view) for view in views.values()])
    return [
        Tab(name, list_href(view.query), count, view.chosen == filters.chosen)
        for (name, view), count in zip(views.items(), counts, strict=True)
    ]
