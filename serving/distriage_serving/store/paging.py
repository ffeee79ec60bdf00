"""Lists of issues: filters, orders, and cursors for paging by key. Pure."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVarTuple

from sqlalchemy import ColumnElement, Select, UnaryExpression, exists, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from distriage.base.errors import InputError
from distriage_serving.store.acts import is_asked, is_closing, is_snoozed
from distriage_serving.store.columns import storable
from distriage_serving.store.schema import Issue, IssueStatus, Lifecycle, StoredVerdict, VerdictAxis

Sort = Literal["priority", "newest", "oldest", "waiting"]
ASCENDING: Final = frozenset({"oldest", "waiting"})
Columns = TypeVarTuple("Columns")
_MAX_INTEGER: Final = 2**63 - 1
_COLUMNS: Final[Mapping[Sort, str]] = {
    "priority": "priority",
    "newest": "created_at",
    "oldest": "created_at",
    "waiting": "waits_since",
}


@dataclass(frozen=True, slots=True)
class IssueFilter:
    """Conditions on issues; all must hold.

    Attributes:
        repositories: All if None; none if empty.
        labels: Axis -> standing label: a person's decision, else that of the latest verdict. Empty: none of them fits,
            or the axis does not apply.
        outcome: Of at least one undecided axis of the latest verdict: `apply`, `suggest`, `abstain`, `not-applicable`.
        state: On GitHub; any if None.
        awake_at: Neither snoozed at this time, nor about to be closed, nor waiting for its author.
        asked: It waits for its author.
        words: Each occurs in the title or the body; ignores the case of ASCII letters.
    """

    repositories: Collection[str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    outcome: str | None = None
    status: IssueStatus | None = "open"
    state: Lifecycle | None = "open"
    awake_at: float | None = None
    snoozed_at: float | None = None
    asked: bool = False
    number: int | None = None
    words: Sequence[str] = ()

    def conditions(self) -> list[ColumnElement[bool]]:
        """For WHERE on `issues`."""
        wanted: list[ColumnElement[bool]] = []
        if self.repositories is not None:
            names = list(self.repositories)
            wanted.append(Issue.repository == names[0] if len(names) == 1 else Issue.repository.in_(names))
        if self.status is not None:
            wanted.append(Issue.status == self.status)
        if self.state is not None:
            wanted.append(Issue.state == self.state)
        said = VerdictAxis.verdict_id == Issue.verdict_id
        wanted += [
            exists().where(said, VerdictAxis.axis == axis, VerdictAxis.standing == label)
            for axis, label in self.labels.items()
        ]
        if self.outcome is not None:
            wanted.append(exists().where(said, VerdictAxis.outcome == self.outcome, ~VerdictAxis.decided))
        if self.awake_at is not None:
            wanted += [~is_snoozed(self.awake_at), ~is_closing(), ~is_asked()]
        if self.snoozed_at is not None:
            wanted.append(is_snoozed(self.snoozed_at))
        if self.asked:
            wanted.append(is_asked())
        if self.number is not None:
            wanted.append(Issue.number == self.number)
        wanted += [
            Issue.title.icontains(word, autoescape=True) | Issue.body.icontains(word, autoescape=True)
            for word in self.words
        ]
        return wanted


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list.

    Attributes:
        items: Issues without their bodies, each with its latest verdict.
        next: Cursor of the next part; None after the last.
    """

    items: list[tuple[Issue, StoredVerdict | None]]
    next: str | None


def in_order(query: Select[*Columns], sort: Sort, after: str | None, *, backwards: bool = False) -> Select[*Columns]:
    """Sort by key, and start after a cursor.

    Args:
        backwards: From the end of the list, or from the cursor back to its beginning, the nearest first.

    Raises:
        InputError: the cursor is not one of this order.
    """
    key = _key(sort)
    ascending = (sort in ASCENDING) != backwards
    if after is not None:
        place = tuple_(*_read_cursor(after, sort))
        query = query.where(tuple_(*key) > place if ascending else tuple_(*key) < place)
    order: list[UnaryExpression[Any]] = [column.asc() if ascending else column.desc() for column in key]
    return query.order_by(*order)


def place_of(issue: Issue, sort: Sort) -> tuple[float, str, int]:
    """Sort key of an issue."""
    return getattr(issue, _COLUMNS[sort]), issue.repository, issue.number


def cursor(issue: Issue, sort: Sort) -> str:
    """Points behind an issue; letters, digits, `-` and `_`."""
    return base64.urlsafe_b64encode(json.dumps([sort, *place_of(issue, sort)]).encode()).decode().rstrip("=")


def _key(sort: Sort) -> tuple[InstrumentedAttribute[float], InstrumentedAttribute[str], InstrumentedAttribute[int]]:
    return (getattr(Issue, _COLUMNS[sort]), Issue.repository, Issue.number)


def _read_cursor(token: str, sort: Sort) -> tuple[float, str, int]:
    try:
        match json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))):
            case [str(order), float(value), str(repository), int(number)] if (
                order == sort
                and math.isfinite(value)
                and repository == storable(repository)
                and 0 <= number <= _MAX_INTEGER
            ):
                return value, repository, number
    except (ValueError, RecursionError):
        pass
    raise InputError(f"cursor {token[:80]!r}: expected the `next` of a page sorted by {sort!r}")
