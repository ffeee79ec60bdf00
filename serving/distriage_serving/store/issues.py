"""Issues as last seen on GitHub, and their list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

from sqlalchemy import ColumnElement, Table, and_, case, delete, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.orm import defer

from distriage.base.references import IssueReference
from distriage_serving.store.acts import is_assigned_here, is_assigning
from distriage_serving.store.columns import report_digest
from distriage_serving.store.database import Database, insert_for
from distriage_serving.store.paging import IssueFilter, Page, Sort, cursor, in_order, in_part
from distriage_serving.store.past import PastState, note_past_state
from distriage_serving.store.priority import unread_priority
from distriage_serving.store.schema import NOBODY_WAITS, Issue, Lifecycle, Review, StoredVerdict, values_of

_TOLD_BY_A_LOOK: Final = ("title", "body", "author", "url", "labels", "issue_type", "created_at", "digest", "looked_at")
_TOLD_BY_EVENTS: Final = ("state", "comments", "waits_since", "updated_at")  # too


@cache
def _save(dialect: str) -> Insert:
    """The statement that stores an issue, without its values; made once, which takes longer than to run it."""
    new = insert_for(dialect, cast(Table, Issue.__table__))
    table, told = Issue.__table__.c, new.excluded
    changes: dict[str, ColumnElement[Any]] = {name: told[name] for name in _TOLD_BY_A_LOOK}
    heard_since = and_(Issue.updated_at > told.updated_at, Issue.state != "deleted")
    changes |= {name: case((heard_since, table[name]), else_=told[name]) for name in _TOLD_BY_EVENTS}
    changes["assignee"] = case((heard_since, Issue.assignee), else_=_assignee(told.assignee))
    key = [Issue.repository, Issue.number]
    where = or_(Issue.looked_at <= told.updated_at, Issue.state == "deleted")
    return new.on_conflict_do_update(index_elements=key, set_=changes, where=where)


def _assignee(on_github: ColumnElement[str]) -> ColumnElement[str]:
    """Who takes an issue, by what GitHub says, unless GitHub is about to be told otherwise, or never is."""
    only_here = and_(on_github == "", is_assigned_here())
    return case((or_(is_assigning(), only_here), Issue.assignee), else_=on_github)


@dataclass(frozen=True, slots=True)
class Wait:
    """How long an issue waited to be triaged.

    Attributes:
        filed_at: When it was filed.
        decided_at: A person's first standing decision; None before it.
        left_at: When it left the queue: decided as a whole, or no longer open on GitHub; None while it waits.
    """

    filed_at: float
    decided_at: float | None
    left_at: float | None


class Issues(Database):
    """The store's part for issues."""

    def save_issue(self, issue: Issue) -> None:
        """Insert an issue, or update it from GitHub; a view older than the last one changes nothing, unless
        that one is deleted: of a repository's deletion may be heard late. What events told since stands. One filed
        later takes the place of the one stored and its verdicts: its repository was deleted and made anew.
        """
        values = {
            **values_of(issue),
            "digest": report_digest(issue.title, issue.body),
            "priority": unread_priority(issue.created_at),
            "waits_since": issue.waits_since or issue.created_at,
            "looked_at": issue.updated_at,
        }
        earlier = delete(Issue).where(*_is(issue.reference), Issue.created_at < issue.created_at)
        with self._session(writes=True) as session:
            session.execute(earlier.execution_options(synchronize_session=False))
            session.execute(_save(session.get_bind().dialect.name), values)

    def set_state(self, reference: IssueReference, state: Lifecycle, updated_at: float, reason: str = "") -> bool:
        """Note an issue's state on GitHub, also of a past issue.

        Args:
            updated_at: The issue's, from the event. An event older than the stored state changes nothing, unless the
                issue is gone for good; what is gone counts as changed now, since GitHub leaves its own time as it was.
            reason: GitHub's for closing it, or empty.

        Returns:
            False if the issue is unknown, or its stored state is newer.
        """
        this, at = update(Issue).where(*_is(reference)), updated_at
        if state in {"open", "closed"}:
            this = this.where(Issue.updated_at <= updated_at, Issue.state.in_(("open", "closed")))
        else:
            at = max(updated_at, self.clock())
        newest = case((Issue.updated_at > at, Issue.updated_at), else_=at)
        with self._session(writes=True) as session:
            note_past_state(session, PastState(reference, state, updated_at, reason))  # first: locks in one order
            return session.scalar(this.values(state=state, updated_at=newest).returning(Issue.number)) is not None

    def note_thread(
        self,
        reference: IssueReference,
        comments: int,
        updated_at: float,
        waits_since: float | None = None,
        state: Lifecycle = "open",
        assignee: str | None = None,
    ) -> None:
        """Note how many comments an issue has, and who takes it; an older view changes nothing.

        Args:
            state: In this view. Where it is another than the stored one, nothing changes either: the event of that
                change is still under way, and must not look like an older one.
            waits_since: When the author, who was not waiting, began to wait; `NOBODY_WAITS`: a maintainer spoke; None:
                neither spoke.
            assignee: A login; empty: nobody; None: not told.
        """
        values: dict[str, object] = {"comments": comments, "updated_at": updated_at}
        if assignee is not None:
            values["assignee"] = _assignee(literal(assignee.lower()))
        if waits_since == NOBODY_WAITS:
            values["waits_since"] = NOBODY_WAITS
        elif waits_since is not None:
            values["waits_since"] = case((Issue.waits_since == NOBODY_WAITS, waits_since), else_=Issue.waits_since)
        this = update(Issue).where(*_is(reference), Issue.updated_at <= updated_at, Issue.state == state)
        self._write(this.values(values))

    def hold(self, reference: IssueReference, *, held: bool) -> None:
        """Note whether an issue's labels wait until the repository's configuration is repaired."""
        self._write(update(Issue).where(*_is(reference)).values(held=held))

    def held_issues(self, repository: str) -> list[IssueReference]:
        """The issues of a repository that wait until its configuration is repaired."""
        wanted = select(Issue.number).where(Issue.repository == repository, Issue.held).order_by(Issue.number)
        with self._session(writes=False) as session:
            return [IssueReference(repository, number) for number in session.scalars(wanted)]

    def issue_states(self, repository: str) -> dict[int, tuple[Lifecycle, float, str, int]]:
        """Number -> (state, `updated_at`, digest, comments) of all issues of a repository."""
        wanted = select(Issue.number, Issue.state, Issue.updated_at, Issue.digest, Issue.comments)
        wanted = wanted.where(Issue.repository == repository)
        with self._session(writes=False) as session:
            return {number: (state, at, digest, count) for number, state, at, digest, count in session.execute(wanted)}

    def get_issue(self, repository: str, number: int, *, lock: bool = False) -> Issue | None:
        """The whole issue, if known.

        Args:
            lock: Until the transaction ends, no other may change its record.
        """
        wanted = select(Issue).where(Issue.repository == repository, Issue.number == number)
        with self._session(writes=lock) as session:
            return session.scalar(wanted.with_for_update(key_share=True) if lock else wanted)

    def list_issues(
        self,
        filtered: IssueFilter | None = None,
        sort: Sort = "priority",
        after: str | None = None,
        limit: int = 50,
        *,
        counted: bool = False,
    ) -> Page:
        """A part of the list of issues, one read of an index.

        Args:
            sort: `priority`: most in need of a person first; `newest`, `oldest`: by creation; `waiting`: whose author
                waits the longest first.
            after: `Page.next` of the previous part.
            counted: Count the whole list in the same read, which then does not end early.

        Raises:
            InputError: `after` is not a cursor of this order.
        """
        count: ColumnElement[int | None] = literal(None)
        conditions = (filtered or IssueFilter()).conditions()
        if counted:
            part = in_part(conditions, sort, after, limit + 1).subquery()
            conditions, count = [Issue.repository == part.c.repository, Issue.number == part.c.number], part.c.count
        joined = (
            select(Issue, StoredVerdict, count)
            .outerjoin(StoredVerdict, StoredVerdict.id == Issue.verdict_id)
            .options(defer(Issue.body))
        )
        wanted = in_order(joined.where(*conditions), sort, after).limit(limit + 1)
        with self._session(writes=False) as session:
            rows = session.execute(wanted).all()
        items: list[tuple[Issue, StoredVerdict | None]] = [(issue, stored) for issue, stored, _ in rows[:limit]]
        total = (rows[0][2] if rows else 0) if counted else None
        return Page(items, cursor(items[-1][0], sort) if len(rows) > limit else None, total)

    def neighbours(
        self, issue: Issue, filtered: IssueFilter | None = None, sort: Sort = "priority"
    ) -> list[tuple[str, int] | None]:
        """Repository and number of an issue's neighbours in a list, to which it need not belong; None at an end."""
        query = select(Issue.repository, Issue.number).where(*(filtered or IssueFilter()).conditions()).limit(1)
        with self._session(writes=False) as session:
            rows = [
                session.execute(in_order(query, sort, cursor(issue, sort), backwards=backwards)).first()
                for backwards in (True, False)
            ]
        return [None if row is None else (row[0], row[1]) for row in rows]

    def place_in_list(self, issue: Issue, filtered: IssueFilter, sort: Sort = "priority") -> tuple[int, int] | None:
        """An issue's place in a list, from 1, and the list's length; None if it does not belong to it."""
        listed = select(func.count()).select_from(Issue).where(*filtered.conditions())
        ahead = in_order(listed, sort, cursor(issue, sort), backwards=True).order_by(None)
        counts = (ahead, listed, listed.where(*_is(issue.reference)))
        with self._session(writes=False) as session:
            before, count, here = session.execute(select(*(each.scalar_subquery() for each in counts))).one()
        return (before + 1, count) if here else None

    def waits(self, since: float, repositories: Collection[str] | None = None) -> list[Wait]:
        """The issues that waited for a person at some time since then, or were decided since.

        When an issue was closed on GitHub is not stored: it counts as waiting until its last known change.

        Args:
            repositories: Only of these; of all if None.
        """
        review = (Review.repository == Issue.repository) & (Review.number == Issue.number)
        stands = Review.undone_at.is_(None) & (Review.at >= Issue.created_at)
        decided_at = func.min(Review.at)
        wanted = (
            select(Issue.created_at, Issue.updated_at, Issue.state, Issue.status, decided_at)
            .outerjoin(Review, review & stands)
            .group_by(Issue.repository, Issue.number)
            .having(or_(Issue.state == "open", Issue.updated_at >= since, decided_at >= since))
        )
        if repositories is not None:
            wanted = wanted.where(Issue.repository.in_(list(repositories)))
        found = []
        with self._session(writes=False) as session:
            for filed_at, updated_at, state, status, first_at in session.execute(wanted):
                left = first_at if status != "open" else None  # one axis decided in a comment leaves it in the queue
                ends = [at for at in (left, updated_at if state != "open" else None) if at is not None]
                found.append(Wait(filed_at, first_at, min(ends, default=None)))
        return found

    def count_issues(self, filtered: IssueFilter | None = None) -> int:
        """How many there are."""
        return self.count_each([filtered or IssueFilter()])[0]

    def count_each(self, filters: Sequence[IssueFilter]) -> list[int]:
        """How many there are by each of these filters."""
        counts = (select(func.count()).select_from(Issue).where(*each.conditions()) for each in filters)
        with self._session(writes=False) as session:
            return list(session.execute(select(*(count.scalar_subquery() for count in counts))).one())


def _is(reference: IssueReference) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return Issue.repository == reference.repository, Issue.number == reference.number
