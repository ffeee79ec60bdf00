"""The tables of work: the inbox and the outbox. Pure; see `store/schema.py`."""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, MappedAsDataclass, mapped_column

from distriage_serving.store.schema import NEVER_REUSE_IDS, Base, JsonValue, Name, Number, WorkState

WORK_STATES: Final[tuple[WorkState, ...]] = get_args(WorkState)
WAITING: Final = text("state = 'waiting'")
_LEASED: Final = text("state = 'leased'")


class WorkColumns(MappedAsDataclass, kw_only=True):
    """The columns of a worker's item, a `Delivery` or a `Job`.

    Attributes:
        state: `waiting`, `leased`, `done`, `ignored` (nothing to do), `dead` (given up; see `last_error`).
        attempts: How often a worker took it, not counting deferrals.
        due_at: Earliest time to take it; while leased, the end of the lease; None once finished.
        last_error: One line: why it was deferred or given up.
    """

    issue: Mapped[int | None] = mapped_column(default=None)
    installation_id: Mapped[int | None] = mapped_column(default=None)
    state: Mapped[WorkState] = mapped_column(default="waiting")
    attempts: Mapped[int] = mapped_column(default=0)
    due_at: Mapped[float | None] = mapped_column(default=None)
    lease_owner: Mapped[str | None] = mapped_column(default=None)
    last_error: Mapped[str | None] = mapped_column(default=None)
    finished_at: Mapped[float | None] = mapped_column(default=None)


class Delivery(WorkColumns, Base):
    """A webhook delivery: the inbox.

    Attributes:
        id: GitHub's X-GitHub-Delivery.
        repository: Empty for an event without one.
        body_sha256: Unique, for the id is not signed; None if an equal body may bring other news.
        payload: The request's body, JSON text.
    """

    __tablename__ = "deliveries"
    __table_args__ = (Index("deliveries_due", "due_at"), Index("deliveries_state", "state", "received_at"))

    id: Mapped[str] = mapped_column(primary_key=True)
    event: Mapped[str]
    payload: Mapped[str] = mapped_column(repr=False)
    received_at: Mapped[float]
    body_sha256: Mapped[str | None] = mapped_column(default=None, unique=True)
    action: Mapped[str] = mapped_column(default="")
    repository: Mapped[Name] = mapped_column(default="")


class Job(WorkColumns, Base):
    """Something to do on GitHub: the outbox.

    Attributes:
        key: At most one waiting job has it; see `Store.put_job`.
        lane: Only one job of a lane is leased at a time; see `NewJob.lane`.
        argument: A JSON value, as `kind` needs it.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_due", "due_at"),
        Index("jobs_kind_due", "kind", "due_at"),
        Index("jobs_state", "state", "created_at"),
        Index("jobs_lane_due", "lane", "due_at"),
        Index("jobs_key_waiting", "key", unique=True, sqlite_where=WAITING, postgresql_where=WAITING),
        Index("jobs_lane_leased", "lane", unique=True, sqlite_where=_LEASED, postgresql_where=_LEASED),
        NEVER_REUSE_IDS,
    )

    id: Mapped[Number] = mapped_column(init=False)
    key: Mapped[str]
    lane: Mapped[str]
    kind: Mapped[str]
    repository: Mapped[Name]
    created_at: Mapped[float]
    argument: Mapped[JsonValue] = mapped_column(default=None)
