"""The past issues of repositories, from which indexes are made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, cast

from sqlalchemy import Index, Table, and_, bindparam, case, delete, or_, select, update
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from distriage.base.references import IssueReference
from distriage_serving.store.database import Database, insert, insert_for
from distriage_serving.store.schema import Base, Lifecycle, Name, values_of

PAGE_ROWS: Final = 1000


class PastRepository(Base):
    """A repository whose past issues are kept.

    Attributes:
        model: The model that read them.
        revision: Grows with every change; begins with the time, in milliseconds, so that a later repository of the same
            name has larger ones.
        begun_at_revision: Data read at an earlier revision is void.
    """

    __tablename__ = "past_repositories"

    name: Mapped[Name] = mapped_column(primary_key=True)
    model: Mapped[str]
    revision: Mapped[int]
    begun_at_revision: Mapped[int]


_REPOSITORY: Final = (
    select(PastRepository).where(PastRepository.name == bindparam("name")).execution_options(populate_existing=True)
)


class PastRow(Base):
    """An issue as the index has it. Only the number is left of a deleted one.

    Attributes:
        state: `open` or `closed`.
        closed_by: As `PastIssue.closed_by`; for an open issue, what is about to close it, or empty.
        updated_at: The issue's on GitHub.
        digest: That of title and body.
        fingerprint: From `distriage.past.packed`; None if the issue is gone.
        revision: The repository's at the row's last change; filled in by the store.
        github_id: GitHub's own; 0 if unknown.
        closed_at, milestone, version, reactions, signature: As of `PastIssue`.
    """

    __tablename__ = "past_issues"
    __table_args__ = (Index("past_issues_revision", "repository", "revision"),)

    repository: Mapped[Name] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str] = mapped_column(repr=False)
    url: Mapped[str]
    state: Mapped[str]
    closed_by: Mapped[str]
    filed_at: Mapped[float]
    updated_at: Mapped[float]
    digest: Mapped[str]
    fingerprint: Mapped[bytes | None] = mapped_column(repr=False)
    revision: Mapped[int] = mapped_column(default=0)
    github_id: Mapped[int] = mapped_column(default=0)
    closed_at: Mapped[float] = mapped_column(default=0.0)
    milestone: Mapped[str] = mapped_column(default="")
    version: Mapped[str] = mapped_column(default="")
    reactions: Mapped[int] = mapped_column(default=0)
    signature: Mapped[str] = mapped_column(default="")


@dataclass(frozen=True, slots=True)
class PastState:
    """An issue's latest state.

    Attributes:
        updated_at: Unix time in seconds; None if it is only missing from a list. A page that shifts while it is read
            causes that too, so any later view brings the issue back.
        reason: GitHub's for closing it, or empty.
        more: Further columns of `PastRow`, as far as told.
    """

    issue: IssueReference
    state: Lifecycle
    updated_at: float | None
    reason: str = ""
    more: Mapping[str, object] = field(default_factory=dict)


class PastIssues(Database):
    """The store's part for past issues."""

    def begin_past(self, repository: str, model: str) -> None:
        """Keep the past issues of a repository from now on; drop another model's readings."""
        first = _first_revision(self.clock())
        row = PastRepository(name=repository, model=model, revision=first, begun_at_revision=first)
        with self._session(writes=True) as session:
            session.execute(insert(session, PastRepository).values(values_of(row)).on_conflict_do_nothing())
            this = update(PastRepository).where(PastRepository.name == repository, PastRepository.model != model)
            changed = this.values(model=model).returning(PastRepository.name)
            if session.scalar(changed.execution_options(synchronize_session=False)) is not None:
                drop_past(session, repository)

    def past_repository(self, name: str) -> PastRepository | None:
        """The repository; None if its past issues are not kept."""
        return self._first(_REPOSITORY, name=name)

    def past_digests(self, repository: str, number: int | None = None) -> dict[int, str]:
        """Number -> digest of the past issues of a repository, or of one of them; none that are gone."""
        wanted = select(PastRow.number, PastRow.digest)
        wanted = wanted.where(PastRow.repository == repository, PastRow.fingerprint.is_not(None))
        if number is not None:
            wanted = wanted.where(PastRow.number == number)
        with self._session(writes=False, single=True) as session:
            return {row.number: row.digest for row in session.execute(wanted)}

    def past_fingerprint(self, issue: IssueReference, digest: str, model: str) -> bytes | None:
        """The fingerprint of an issue; None if it is not kept, or is of another text."""
        wanted = select(PastRow.fingerprint).join(PastRepository, PastRepository.name == PastRow.repository)
        wanted = wanted.where(PastRow.repository == issue.repository, PastRow.number == issue.number)
        wanted = wanted.where(PastRow.digest == digest, PastRepository.model == model)
        return self._first(wanted)

    def past_rows(self, repository: str, since: int, after: int = 0) -> list[PastRow]:
        """A page of the rows that changed after a revision, by number.

        Args:
            after: The last number of the page before.
        """
        wanted = select(PastRow).where(PastRow.repository == repository, PastRow.revision > since)
        wanted = wanted.where(PastRow.number > after).order_by(PastRow.number).limit(PAGE_ROWS)
        return self._all(wanted)

    def put_past(self, model: str, *rows: PastRow) -> None:
        """Store the state of issues of one repository. Ignores views older than the stored one, and repositories whose
        past issues are not kept.

        Args:
            model: The model that read them; ignored unless it is the repository's.
        """
        if not rows:
            return
        with self._session(writes=True) as session:
            revision = _next_revision(session, rows[0].repository, model)
            if revision is not None:
                values = [{**values_of(row), "revision": revision} for row in rows]
                session.execute(_put(session.get_bind().dialect.name), values)

    def settle_past(self, repository: str, numbers: Collection[int], by: str) -> None:
        """Note the reason that closes issues of a repository, now or soon.

        Args:
            by: As `PastIssue.closed_by`: `#34` or `duplicate of #34`.
        """
        these = (PastRow.repository == repository, PastRow.number.in_(numbers), PastRow.fingerprint.is_not(None))
        with self._session(writes=True) as session:
            revision = _next_revision(session, repository)
            noted = update(PastRow).where(*these).values(closed_by=by, revision=revision)
            if revision is not None:
                session.execute(noted.execution_options(synchronize_session=False))

    def set_past_states(self, *states: PastState) -> None:
        """Note the states of issues of one repository."""
        with self._session(writes=True) as session:
            revision = _next_revision(session, states[0].issue.repository) if states else None
            for told in states if revision is not None else ():
                note_past_state(session, told, revision)


