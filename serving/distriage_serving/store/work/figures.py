"""The state of the work in the database: counts and ages for `/metrics`, over all processes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sqlalchemy import case, func, select, text
from sqlalchemy.orm import Session

from distriage_serving.store.paging import IssueFilter
from distriage_serving.store.schema import Issue, Review
from distriage_serving.store.work.leases import WorkStore
from distriage_serving.store.work.reader import ReaderAnswers
from distriage_serving.store.work.tables import Delivery, Job

AGES_S: Final = {"1m": 60, "1h": 3600, "1d": 86400}
Figures = Mapping[str, Mapping[tuple[str, ...], float]]  # metric without its prefix -> values of its labels -> number


class FigureStore(WorkStore, ReaderAnswers):
    """The store's part for `/metrics`."""

    def figures(self) -> Figures:
        """All figures of one moment; an age is that of the oldest item, in seconds, and 0 if nothing waits."""
        with self._session(writes=False) as session:
            counted: dict[str, Mapping[tuple[str, ...], float]] = {
                name: {(state,): count for state, count in states.items()} for name, states in self.counts().items()
            }
            issues, oldest_issue = session.execute(
                select(func.count(), func.min(Issue.created_at)).where(*IssueFilter(awake_at=self.clock()).conditions())
            ).one()
            # A failed job has waited since it was put, others only since they were due: the sweep is put ahead of time.
            since = case((Job.last_error.is_not(None), Job.created_at), else_=Job.due_at)
            ages = [func.count(case((since < self.clock() - age_s, 1))) for age_s in AGES_S.values()]
            oldest_job, *older = session.execute(select(func.min(since), *ages).where(Job.state == "waiting")).one()
            # Jobs come of deliveries only once a worker runs.
            received = select(func.min(Delivery.received_at)).where(Delivery.state == "waiting")
            waits = [at for at in (oldest_job, session.scalar(received)) if at is not None]
            predicted = Review.predicted_label
            agrees = case((predicted.is_(None), "unknown"), (predicted == Review.label, "yes"), else_="no")
            reviews = select(Review.axis, agrees.label("agrees"), func.count()).where(Review.undone_at.is_(None))
            reviewed = session.execute(reviews.group_by("axis", "agrees")).all()
            return {
                **counted,
                "issues_waiting": {(): issues},
                "issues_oldest_seconds": {(): self._age(oldest_issue)},
                "jobs_waiting_longer": {(name,): count for name, count in zip(AGES_S, older, strict=True)},
                "jobs_oldest_seconds": {(): self._age(min(waits, default=None))},
                "reviews": {(axis, said): count for axis, said, count in reviewed},
                "second_reader_requests": {(name,): count for name, count in self.reader_results().items()},
                "database_bytes": {(): self._bytes(session)},
                "database_up": {(): float(not self._away_for_writes)},  # as the last write went; none is tried here
            }

    def _age(self, since: float | None) -> float:
        return 0.0 if since is None else max(0.0, self.clock() - since)

    def _bytes(self, session: Session) -> float:
        if self.is_sqlite:
            file = str(self._engine.url.database)
            return sum(each.stat().st_size for each in map(Path, (file, f"{file}-wal")) if each.exists())
        return float(session.scalars(text("SELECT pg_database_size(current_database())")).one())
