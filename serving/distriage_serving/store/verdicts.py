"""What people said of predictions."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from distriage_serving.store.database import Database, insert, values_of
from distriage_serving.store.schema import Issue, IssueStatus, PersonVerdict


class Verdicts(Database):
    """The store's part for verdicts of people; it keeps `Issue.status` in step."""

    def add_verdict(self, *verdicts: PersonVerdict) -> list[int]:
        """Store verdicts, all or none.

        Returns:
            Their ids, in order; one that is known (same person, way, time and axis) has the id that it had.
        """
        with self._session(writes=True) as session:
            ids = [_add(session, verdict) for verdict in verdicts]
            _update_status(session, verdicts)
        return ids

    def undo_verdict(self, *ids: int) -> list[PersonVerdict]:
        """Take verdicts back, all or none.

        Returns:
            Those that stood until now.
        """
        standing = update(PersonVerdict).where(PersonVerdict.id.in_(ids), PersonVerdict.undone_at.is_(None)).values(undone_at=self.clock())
        with self._session(writes=True) as session:
            undone = list(session.scalars(standing.returning(PersonVerdict), execution_options={"populate_existing": True}))
            _update_status(session, undone)
        return undone

    def verdicts(
        self, since: float = 0, repositories: Collection[str] | None = None, *, issue: tuple[str, int] | None = None, undone: bool = False
    ) -> list[PersonVerdict]:
        """Verdicts since then, by time.

        Args:
            repositories: None: of all.
            issue: Only of this repository and number.
            undone: Also those that were taken back.
        """
        wanted = select(PersonVerdict).where(PersonVerdict.at >= since).order_by(PersonVerdict.at, PersonVerdict.id)
        if repositories is not None:
            wanted = wanted.where(PersonVerdict.repository.in_(list(repositories)))
        if issue is not None:
            wanted = wanted.where(PersonVerdict.repository == issue[0], PersonVerdict.number == issue[1])
        if not undone:
            wanted = wanted.where(PersonVerdict.undone_at.is_(None))
        with self._session(writes=False) as session:
            return list(session.scalars(wanted))


def _add(session: Session, verdict: PersonVerdict) -> int:
    added: int | None = session.scalar(insert(session, PersonVerdict).values(values_of(verdict)).on_conflict_do_nothing().returning(PersonVerdict.id))
    if added is not None:
        return added
    this = (PersonVerdict.repository == verdict.repository, PersonVerdict.number == verdict.number, PersonVerdict.axis == verdict.axis)
    event = (PersonVerdict.who == verdict.who, PersonVerdict.how == verdict.how, PersonVerdict.at == verdict.at)
    return session.scalars(select(PersonVerdict.id).where(*this, *event)).one()


def _update_status(session: Session, changed: Iterable[PersonVerdict]) -> None:
    for repository, number in sorted({(verdict.repository, verdict.number) for verdict in changed}):
        this = (PersonVerdict.repository == repository, PersonVerdict.number == number, PersonVerdict.undone_at.is_(None))
        standing = session.scalars(select(PersonVerdict).where(*this).order_by(PersonVerdict.at, PersonVerdict.id))
        status = _status({verdict.axis: verdict for verdict in standing}.values())
        session.execute(update(Issue).where(Issue.repository == repository, Issue.number == number).values(status=status))


def _status(latest: Collection[PersonVerdict]) -> IssueStatus:
    """Of the latest verdict on each axis."""
    if not latest:
        return "open"
    if all(verdict.label is None for verdict in latest):
        return "dismissed"
    return "accepted" if all(verdict.label == verdict.predicted_label for verdict in latest) else "corrected"