@cache
def _put(dialect: str) -> Insert:
    """The statement that stores an issue, without its values; made once, which takes longer than to run it."""
    new = insert_for(dialect, cast(Table, PastRow.__table__))
    newer = PastRow.updated_at < new.excluded.updated_at
    same = and_(PastRow.updated_at == new.excluded.updated_at, PastRow.fingerprint.is_not(None))
    changes: dict[str, Any] = {name: one for name, one in new.excluded.items() if name not in {"repository", "number"}}
    untold = and_(new.excluded.state == "closed", new.excluded.closed_by == "")
    for name in ("closed_by", "closed_at", "milestone"):
        changes[name] = case((untold, PastRow.__table__.c[name]), else_=new.excluded[name])
    key = [PastRow.repository, PastRow.number]
    return new.on_conflict_do_update(index_elements=key, set_=changes, where=or_(newer, same))


def note_past_state(session: Session, told: PastState, revision: int | None = None) -> None:
    """Note the state of an issue, if it is kept; older news changes nothing, unless the issue is gone.

    Args:
        revision: The change's; a new one if None.
    """
    this = (PastRow.repository == told.issue.repository, PastRow.number == told.issue.number)
    if revision is None:  # another writer's note must be read before it is weighed against this one
        theirs = select(PastRepository.name).where(PastRepository.name == told.issue.repository)
        session.execute(theirs.with_for_update())
    columns = (one for one in PastRow.__table__.c if one.name != "fingerprint")
    known = session.execute(select(*columns).where(*this)).first()
    if known is None:
        return
    changed = update(PastRow).where(*this).execution_options(synchronize_session=False)
    told_at = told.updated_at or 0.0
    values: dict[str, object] = {"updated_at": 0.0 if told.updated_at is None else max(told_at, known.updated_at)}
    if told.state not in {"open", "closed"}:
        values |= {"title": "", "url": "", "closed_by": "", "digest": "", "fingerprint": None}
    else:
        changed = changed.where(PastRow.updated_at <= told_at, PastRow.fingerprint.is_not(None))
        now = {"state": told.state, "closed_by": _closed_by(told, known.state, known.closed_by), **told.more}
        if told.state == "closed" != known.state:
            now = {"closed_at": told_at, **now}
        values |= {name: value for name, value in now.items() if getattr(known, name) != value}
    if len(values) > 1:
        values["revision"] = revision or _next_revision(session, told.issue.repository)
    session.execute(changed.values(values))


def _closed_by(told: PastState, state: str, before: str) -> str:
    """As `PastIssue.closed_by`; a change or an original, known before, says more than GitHub's reason."""
    if told.state == "open":
        return "" if state == "closed" else before
    general = "duplicate" if before.startswith("duplicate of ") else "completed" if before.startswith("#") else before
    return before if told.reason in {"", general} else told.reason


def drop_past(session: Session, repository: str) -> None:
    """Forget all past issues of a repository so far."""
    more = PastRepository.revision + 1
    anew = update(PastRepository).where(PastRepository.name == repository)
    dropped = delete(PastRow).where(PastRow.repository == repository)
    for statement in (anew.values(revision=more, begun_at_revision=more), dropped):
        session.execute(statement.execution_options(synchronize_session=False))


def move_past(session: Session, before: str, after: str, now: float) -> None:
    """Note a repository's new name; issues kept under that name stay."""
    either = select(PastRepository).where(PastRepository.name.in_((before, after))).with_for_update()
    revisions = {known.name: known.revision for known in session.scalars(either)}
    if before not in revisions:
        return
    is_taken = session.scalar(select(PastRow.number).where(PastRow.repository == after).limit(1)) is not None
    more = max(*revisions.values(), _first_revision(now)) + 1  # data read under either name is void
    for name, values in (
        (PastRepository.name, {"name": after, "revision": more, "begun_at_revision": more}),
        (PastRow.repository, {"repository": after}),
    ):
        gone = delete(name.class_).where(name == (before if is_taken else after))
        moved = update(name.class_).where(name == before).values(values)
        for statement in (gone, moved):
            session.execute(statement.execution_options(synchronize_session=False))


def _first_revision(now: float) -> int:
    return int(now * 1000)


def _next_revision(session: Session, repository: str, model: str | None = None) -> int | None:
    """Taken before any row is changed, so that writers of one repository queue up.

    Args:
        model: The repository's, if given.
    """
    more = update(PastRepository).where(PastRepository.name == repository)
    if model is not None:
        more = more.where(PastRepository.model == model)
    more = more.values(revision=PastRepository.revision + 1).execution_options(synchronize_session=False)
    return session.scalar(more.returning(PastRepository.revision))
