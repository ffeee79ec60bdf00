"""Acts on an issue: close, mark as duplicate, snooze, assign, in the queue; suggest a change, on GitHub."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Index, UniqueConstraint, exists, func, select, tuple_, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from distriage.base.references import IssueReference
from distriage_serving.store.database import Database, plain_insert, values_of
from distriage_serving.store.schema import Base, Issue, Name, Number, Repository

SNOOZE: Final = "snooze"
ASSIGN: Final = "assign"
CLOSES: Final = ("duplicate", "completed", "not_planned")
OPEN: Final = ("making", "pending")
_KEY: Final = ("repository", "number", "action", "axis", "value")


class Act(Base):
    """One act in the queue.

    Attributes:
        what: `duplicate`, `completed` and `not_planned` close the issue, with this reason on GitHub; or `snooze`, or
            `assign`.
        who: GitHub login, or `admin:NAME`.
        duplicate_of: Number of the original issue.
        until: A snoozed issue is hidden from the list until then.
        assignee: The person who takes it: a login in lower case, or `admin:NAME`, which GitHub does not know.
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
    undone_at: Mapped[float | None] = mapped_column(init=False, default=None)
    carried_out: Mapped[bool] = mapped_column(init=False, default=False)
    refused: Mapped[str | None] = mapped_column(init=False, default=None)

    @property
    def is_pending(self) -> bool:
        """GitHub does not show the act or its undoing yet, and did not refuse it."""
        return self.what != SNOOZE and self.refused is None and self.carried_out == (self.undone_at is not None)

    @property
    def reference(self) -> IssueReference:
        """Of which issue."""
        return IssueReference(self.repository, self.number)


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
        with self._session(writes=False) as session:
            return list(session.scalars(wanted.where(of_this_issue(Act)).order_by(Act.id.desc())))

    def last_acts(
        self, who: str, since: float, repositories: Collection[str] | None = None, at: float | None = None
    ) -> list[Act]:
        """A person's newest standing acts since then: those of one moment.

        Args:
            repositories: Only in these; in all if None.
            at: Only acts of this time.
        """
        these = [Act.who == who, Act.undone_at.is_(None)]
        if repositories is not None:
            these.append(Act.repository.in_(list(repositories)))
        if at is not None:
            these.append(Act.at == at)
        newest = select(func.max(Act.at)).where(*these, Act.at >= since).scalar_subquery()
        with self._session(writes=False) as session:
            return list(session.scalars(select(Act).where(*these, Act.at == newest).order_by(Act.id)))

    def last_undone_acts(self, who: str, since: float, repositories: Collection[str] | None = None) -> list[Act]:
        """The acts of one moment that this person undid last since then.

        Args:
            repositories: Only in these; in all if None.
        """
        these = [Act.who == who, Act.undone_at >= since]
        if repositories is not None:
            these.append(Act.repository.in_(list(repositories)))
        last = select(Act.at).where(*these).order_by(Act.undone_at.desc()).limit(1).scalar_subquery()
        with self._session(writes=False) as session:
            return list(session.scalars(select(Act).where(*these, Act.at == last).order_by(Act.id)))

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
        with self._session(writes=True) as session:
            session.execute(update(Act).where(Act.id == act.id).values(carried_out=carried_out, refused=refused))

    def refuse_acts(self, issue: IssueReference, why: str, before: float) -> None:
        """Note that GitHub refuses an issue's pending acts and undos from before then."""
        this = Act.repository == issue.repository, Act.number == issue.number, _is_pending()
        these = update(Act).where(*this, func.coalesce(Act.undone_at, Act.at) <= before)
        with self._session(writes=True) as session:
            session.execute(these.values(refused=why))

    def refused_acts(self, issues: Collection[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Why GitHub refused the newest act on issues, (repository, number); the others are absent."""
        newest = select(func.max(Act.id)).where(
            Act.repository.in_({repository for repository, _ in issues}),
            tuple_(Act.repository, Act.number).in_(list(issues)),
            Act.what.in_(CLOSES),
            of_this_issue(Act),
        )
        wanted = select(Act).where(Act.id.in_(newest.group_by(Act.repository, Act.number)), Act.refused.is_not(None))
        with self._session(writes=False) as session:
            return {(act.repository, act.number): act.refused or "" for act in session.scalars(wanted)}


class SuggestionRow(Base):
    """A suggested change, or a field set directly.

    Attributes:
        action: GitHub's word: `add_label`, `set_type`, `add_field` or `close_issue`.
        value, target_id: As in `planning.types.Suggested`.
        axis, label: Basis of the change; empty: past issues.
        state: `making`: about to be sent, and perhaps lost; `pending`; `approved` or `dismissed` by a person;
            `applied`: set without asking; `ended`: withdrawn by GitHub or by us.
        held: It was to be set, and GitHub asks a person first.
        github_id: None until known.
        event_id: Of the approval in the timeline.
        resolved_by, who: The account that decided: GitHub's id, and its login.
        polled_at: When GitHub was last asked for its state.
    """

    __tablename__ = "suggestions"
    __table_args__ = (
        UniqueConstraint(*_KEY, name="suggestions_once"),
        Index("suggestions_state", "repository", "state", "polled_at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Number] = mapped_column(init=False)
    repository: Mapped[Name]
    number: Mapped[int]
    action: Mapped[str]
    value: Mapped[str]
    at: Mapped[float]
    target_id: Mapped[int | None] = mapped_column(default=None)
    axis: Mapped[str] = mapped_column(default="")
    label: Mapped[str] = mapped_column(default="")
    state: Mapped[str] = mapped_column(default="making")
    held: Mapped[bool] = mapped_column(default=False)
    github_id: Mapped[int | None] = mapped_column(default=None)
    event_id: Mapped[int | None] = mapped_column(default=None)
    resolved_by: Mapped[int | None] = mapped_column(default=None)
    who: Mapped[str | None] = mapped_column(default=None)
    decided_at: Mapped[float | None] = mapped_column(default=None)
    polled_at: Mapped[float] = mapped_column(default=0.0)


class SuggestionRows(Database):
    """The store's part for suggestions."""

    def begin_suggestions(self, rows: Sequence[SuggestionRow]) -> None:
        """Note changes about to be sent, replacing earlier notes on the same changes."""
        with self._session(writes=True) as session:
            for row in rows:
                new = plain_insert(session, SuggestionRow)
                values = {name: value for name, value in values_of(row).items() if name != "id"}
                changes = {name: new.excluded[name] for name in values if name not in {"repository", "number"}}
                session.execute(new.on_conflict_do_update(index_elements=_KEY, set_=changes), values)

    def note_suggestion(self, row: SuggestionRow, **values: object) -> None:
        """Note the outcome of a suggestion."""
        columns = SuggestionRow.__table__.columns
        this = [columns[name] == getattr(row, name) for name in _KEY]
        with self._session(writes=True) as session:
            session.execute(update(SuggestionRow).where(*this).values(**values))

    def suggestions(self, issue: IssueReference) -> list[SuggestionRow]:
        """All of an issue, the oldest first."""
        wanted = select(SuggestionRow).where(
            SuggestionRow.repository == issue.repository, SuggestionRow.number == issue.number
        )
        with self._session(writes=False) as session:
            return list(session.scalars(wanted.where(of_this_issue(SuggestionRow)).order_by(SuggestionRow.id)))

    def open_suggestions(self, repository: str) -> dict[int, float]:
        """Number of each issue with pending ones -> when GitHub was last asked about it, the longest ago first."""
        wanted = (
            select(SuggestionRow.number, SuggestionRow.polled_at)
            .where(SuggestionRow.repository == repository, SuggestionRow.state.in_(OPEN))
            .order_by(SuggestionRow.polled_at)
        )
        with self._session(writes=False) as session:
            return {number: at for number, at in session.execute(wanted)}  # noqa: C416  # rows are no pairs to mypy

    def repositories_to_poll(self, before: float) -> list[Repository]:
        """Repositories with pending suggestions that nobody was asked about since then, the longest ago first."""
        pending = exists().where(SuggestionRow.repository == Repository.name, SuggestionRow.state.in_(OPEN))
        last = func.coalesce(Repository.polled_at, 0.0)
        wanted = select(Repository).where(Repository.enabled, Repository.installation_id.is_not(None), pending)
        with self._session(writes=False) as session:
            return list(session.scalars(wanted.where(last <= before).order_by(last, Repository.name)))

    def login_of(self, account: int) -> str | None:
        """Login of a person who decided on an earlier suggestion, if known."""
        wanted = select(SuggestionRow.who).where(SuggestionRow.resolved_by == account, SuggestionRow.who.is_not(None))
        with self._session(writes=False) as session:
            return session.scalar(wanted.order_by(SuggestionRow.id.desc()).limit(1))


def of_this_issue(table: type[Any]) -> ColumnElement[bool]:
    """For WHERE on acts: excludes those on an earlier issue of the same number, in a repository deleted since."""
    this = (Issue.repository == table.repository, Issue.number == table.number)
    return ~exists().where(*this, Issue.created_at > table.at)


def _is_pending() -> ColumnElement[bool]:
    """As `Act.is_pending`, for WHERE on `acts`."""
    return (Act.what != SNOOZE) & Act.refused.is_(None) & (Act.carried_out == Act.undone_at.is_not(None))


def is_closing() -> ColumnElement[bool]:
    """For WHERE on `issues`: closed in the queue, and not yet on GitHub."""
    this = (Act.repository == Issue.repository, Act.number == Issue.number, Act.at >= Issue.created_at)
    return exists().where(*this, Act.what.in_(CLOSES), Act.undone_at.is_(None), _is_pending())


def is_snoozed(now: float) -> ColumnElement[bool]:
    """For WHERE on `issues`: the issue is out of the list at this time."""
    this = (Act.repository == Issue.repository, Act.number == Issue.number, Act.at >= Issue.created_at)
    return exists().where(*this, Act.what == SNOOZE, Act.undone_at.is_(None), Act.until > now)


def has_suggestion() -> ColumnElement[bool]:
    """For WHERE on `issues`: a suggestion waits for a person on GitHub."""
    this = (SuggestionRow.repository == Issue.repository, SuggestionRow.number == Issue.number)
    return exists().where(*this, SuggestionRow.at >= Issue.created_at, SuggestionRow.state.in_(OPEN))


def _note_assignee(session: Session, act: Act) -> None:
    """Bring `Issue.assignee` in step with the newest standing act."""
    this = (Act.repository == act.repository, Act.number == act.number, Act.what == ASSIGN, Act.undone_at.is_(None))
    newest = select(Act.assignee).where(*this, of_this_issue(Act)).order_by(Act.id.desc()).limit(1).scalar_subquery()
    issue = update(Issue).where(Issue.repository == act.repository, Issue.number == act.number)
    session.execute(issue.values(assignee=func.coalesce(newest, "")).execution_options(synchronize_session=False))
