"""Changes that are suggested on GitHub, and their fates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Index, UniqueConstraint, exists, func, select, update
from sqlalchemy.orm import Mapped, mapped_column

from distriage.base.references import IssueReference
from distriage_serving.store.acts import of_this_issue
from distriage_serving.store.database import Database, plain_insert
from distriage_serving.store.schema import Base, Issue, Name, Number, Repository, values_of

OPEN: Final = ("making", "pending")
_KEY: Final = ("repository", "number", "action", "axis", "value")


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
        event_id: The approval's in the timeline.
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
        self._write(update(SuggestionRow).where(*this).values(**values))

    def suggestions(self, issue: IssueReference) -> list[SuggestionRow]:
        """All of an issue, the oldest first."""
        wanted = select(SuggestionRow).where(
            SuggestionRow.repository == issue.repository, SuggestionRow.number == issue.number
        )
        return self._all(wanted.where(of_this_issue(SuggestionRow)).order_by(SuggestionRow.id))

    def open_suggestions(self, repository: str) -> dict[int, float]:
        """Number of each issue with pending ones -> when GitHub was last asked about it, the longest ago first."""
        wanted = (
            select(SuggestionRow.number, SuggestionRow.polled_at)
            .where(SuggestionRow.repository == repository, SuggestionRow.state.in_(OPEN))
            .order_by(SuggestionRow.polled_at)
        )
        with self._session(writes=False) as session:
            return {number: at for number, at in session.execute(wanted)}  # noqa: C416  # mypy does not see pairs in rows

    def repositories_to_poll(self, before: float) -> list[Repository]:
        """Repositories with pending suggestions that nobody was asked about since then, the longest ago first."""
        pending = exists().where(SuggestionRow.repository == Repository.name, SuggestionRow.state.in_(OPEN))
        last = func.coalesce(Repository.polled_at, 0.0)
        wanted = select(Repository).where(Repository.enabled, Repository.installation_id.is_not(None), pending)
        return self._all(wanted.where(last <= before).order_by(last, Repository.name))

    def login_of(self, account: int) -> str | None:
        """Login of a person who decided on an earlier suggestion, if known."""
        wanted = select(SuggestionRow.who).where(SuggestionRow.resolved_by == account, SuggestionRow.who.is_not(None))
        return self._first(wanted.order_by(SuggestionRow.id.desc()).limit(1))


def has_suggestion() -> ColumnElement[bool]:
    """For WHERE on `issues`: a suggestion waits for a person on GitHub."""
    this = (SuggestionRow.repository == Issue.repository, SuggestionRow.number == Issue.number)
    return exists().where(*this, SuggestionRow.at >= Issue.created_at, SuggestionRow.state.in_(OPEN))
