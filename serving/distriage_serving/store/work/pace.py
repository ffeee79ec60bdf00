"""How fast the bot writes, over all processes: below GitHub's limits for requests that create content. And how long it
waits where GitHub says that a limit is reached.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Double, Index, Integer, bindparam, cast, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from distriage.github.limits import Unstated, stated_end
from distriage_serving.store.database import Database, plain_insert, share
from distriage_serving.store.schema import Base, Number, SharedValue

LIMITS: Final = ((60.0, 80), (3600.0, 500))  # seconds, writes of one installation in any such span
BOTS_SHARE: Final = 0.8  # of these: the rest is for what people do
COUNTED_S: Final = LIMITS[-1][0]
LOOK_EVERY_S: Final = 1.0
# Made once: they are asked before each request, or each that writes.
_VALUE: Final = select(SharedValue.value).where(SharedValue.name == bindparam("name"))


class Write(Base):
    """A request that changed something on GitHub, kept for an hour; see `Pace`."""

    __tablename__ = "writes"
    __table_args__ = (Index("writes_at", "installation_id", "at"), {"sqlite_autoincrement": True})

    id: Mapped[Number] = mapped_column(init=False)
    installation_id: Mapped[int]
    at: Mapped[float]


_OLD: Final = delete(Write).where(Write.installation_id == bindparam("by"), Write.at <= bindparam("until"))
_EARLIER: Final = (  # than a number of later ones
    select(Write.at)
    .where(Write.installation_id == bindparam("by"))
    .order_by(Write.at.desc())
    .limit(1)
    .offset(bindparam("later", type_=Integer))
)


@dataclass(slots=True)
class SharedLimits:
    """GitHub's rate limits of one installation, over all processes; see `distriage.github.limits.Limits`.

    For `LOOK_EVERY_S` after a look that found no limit, this object does not know of one that another has noted.
    """

    store: Database
    installation_id: int
    _free_until: float = 0.0

    def ends_at(self) -> float:
        """When the limit that holds now ends, Unix time in seconds; 0: none does."""
        now = self.store.clock()
        if now < self._free_until:
            return 0.0
        until = float(self.store._first(_VALUE, name=self._name) or 0.0)
        if until > now:
            return until
        self._free_until = now + LOOK_EVERY_S
        return 0.0

    def reached(self, stated: float | None) -> float:
        """Note a limit for all clients; an earlier statement of GitHub counts if it ends later."""
        now, self._free_until = self.store.clock(), 0.0
        with self.store._session(writes=True) as session:
            if stated is None:
                last = session.scalar(_VALUE, {"name": self._unstated})
                unstated = Unstated.after(Unstated(*map(float, last.split())) if last else None, now)
                until = unstated.until
                share(session, self._unstated, f"{until!r} {unstated.wait_s!r}")
            else:
                until = stated_end(stated, now)
            share(session, self._name, repr(until), where=cast(SharedValue.value, Double) < until)
        return until

    @property
    def _name(self) -> str:
        return f"limit:{self.installation_id}"

    @property
    def _unstated(self) -> str:
        return f"unstated:{self.installation_id}"


class Pace(Database):
    """The store's part for pacing."""

    def take_write(self, installation_id: int, share: float = 1.0) -> float | None:
        """Count a write about to be sent to GitHub.

        Args:
            share: Of the limits, how much may be used up by then.

        Returns:
            None if it may be sent. Otherwise it is over the limit and not counted: the time when it no longer is.
        """
        now = self.clock()
        with self._session(writes=True) as session:
            if session.get_bind().dialect.name == "postgresql":
                session.execute(select(func.pg_advisory_xact_lock(installation_id)))  # SQLite has one writer anyway
            session.execute(_OLD, {"by": installation_id, "until": now - COUNTED_S})
            free_at = _free_at(session, installation_id, share, now)
            if free_at is None:
                session.execute(plain_insert(session, Write), {"installation_id": installation_id, "at": now})
        return free_at

    def write_free_at(self, installation_id: int, share: float = 1.0) -> float | None:
        """As `take_write`, and counts none."""
        with self._session(writes=False) as session:
            return _free_at(session, installation_id, share, self.clock())

    def limits(self, installation_id: int) -> SharedLimits:
        """GitHub's rate limits of an installation, as all workers know them."""
        return SharedLimits(self, installation_id)


def _free_at(session: Session, installation_id: int, share: float, now: float) -> float | None:
    ends = [
        at + span_s
        for span_s, most in LIMITS
        if (at := session.scalar(_EARLIER, {"by": installation_id, "later": int(most * share) - 1})) is not None
        and at > now - span_s
    ]
    return max(ends, default=None)
