"""What people do with an issue in the queue beside deciding axes: close it, mark it as a duplicate, snooze it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlalchemy import ColumnElement, Index, exists, func, select, tuple_, update
from sqlalchemy.orm import Mapped, mapped_column

from distriage.base.references import IssueReference
from distriage_serving.store.database import Database
from distriage_serving.store.schema import Base, Issue, Name, Number, Review

SNOOZE: Final = "snooze"


class Act(Base):
    """One such act.

    Attributes:
        what: `duplicate`, `completed` and `not_planned` close the issue, with this reason on GitHub; or `snooze`.
        who: GitHub login, or `admin:NAME`.
        duplicate_of: Number of the issue that it is the same as.
        until: A snoozed issue is out of the list until then.
        undone_at: None: it stands.
        carried_out: GitHub shows it.
        refused: Why GitHub refused the act, or that it is taken back; None: it did not.
    """

    __tablename__ = "acts"
    __table_args__ = (
        Index("acts_issue", "repository", "number"),
        Index("acts_who", "who", "at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Number] = mapped_column(init=False)
    repository: Mapped[Name]
    number: Mapped[int]
    what: Mapped[str]
    who: Mapped[str]
    at: Mapped[float]
    duplicate_of: Mapped[int | None] = mapped_column(default=None)
    until: Mapped[float | None] = mapped_column(default=None)
    undone_at: Mapped[float | None] = mapped_column(init=False, default=None)
    carried_out: Mapped[bool] = mapped_column(init=False, default=False)
    refused: Mapped[str | None] = mapped_column(init=False, default=None)

    @property
    def is_pending(self) -> bool:
        """GitHub does not show yet that it was done, or taken back, and did not refuse it."""
        return self.what != SNOOZE and self.refused is None and self.carried_out == (self.undone_at is not None)

    @property
    def reference(self) -> IssueReference:
        """Of which issue."""
        return IssueReference(self.repository, self.number)


class Acts(Database):
    """The store's part for acts. What was done before an issue was filed was done to an earlier one of its number, in
    a repository that was deleted since.
    """

    def add_act(self, act: Act) -> None:
        """Store an act."""
        with self._session(writes=True) as session:
            session.add(act)

    def acts(self, issue: IssueReference) -> list[Act]:
        """All acts on an issue, undone ones too, the newest first."""
        wanted = select(Act).where(Act.repository == issue.repository, Act.number == issue.number)
        with self._session(writes=False) as session:
            return list(session.scalars(wanted.where(of_this_issue(Act)).order_by(Act.id.desc())))

    def last_act(
        self, who: str, since: float, repositories: Collection[str] | None = None, at: float | None = None
    ) -> Act | None:
        """A person's newest act since then that stands.

        Args:
            repositories: None: in any.
            at: Only one of this time; None: of any.
        """
        wanted = select(Act).where(Act.who == who, Act.at >= since, Act.undone_at.is_(None))
        if repositories is not None:
            wanted = wanted.where(Act.repository.in_(list(repositories)))
        if at is not None:
            wanted = wanted.where(Act.at == at)
        with self._session(writes=False) as session:
            return session.scalar(wanted.order_by(Act.at.desc(), Act.id.desc()).limit(1))

    def last_undone_act(self, who: str, since: float, repositories: Collection[str] | None = None) -> Act | None:
        """Of a person's acts that were taken back since then, the one that was last.

        Args:
            repositories: None: in any.
        """
        wanted = select(Act).where(Act.who == who, Act.undone_at >= since)
        if repositories is not None:
            wanted = wanted.where(Act.repository.in_(list(repositories)))
        with self._session(writes=False) as session:
            return session.scalar(wanted.order_by(Act.undone_at.desc(), Act.id.desc()).limit(1))

    def undo_act(self, act: Act) -> bool:
        """Take an act back.

        Returns:
            False: somebody has.
        """
        this = update(Act).where(Act.id == act.id, Act.undone_at.is_(None)).values(undone_at=self.clock())
        with self._session(writes=True) as session:
            return session.scalar(this.returning(Act.id)) is not None

    def note_act(self, act: Act, *, carried_out: bool) -> None:
        """Note whether GitHub shows an act."""
        with self._session(writes=True) as session:
            session.execute(update(Act).where(Act.id == act.id).values(carried_out=carried_out, refused=None))

    def refuse_acts(self, issue: IssueReference, why: str, before: float) -> None:
        """Note that GitHub carries out none of an issue's pending acts that were done, or taken back, before then."""
        this = Act.repository == issue.repository, Act.number == issue.number, _is_pending()
        these = update(Act).where(*this, func.coalesce(Act.undone_at, Act.at) <= before)
        with self._session(writes=True) as session:
            session.execute(these.values(refused=why))

    def refused_acts(self, issues: Collection[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Why GitHub refused the newest act on issues, (repository, number); the others are absent."""
        newest = select(func.max(Act.id)).where(
            Act.repository.in_({repository for repository, _ in issues}),
            tuple_(Act.repository, Act.number).in_(list(issues)),
            Act.what != SNOOZE,
            of_this_issue(Act),
        )
        wanted = select(Act).where(Act.id.in_(newest.group_by(Act.repository, Act.number)), Act.refused.is_not(None))
        with self._session(writes=False) as session:
            return {(act.repository, act.number): act.refused or "" for act in session.scalars(wanted)}


def of_this_issue(table: type[Act | Review]) -> ColumnElement[bool]:
    """For WHERE on `acts` or `reviews`: not of an earlier issue of its number, in a repository deleted since."""
    this = (Issue.repository == table.repository, Issue.number == table.number)
    return ~exists().where(*this, Issue.created_at > table.at)


def _is_pending() -> ColumnElement[bool]:
    """As `Act.is_pending`, for WHERE on `acts`."""
    return (Act.what != SNOOZE) & Act.refused.is_(None) & (Act.carried_out == Act.undone_at.is_not(None))


def is_closing() -> ColumnElement[bool]:
    """For WHERE on `issues`: somebody closed the issue in the queue, and GitHub has not answered yet."""
    this = (Act.repository == Issue.repository, Act.number == Issue.number, Act.at >= Issue.created_at)
    return exists().where(*this, Act.undone_at.is_(None), _is_pending())


def is_snoozed(now: float) -> ColumnElement[bool]:
    """For WHERE on `issues`: the issue is out of the list at this time."""
    this = (Act.repository == Issue.repository, Act.number == Issue.number, Act.at >= Issue.created_at)
    return exists().where(*this, Act.what == SNOOZE, Act.undone_at.is_(None), Act.until > now)
