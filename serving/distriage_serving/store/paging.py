"""Lists of issues: filters, orders, and cursors for paging by key. Pure."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVarTuple

from sqlalchemy import ColumnElement, Select, Text, UnaryExpression, exists, func, or_, select, tuple_, type_coerce
from sqlalchemy.orm import InstrumentedAttribute

from distriage.answer.feedback import OWN_AXIS, own_axis
from distriage.base.errors import InputError
from distriage_serving.store.acts import is_asked, is_hidden, is_refused, is_snoozed
from distriage_serving.store.columns import InLowerCase, storable
from distriage_serving.store.priority import readers_differ
from distriage_serving.store.schema import (
    NOBODY_WAITS,
    SIGN_AXIS,
    Issue,
    IssueStatus,
    Lifecycle,
    Repository,
    StoredVerdict,
    VerdictAxis,
)
from distriage_serving.store.work.suggested import has_suggestion

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
_ANSWERED: Final = Issue.waits_since > Issue.created_at
_LEFT: Final = select(Repository.name).where(Repository.enabled.is_(False))


@dataclass(frozen=True, slots=True)
class IssueFilter:
    """Conditions on issues; all must hold.

    Attributes:
        repositories: All if None; none if empty.
        labels: Axis -> standing label, or several of which one stands: a person's decision, else that of the latest
            verdict. Empty: none of them fits, or the axis does not apply.
        own: A label of the repository's own that stands here or on GitHub.
        sign: In the latest verdict.
        outcome: Of at least one undecided axis of the latest verdict: `apply`, `suggest`, `abstain`, `not-applicable`.
        differ: Two readers of the report differ.
        suggested: A suggestion waits on GitHub.
        author, assignee: Logins, in any case; an empty assignee: nobody.
        state: On GitHub, as far as the App sees it: none of a repository that it left. Any, there too, if None.
        awake_at: Neither snoozed at this time, nor about to be closed, nor waiting for its author.
        asked: It waits for its author.
        refused: GitHub refused a person's act or a label on it.
        needs_answer: Its author had the last word after a maintainer's, as far as is known.
        unchanged_since: Neither filed nor changed after this time.
        words: Each occurs in the title or the body; ignores the case of ASCII letters.
    """

    repositories: Collection[str] | None = None
    labels: Mapping[str, str | Collection[str]] = field(default_factory=dict)
    own: str | None = None
    sign: str | None = None
    outcome: str | None = None
    differ: bool = False
    suggested: bool = False
    author: str | None = None
    assignee: str | None = None
    status: IssueStatus | None = "open"
    state: Lifecycle | None = "open"
    awake_at: float | None = None
    snoozed_at: float | None = None
    asked: bool = False
    refused: bool = False
    needs_answer: bool = False
    number: int | None = None
    unchanged_since: float | None = None
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
            wanted += [Issue.state == self.state, Issue.repository.not_in(_LEFT)]
        said = VerdictAxis.verdict_id == Issue.verdict_id
        for axis, label in self.labels.items():
            of_axis = [label] if isinstance(label, str) else list(label)
            wanted.append(exists().where(said, VerdictAxis.axis == axis, VerdictAxis.standing.in_(of_axis)))
        if self.own is not None:
            of_label = VerdictAxis.axis == own_axis(self.own), VerdictAxis.standing == self.own
            there = type_coerce(Issue.labels, Text).icontains(json.dumps(self.own), autoescape=True)
            wanted.append(exists().where(said, *of_label) | there)
        if self.sign is not None:
            these = select(VerdictAxis.verdict_id).where(VerdictAxis.axis == SIGN_AXIS + self.sign)  # rare: read once
            wanted.append(Issue.verdict_id.in_(these))
        if self.outcome is not None:
            undecided = ~VerdictAxis.decided, ~VerdictAxis.axis.startswith(OWN_AXIS)
            wanted.append(exists().where(said, VerdictAxis.outcome == self.outcome, *undecided))
        if self.differ:
            wanted.append(readers_differ(Issue.priority))
        if self.suggested:
            wanted.append(has_suggestion())
        if self.author is not None:
            wanted.append(func.lower(Issue.author) == self.author.lower())
        if self.assignee is not None:
            wanted.append(Issue.assignee == self.assignee.lower())
        if self.unchanged_since is not None:
            wanted += [Issue.created_at <= self.unchanged_since, Issue.updated_at <= self.unchanged_since]
        if self.awake_at is not None:
            wanted.append(~is_hidden(self.awake_at))
        if self.snoozed_at is not None:
            wanted.append(is_snoozed(self.snoozed_at))
        if self.asked:
            wanted.append(is_asked())
        if self.refused:
            wanted.append(is_refused())
        if self.needs_answer:
            wanted += [_ANSWERED, Issue.waits_since < NOBODY_WAITS]
        if self.number is not None:
            wanted.append(Issue.number == self.number)
        wanted += [
            or_(
                *(
                    InLowerCase(text).contains(InLowerCase.of(word), autoescape=True)
                    for text in (Issue.title, Issue.body)
                )
            )
            for word in self.words
        ]
        return wanted


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list.

    Attributes:
        items: Issues without their bodies, each with its latest verdict.
        next: Cursor of the next part; None after the last.
        count: The whole list's if that was asked for; 0 if the part is empty.
    """

    items: list[tuple[Issue, StoredVerdict | None]]
    next: str | None
    count: int | None = None


def in_order(
    query: Select[*Columns],
    sort: Sort,
    after: str | None,
    *,
    backwards: bool = False,
    columns: Iterable[ColumnElement[Any]] = (),
) -> Select[*Columns]:
    """Sort by key, and start after a cursor.

    Args:
        backwards: From the end of the list, or from the cursor back to its beginning, the nearest first.
        columns: The sort key in the query, if it is not that of `Issue`.

    Raises:
        InputError: the cursor is not one of this order.
    """
    key: tuple[Any, ...] = tuple(columns) or _key(sort)
    ascending = (sort in ASCENDING) != backwards
    if after is not None:
        place = tuple_(*_read_cursor(after, sort))
        query = query.where(tuple_(*key) > place if ascending else tuple_(*key) < place)
    order: list[UnaryExpression[Any]] = [column.asc() if ascending else column.desc() for column in key]
    return query.order_by(*order)


def in_part(
    conditions: Sequence[ColumnElement[bool]], sort: Sort, after: str | None, limit: int
) -> Select[tuple[str, int, int]]:
    """Repository and number of a part's issues, each with the count of all that fulfil the conditions.

    These are looked for once: with the count as a window, PostgreSQL would plan as if it could end after the part.
    """
    found = select(*_key(sort)).where(*conditions).cte("found").prefix_with("MATERIALIZED")
    _, *issue = found.c
    count = select(func.count()).select_from(found).scalar_subquery().label("count")
    return in_order(select(*issue, count), sort, after, columns=found.c).limit(limit)


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
