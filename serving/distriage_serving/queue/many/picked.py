"""The issues that a form of the list selects: by their boxes, or all that match the filters. Reads the store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from distriage.base.references import IssueReference
from distriage_serving.queue.decisions import Target, read_target
from distriage_serving.queue.history import decided_so_far
from distriage_serving.queue.listing import read_number
from distriage_serving.queue.login.sessions import Fields
from distriage_serving.queue.visit import Visit
from distriage_serving.store import StoredVerdict
from distriage_serving.web.problem import ProblemError

MAX_BULK: Final = 2000
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Picked:
    """A selection.

    Attributes:
        count: Issues that the person meant to select.
        issues: Those of them that are there.
        current: Issues whose verdict is still the one seen, with it.
        last: Name of the last row of a selection by boxes.
        is_whole: All that match the filters; the person may have seen none of their rows.
    """

    count: int
    issues: Sequence[IssueReference]
    current: Sequence[tuple[Target, StoredVerdict]]
    last: str | None = None
    is_whole: bool = False


def pick(visit: Visit, fields: Fields) -> Picked:
    """Read the selection of a form.

    Raises:
        ProblemError: malformed, or too many boxes (400).
    """
    if "all" in fields:
        return _all_that_match(visit, fields)
    keys = list(dict.fromkeys(fields.get("issue", [])))
    if len(keys) > MAX_BULK:
        raise ProblemError(400, "bad-request", f"expected at most {MAX_BULK:,} issues")
    targets = [read_target(key) for key in keys]
    current = [(target, stored) for target in targets if (stored := visit.decisions.current(target)) is not None]
    issues = [IssueReference(target.repository, target.number) for target in targets]
    return Picked(len(keys), issues, current, str(issues[-1]) if issues else None)


def _all_that_match(visit: Visit, fields: Fields) -> Picked:
    """As many as the page counted, and no issue that came or changed since."""
    try:
        shown_at = float(fields.get("shown-at", [""])[0])
    except ValueError:
        shown_at = math.nan
    count = read_number(fields["all"][0])
    if count is None or not math.isfinite(shown_at):
        raise ProblemError(400, "bad-request", "all, shown-at: expected the page's own")
    filters = visit.sent(fields)
    wanted = replace(visit.issue_filter(filters), unchanged_since=shown_at)
    found: list[tuple[IssueReference, StoredVerdict | None]] = []
    after: str | None = None
    while len(found) < (most := min(count, MAX_BULK)):
        page = visit.store.list_issues(wanted, filters.sort, after, min(_AT_ONCE, most - len(found)))
        found += [(issue.reference, stored) for issue, stored in page.items]
        if (after := page.next) is None:
            break
    issues = [issue for issue, _ in found]
    reviews = visit.store.reviews_of([(issue.repository, issue.number) for issue in issues])
    current = []
    for _, stored in found:
        if stored is not None:
            decided = decided_so_far(reviews.get((stored.repository, stored.number), ()))
            current.append((Target(stored.repository, stored.number, stored.id, decided), stored))
    return Picked(min(count, MAX_BULK), issues, current, is_whole=True)
