"""Inbox and outbox: which worker has which item. Leases let others take over a dead worker's items."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

from sqlalchemy import case, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, defer

from distriage_serving.store.database import Database, insert, plain_insert
from distriage_serving.store.schema import Issue, WorkState, values_of
from distriage_serving.store.work.jobs import OF_PEOPLE, Item, NewJob, due_items
from distriage_serving.store.work.pace import COUNTED_S, Write
from distriage_serving.store.work.reader import ReaderAnswer
from distriage_serving.store.work.tables import WAITING, WORK_STATES, Delivery, Job

MAX_ATTEMPTS: Final = 10


class LeaseLostError(Exception):
    """The lease ran out and another worker has the item, or finished it: leave it alone."""


class WorkStore(Database):
    """Deliveries and jobs: each is `waiting`, then `leased` to a worker, then `done`, `ignored` or `dead`."""

    def add_delivery(self, delivery: Delivery) -> bool:
        """Put a delivery into the inbox.

        Returns:
            False if its id, or its body under another id, is known. A dead one of its id becomes due again; others stay
            unchanged.
        """
        waits = delivery.state == "waiting"
        values = {
            **values_of(delivery),
            "due_at": self.clock() if waits else None,
            "finished_at": None if waits else self.clock(),
        }
        with self._session(writes=True) as session:
            new = plain_insert(session, Delivery).on_conflict_do_nothing().returning(Delivery.id)
            added = session.scalar(new, values) is not None
            if not added:
                self.replay(Delivery, delivery.id)
        return added

    def knows_delivery(self, id: str) -> bool:  # noqa: A002
        """Whether a delivery of this id came before."""
        with self._session(writes=False) as session:
            return session.scalar(select(Delivery.id).where(Delivery.id == id)) is not None

    def put_job(self, new: NewJob, due_at: float | None = None, *, since: float | None = None) -> Job:
        """Put a job into the outbox. A waiting job of the same key takes over its kind, argument, installation and
        time.

        A job of that key which is under way is left alone; the new one runs after it.

        Args:
            due_at: Not before; the job's own if None, else now. A waiting job keeps its back-off if that ends later.
            since: When the request for it came in; now if None.
        """
        now, due_at = self.clock(), new.due_at if due_at is None else due_at
        job = Job(
            key=new.key,
            lane=new.lane,
            kind=new.kind,
            repository=new.repository,
            created_at=now if since is None else since,
            issue=new.issue,
            installation_id=new.installation_id,
            argument=new.argument,
            due_at=now if due_at is None else due_at,
        )
        with self._session(writes=True) as session:
            added = insert(session, Job).values(values_of(job))
            later = case(
                (Job.last_error.is_not(None) & (Job.due_at > added.excluded.due_at), Job.due_at),
                else_=added.excluded.due_at,
            )
            taken = {name: added.excluded[name] for name in ("kind", "argument", "installation_id")}
            merged = added.on_conflict_do_update(
                index_elements=[Job.key], index_where=WAITING, set_={**taken, "due_at": later}
            )
            return session.scalars(merged.returning(Job), execution_options={"populate_existing": True}).one()

    def lease(
        self,
        table: type[Item],
        owner: str,
        lease_s: float,
        limit: int = 1,
        *,
        second_reads: bool | None = None,
        paced: Collection[int] = (),
    ) -> list[Item]:
        """Take items that are due or whose lease ran out, jobs of people first, then the longest due; no other worker
        gets them before the lease ends.

        Jobs of one issue are given out one at a time. An item taken `MAX_ATTEMPTS` times without a result is dead
        instead.

        Args:
            owner: Names one run of one worker; must be unique.
            second_reads: Only jobs that ask the second reader, or only others; all if None.
            paced: Installations for which no triage is to begin.
        """
        now = self.clock()
        with self._session(writes=True) as session:
            taken: list[Item] = []
            for of_people in [False] if table is Delivery or second_reads else [True, False]:
                due = due_items(table, second_reads, of_people=of_people)
                found = session.scalars(due, {"now": now, "limit": limit - len(taken), "paced": [*paced]}).all()
                taken += [item for item in found if self._take(session, item, owner, now + lease_s)]
                if len(found) == limit:
                    break
            return taken

    def _take(self, session: Session, item: Delivery | Job, owner: str, until: float) -> bool:
        if item.attempts >= MAX_ATTEMPTS:
            item.state, item.due_at, item.finished_at, item.lease_owner = "dead", None, self.clock(), None
            item.last_error = f"taken {item.attempts} times, and no worker lived to answer"
            return False
        try:
            with session.begin_nested():
                item.state, item.due_at, item.lease_owner, item.attempts = "leased", until, owner, item.attempts + 1
        except IntegrityError:  # on PostgreSQL, another worker took another job of the lane in the same moment
            return False
        return True

    def jobs_of_people(self, issues: Collection[tuple[str, int]]) -> dict[tuple[str, int, str], Job]:
        """(repository, number, kind) -> a job that brings people's acts and decisions to GitHub, and is not over."""
        lanes = [f"{repository}#{number}" for repository, number in issues]
        wanted = select(Job).where(Job.lane.in_(lanes), Job.kind.in_(OF_PEOPLE), Job.due_at.is_not(None))
        return {(job.repository, job.issue or 0, job.kind): job for job in self._all(wanted.order_by(Job.id))}

    def extend(self, item: Delivery | Job, lease_s: float) -> None:
        """Keep an item for this long from now.

        Raises:
            LeaseLostError: it is not the caller's any more.
        """
        with self._session(writes=True) as session:
            _change(session, item, due_at=self.clock() + lease_s)

    def finish(
        self, item: Delivery | Job, state: Literal["done", "ignored", "dead"] = "done", error: str | None = None
    ) -> None:
        """End an item that the caller has leased.

        Raises:
            LeaseLostError: it is not the caller's any more.
        """
        over = {"state": state, "due_at": None, "lease_owner": None, "finished_at": self.clock()}
        with self._session(writes=True) as session:
            _change(session, item, **over, last_error=_one_line(error))

    def retry(self, item: Delivery | Job, due_at: float, error: str) -> WorkState:
        """Give a leased item back after a failure.

        Returns:
            `waiting`; `dead` after `MAX_ATTEMPTS`; `ignored` if a newer job of its key waits, which then is not due
            before `due_at`.

        Raises:
            LeaseLostError: it is not the caller's any more.
        """
        if item.attempts >= MAX_ATTEMPTS:
            self.finish(item, "dead", error)
            return "dead"
        return self._give_back(item, due_at, error, item.attempts)

    def defer(self, item: Delivery | Job, due_at: float, reason: str) -> WorkState:
        """Like `retry`, without a failure: a rate limit, a paced write. Does not count as an attempt.

        Raises:
            LeaseLostError: it is no longer the caller's.
        """
        return self._give_back(item, due_at, reason, item.attempts - 1)

    def _give_back(self, item: Delivery | Job, due_at: float, error: str, attempts: int) -> WorkState:
        with self._session(writes=True) as session:
            try:
                with session.begin_nested():
                    _change(
                        session,
                        item,
                        state="waiting",
                        due_at=due_at,
                        lease_owner=None,
                        last_error=_one_line(error),
                        attempts=attempts,
                    )
            except IntegrityError:
                assert isinstance(item, Job)
                self.finish(item, "ignored", f"a newer job does its work; {error}")
                newer = update(Job).where(Job.key == item.key, Job.state == "waiting", Job.due_at < due_at)
                session.execute(newer.values(due_at=due_at, last_error=_one_line(error)))
                return "ignored"
        return "waiting"

    def replay(self, table: type[Delivery] | type[Job], id: str | int) -> bool:  # noqa: A002
        """Make a dead item due; a dead job whose key has a newer waiting job becomes `ignored` instead.

        Returns:
            False if there is no dead item of that id.
        """
        with self._session(writes=True) as session:
            dead = update(table).where(table.id == id, table.state == "dead")
            try:
                with session.begin_nested():
                    revived = dead.values(state="waiting", due_at=self.clock(), attempts=0, finished_at=None)
                    return session.scalar(revived.returning(table.id)) is not None
            except IntegrityError:
                session.execute(dead.values(state="ignored", last_error="a newer job does its work"))
                return True

    def drop(self, table: type[Delivery] | type[Job], id: str | int) -> bool:  # noqa: A002
        """Discard a dead item: it becomes `ignored`, and `purge` deletes it in time.

        Returns:
            False if there is no dead item of that id.
        """
        dead = update(table).where(table.id == id, table.state == "dead")
        with self._session(writes=True) as session:
            dropped = dead.values(state="ignored", finished_at=self.clock()).returning(table.id)
            return session.scalar(dropped) is not None

    def dead(self, table: type[Item], limit: int = 100) -> list[Item]:
        """Items given up, the newest first."""
        return self.list_work(table, "dead", limit)

    def list_work(self, table: type[Item], state: WorkState | None = None, limit: int = 100) -> list[Item]:
        """Items of a state, or of all, the newest first; deliveries come without their payloads, which are large."""
        since: Any = Delivery.received_at if table is Delivery else Job.created_at
        wanted = select(table).order_by(since.desc(), table.id.desc()).limit(limit)
        if table is Delivery:
            wanted = wanted.options(defer(Delivery.payload))
        return self._all(wanted if state is None else wanted.where(table.state == state))

    def counts(self) -> dict[str, dict[str, int]]:
        """`deliveries` and `jobs` -> state -> how many; every state is there."""
        with self._session(writes=False) as session:
            return {"deliveries": _by_state(session, Delivery), "jobs": _by_state(session, Job)}

    def purge(self, retention_s: float) -> int:
        """Delete deliveries and jobs that were done or ignored this long ago, issues that were deleted or transferred
        then, with their verdicts, and second readings made before then that no issue's report needs any more. Of writes
        to GitHub, those that no limit counts any more.

        Dead items, people's reviews and their acts stay.

        Returns:
            How many rows.
        """
        end = self.clock() - retention_s
        old = [
            delete(table).where(table.state.in_(("done", "ignored")), table.finished_at < end).returning(table.id)
            for table in (Delivery, Job)
        ]
        gone = (
            delete(Issue)
            .where(Issue.state.in_(("deleted", "transferred")), Issue.updated_at < end)
            .returning(Issue.number)
        )
        unneeded = (
            delete(ReaderAnswer)
            .where(ReaderAnswer.made_at < end, ReaderAnswer.digest.not_in(select(Issue.digest)))
            .returning(ReaderAnswer.digest)
            .execution_options(synchronize_session=False)
        )
        with self._session(writes=True) as session:
            session.execute(delete(Write).where(Write.at <= self.clock() - COUNTED_S))
            return sum(len(session.scalars(statement).all()) for statement in (*old, gone, unneeded))


def _change(session: Session, item: Delivery | Job, **values: object) -> None:
    table = type(item)
    mine = (
        table.id == item.id,
        table.state == "leased",
        table.lease_owner == item.lease_owner,
        table.attempts == item.attempts,
    )
    changed = update(table).where(*mine).values(values).returning(table.id).execution_options(synchronize_session=False)
    if session.scalar(changed) is None:
        raise LeaseLostError(f"{table.__tablename__} {item.id}: not leased to {item.lease_owner} any more")


def _by_state(session: Session, table: type[Delivery] | type[Job]) -> dict[str, int]:
    found = dict(session.execute(select(table.state, func.count()).group_by(table.state)).all())
    return {state: found.get(state, 0) for state in WORK_STATES}


def _one_line(error: str | None) -> str | None:
    return error if error is None else " ".join(error.split())[:1000]
