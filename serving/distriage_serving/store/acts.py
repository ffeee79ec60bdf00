"""Acts on an issue in the queue: close, mark as duplicate, snooze, assign, ask its author."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Index, Select, exists, func, or_, select, tuple_, union_all, update
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column

from distriage.base.references import IssueReference
from distriage_serving.store.database import Database
from distriage_serving.store.schema import Base, Issue, Name, Number, Review

SNOOZE: Final = "snooze"
ASSIGN: Final = "assign"
ASK: Final = "ask"
CLOSES: Final = ("duplicate", "completed", "not_planned")


class Act(Base):
    """One act in the queue.

    Attributes:
        what: `duplicate`, `completed` and `not_planned` close the issue, with this reason on GitHub; or `snooze`,
            `assign`, or `ask`: put a question to the author.
        who: GitHub login, or `admin:NAME`.
        duplicate_of: Number of the original issue.
        until: A snoozed issue is hidden from the list until then.
        assignee: The person who takes it: a login in lower case, or `admin:NAME`, which GitHub does not know.
        text: A question to the author, Markdown.
        answer, answered_at: The author's comments since, hostile Markdown, and the time of the last; None at first.
        carried_out: GitHub shows it.
        refused: Why GitHub refused the act or its reversal, if it did, or is not told of an assignee.
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
    assignee: Mapped[str | None] = mapped_column(default=None)
    text: Mapped[str | None] = mapped_column(default=None, repr=False)
    undone_at: Mapped[float | None] = mapped_column(init=False, default=None)
    carried_out: Mapped[bool] = mapped_column(init=False, default=False)
    refused: Mapped[str | None] = mapped_column(init=False, default=None)
    answer: Mapped[str | None] = mapped_column(init=False, default=None, repr=False)
    answered_at: Mapped[float | None] = mapped_column(init=False, default=None)

    @property
    def is_pending(self) -> bool:
        """GitHub does not show the act or its undoing yet, and did not refuse it."""
        return self.what != SNOOZE and self.refused is None and self.carried_out == (self.undone_at is not None)

    @property
    def is_refused(self) -> bool:
        """GitHub refused the act, which stands, or its undoing."""
        return self.refused is not None and (self.undone_at is None or self.carried_out)

    @property
    def awaits_answer(self) -> bool:
        """It is a question that stands, and its author has not answered."""
        return self.what == ASK and self.undone_at is None and self.refused is None and self.answered_at is None

    @property
    def reference(self) -> IssueReference:
        """Its issue."""
        return IssueReference(self.repository, self.number)


Row = TypeVar("Row", Act, Review)


