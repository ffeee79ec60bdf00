"""What people do with an issue in the queue beside deciding axes: close it, mark it as a duplicate, snooze it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import ColumnElement, Index, exists, select, update
from sqlalchemy.orm import Mapped, mapped_column

from distriage.base.references import IssueReference
from distriage_serving.store.database import Database
from distriage_serving.store.schema import Base, Issue, Name, Number

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
            session.execute(update(Act).where(Act.id == act.id).values(carried_out=carried_out))


def of_this_issue(table: type[Any]) -> ColumnElement[bool]:
    """For WHERE on what was done with issues: not with an earlier one of its number, in a repository deleted since."""
    this = (Issue.repository == table.repository, Issue.number == table.number)
    return ~exists().where(*this, Issue.created_at > table.at)


def is_snoozed(now: float) -> ColumnElement[bool]:
    """For WHERE on `issues`: the issue is out of the list at this time."""
    this = (Act.repository == Issue.repository, Act.number == Issue.number, Act.at >= Issue.created_at)
    return exists().where(*this, Act.what == SNOOZE, Act.undone_at.is_(None), Act.until > now)
