"""The list: its tabs, which are views with their counts, and a part of it. Reads the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import QueryParams

from distriage.base.errors import InputError
from distriage_serving.queue.listing import Filters, list_href
from distriage_serving.queue.visit import Visit
from distriage_serving.store import ASCENDING, Issue, IssueFilter, Page, Sort, StoredVerdict, place_of
from distriage_serving.web.problem import ProblemError

REFUSED: Final = "Refused"  # shown only where something was
# Name -> filters of its address. A new view is a row here.
VIEWS: Final[Mapping[str, Mapping[str, str]]] = {
    "Waiting": {},
    "Mine": {"assigned": "me"},
    "Needs an answer": {"status": "needs-answer", "order": "waiting"},
    "Snoozed": {"status": "snoozed"},
    "Suggested": {"decision": "suggested"},
    "Regressions": {"sign": "regression"},
    REFUSED: {"status": "refused"},
}
PAGE_ISSUES: Final = 50
MOST_SHOWN: Final = 500  # to find the row that a person comes back to


@dataclass(frozen=True, slots=True)
class Tab:
    """A view, as the page links to it."""

    name: str
    href: str
    count: int
    is_current: bool


def tabs(visit: Visit, filters: Filters) -> list[Tab]:
    """All views, each within the chosen repository and in the chosen order, unless that is a view's own."""
    own = {view["order"] for view in VIEWS.values() if "order" in view and view.items() <= filters.chosen.items()}
    kept = {key: value for key, value in filters.chosen.items() if key in {"repository", "order"} and value not in own}
    views = {name: Filters({**kept, **view}) for name, view in VIEWS.items()}
    counts = visit.store.count_each([visit.issue_filter(view) for view in views.values()])
    return [
        Tab(name, list_href(view.query), count, view.chosen == filters.chosen)
        for (name, view), count in zip(views.items(), counts, strict=True)
        if name != REFUSED or count or view.chosen == filters.chosen
    ]


def part_of_list(
    visit: Visit, chosen: IssueFilter, sort: Sort, query: QueryParams, count: int | None
) -> tuple[Page, int | None]:
    """A part of the list with the count of all, given if known, and the row to return to: that of `at`, or the next."""
    left = visit.issue_at(query.get("at", ""))
    at = None if left is None else place_of(left, sort)
    after = query.get("after") if at is None else None

    def reached(issue: Issue) -> bool:
        place = place_of(issue, sort)
        return at is not None and (at <= place if sort in ASCENDING else at >= place)

    items: list[tuple[Issue, StoredVerdict | None]] = []
    try:
        while True:
            counted = count is None and bool(chosen.words)  # a search reads every report, so only once
            page = visit.store.list_issues(chosen, sort, after, PAGE_ISSUES, counted=counted)
            items += page.items
            after, count = page.next, page.count if counted else count
            place = next((row for row, (issue, _) in enumerate(items) if reached(issue)), None)
            if at is None or place is not None or after is None or len(items) >= MOST_SHOWN:
                if count is None:
                    count = visit.store.count_issues(chosen) if after or query.get("after") else len(items)
                return Page(items, after, count), place
    except InputError as error:
        raise ProblemError(400, "bad-request", str(error)) from None