class Acts(Database):
    """The store's part for acts. Acts older than an issue belong to a deleted repository of its name and do not
    count."""

    def add_act(self, act: Act) -> None:
        """Store an act."""
        with self._session(writes=True) as session:
            session.add(act)
            if act.what == ASSIGN:
                session.flush()
                _note_assignee(session, act)

    def acts(self, issue: IssueReference) -> list[Act]:
        """All acts on an issue, undone ones too, the newest first."""
        wanted = select(Act).where(Act.repository == issue.repository, Act.number == issue.number)
        return self._all(wanted.where(of_this_issue(Act)).order_by(Act.id.desc()))

    def last_acts(
        self,
        who: str,
        since: float,
        repositories: Collection[str] | None = None,
        at: float | None = None,
        *,
        undone: bool = False,
    ) -> list[Act]:
        """As `of_last_moment`: a person's newest acts."""
        return self._all(of_last_moment(Act, [Act.who == who], since, repositories, at, undone=undone))

    def undo_act(self, act: Act) -> bool:
        """Undo an act.

        Returns:
            False if it was undone already.
        """
        this = update(Act).where(Act.id == act.id, Act.undone_at.is_(None)).values(undone_at=self.clock())
        with self._session(writes=True) as session:
            undone = session.scalar(this.returning(Act.id)) is not None
            if undone and act.what == ASSIGN:
                _note_assignee(session, act)
            return undone

    def note_act(self, act: Act, *, carried_out: bool, refused: str | None = None) -> None:
        """Note whether GitHub shows an act, or why it refuses."""
        self._write(update(Act).where(Act.id == act.id).values(carried_out=carried_out, refused=refused))

    def refuse_acts(self, issue: IssueReference, why: str, before: float, *what: str) -> None:
        """Note that GitHub refuses an issue's pending acts and undos from before then.

        Args:
            what: Only such acts; all if none is given.
        """
        this = [Act.repository == issue.repository, Act.number == issue.number, _is_pending()]
        this += [Act.what.in_(what)] if what else []
        these = update(Act).where(*this, func.coalesce(Act.undone_at, Act.at) <= before)
        self._write(these.values(refused=why))

    def refused_acts(self, issues: Collection[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Why GitHub refused the newest question or closing on issues, (repository, number); the others are absent."""
        near = Act.repository.in_({repository for repository, _ in issues})
        wanted = select(Act).where(near, tuple_(Act.repository, Act.number).in_(list(issues)), *_newest_is_refused())
        with self._session(writes=False) as session:
            return {(act.repository, act.number): act.refused or "" for act in session.scalars(wanted)}

    def is_asked(self, issue: IssueReference) -> bool:
        """Whether a question to an issue's author stands on GitHub, answered before or not."""
        return any(act.what == ASK and act.carried_out and act.undone_at is None for act in self.acts(issue))

    def note_answer(self, act: Act, answer: str, at: float) -> None:
        """Note an author's answer."""
        self._write(update(Act).where(Act.id == act.id).values(answer=answer, answered_at=at))


def answer_of(acts: Sequence[Act]) -> str:
    """All that the author said since the first standing question, Markdown and hostile.

    Args:
        acts: One issue's, the newest first.
    """
    asked = (act for act in reversed(acts) if act.what == ASK and act.undone_at is None)
    return next((act.answer for act in asked if act.answer), "")


def of_last_moment(
    table: type[Row],
    these: list[ColumnElement[bool]],
    since: float,
    repositories: Collection[str] | None,
    at: float | None,
    *,
    undone: bool,
) -> Select[Row]:
    """The newest standing rows since then, all of one moment; or those of the moment that was undone last.

    Args:
        these: Conditions.
        repositories: Only in these; in all if None.
        at: Only those of this time.
    """
    changed_at = table.undone_at if undone else table.at
    wanted = select(table).where(*these, changed_at >= since)
    if not undone:
        wanted = wanted.where(table.undone_at.is_(None))
    if repositories is not None:
        wanted = wanted.where(table.repository.in_(list(repositories)))
    if at is not None:
        wanted = wanted.where(table.at == at)
    moment = wanted.with_only_columns(table.at).order_by(changed_at.desc()).limit(1).scalar_subquery()
    return wanted.where(table.at == moment).order_by(table.id)


@cache
def of_this_issue(table: type[Any]) -> ColumnElement[bool]:
    """For WHERE on acts: excludes those on an earlier issue of the same number, in a repository deleted since."""
    this = (Issue.repository == table.repository, Issue.number == table.number)
    return ~exists().where(*this, Issue.created_at > table.at)


def _is_pending() -> ColumnElement[bool]:
    """As `Act.is_pending`, for WHERE on `acts`."""
    return (Act.what != SNOOZE) & Act.refused.is_(None) & (Act.carried_out == Act.undone_at.is_not(None))


def is_assigning() -> ColumnElement[bool]:
    """For an issue's row: GitHub does not show a person's assignment, or its undoing, yet."""
    return exists().where(*_OF_ISSUE, Act.what == ASSIGN, _is_pending()).correlate(Issue)


def is_assigned_here() -> ColumnElement[bool]:
    """For an issue's row: a person assigned it in the queue, and GitHub does not show that."""
    this = Act.what == ASSIGN, Act.assignee == Issue.assignee, ~Act.carried_out
    return exists().where(*_ON_ISSUE, *this).correlate(Issue)


def is_refused() -> ColumnElement[bool]:
    """For WHERE on `issues`: GitHub refused its newest question or closing, or a change that follows from its verdict.

    Few are, so they are looked up first.
    """
    other = aliased(Issue)
    acts = select(Act.repository, Act.number).where(*_newest_is_refused())
    these = union_all(acts, select(other.repository, other.number).where(other.refused))
    return tuple_(Issue.repository, Issue.number).in_(these)


def _newest_is_refused() -> list[ColumnElement[bool]]:
    """As `Act.is_refused` of an issue's newest question or closing, for WHERE on `acts`."""
    newer, what = aliased(Act), (ASK, *CLOSES)
    same = newer.repository == Act.repository, newer.number == Act.number
    is_refused = Act.refused.is_not(None) & or_(Act.undone_at.is_(None), Act.carried_out)
    latest = ~exists().where(*same, newer.id > Act.id, newer.what.in_(what))
    return [is_refused, Act.what.in_(what), latest, of_this_issue(Act)]


def is_asked() -> ColumnElement[bool]:
    """For WHERE on `issues`: it waits for its author."""
    return exists().where(*_ON_ISSUE, _is_unanswered())


def is_snoozed(now: float) -> ColumnElement[bool]:
    """For WHERE on `issues`: it is out of the list until later than this time."""
    return exists().where(*_ON_ISSUE, Act.what == SNOOZE, Act.until > now)


def is_hidden(now: float) -> ColumnElement[bool]:
    """For WHERE on `issues`: snoozed, or closed in the queue and not yet on GitHub, or waiting for its author."""
    snoozed = (Act.what == SNOOZE) & (Act.until > now)
    return exists().where(*_ON_ISSUE, or_(snoozed, Act.what.in_(CLOSES) & _is_pending(), _is_unanswered()))


def _is_unanswered() -> ColumnElement[bool]:
    """As `Act.awaits_answer`, for WHERE on standing acts."""
    return (Act.what == ASK) & Act.refused.is_(None) & Act.answered_at.is_(None)


def _note_assignee(session: Session, act: Act) -> None:
    """Bring `Issue.assignee` in step with the newest standing act."""
    this = (Act.repository == act.repository, Act.number == act.number, Act.what == ASSIGN, Act.undone_at.is_(None))
    newest = select(Act.assignee).where(*this, of_this_issue(Act)).order_by(Act.id.desc()).limit(1).scalar_subquery()
    issue = update(Issue).where(Issue.repository == act.repository, Issue.number == act.number)
    session.execute(issue.values(assignee=func.coalesce(newest, "")).execution_options(synchronize_session=False))


_OF_ISSUE: Final = (Act.repository == Issue.repository, Act.number == Issue.number, Act.at >= Issue.created_at)
_ON_ISSUE: Final = (*_OF_ISSUE, Act.undone_at.is_(None))  # a standing act
