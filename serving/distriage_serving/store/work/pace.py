"""How fast the bot writes, over all processes: below GitHub's limits for requests that create content. And how long it
waits where GitHub says that a limit is reached.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Double, Index, bindparam, cast, delete, func, select
from sqlalchemy.orm import Mapped, mapped_column

from distriage.github.limits import Unstated, stated_end
from distriage_serving.store.database import Database, share
from distriage_serving.store.schema import Base, Number, SharedValue

LIMITS: Final = ((60.0, 80), (3600.0, 500))  # seconds, writes of one installation in any such span
COUNTED_S: Final = LIMITS[-1][0]
_VALUE: Final = select(SharedValue.value).where(SharedValue.name == bindparam("name"))  # asked before each request


class Write(Base):
    """A request that changed something on GitHub, kept for an hour; see `Pace`."""

    __tablename__ = "writes"
    __table_args__ = (Index("writes_at", "installation_id", "at"), {"sqlite_autoincrement": True})

    id: Mapped[Number] = mapped_column(init=False)
    installation_id: Mapped[int]
    at: Mapped[float]


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """GitHub's rate limits of one installation, over all processes; see `distriage.github.limits.Limits`."""

    store: Database
    installation_id: int

    def ends_at(self) -> float:
        """When the limit that holds now ends, Unix time in seconds; 0: none does."""
        with self.store._session(writes=False) as session:
            until = float(session.scalar(_VALUE, {"name": self._name}) or 0.0)
        return until if until > self.store.clock() else 0.0

    def reached(self, stated: float | None) -> float:
        """Note a limit for all clients; an earlier statement of GitHub counts if it ends later."""
        now = self.store.clock()
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

    def take_write(self, installation_id: int) -> float | None:
        """Count a write about to be sent to GitHub.

        Returns:
            None if it may be sent. Otherwise it is over the limit and not counted: the time when it no longer is.
        """
        now, mine = self.clock(), Write.installation_id == installation_id
        with self._session(writes=True) as session:
            if session.get_bind().dialect.name == "postgresql":
                session.execute(select(func.pg_advisory_xact_lock(installation_id)))  # SQLite has one writer anyway
            session.execute(delete(Write).where(mine, Write.at <= now - COUNTED_S))
            latest = select(Write.at).where(mine).order_by(Write.at.desc()).limit(1)
            ends = [
                at + span_s
                for span_s, most in LIMITS
                if (at := session.scalar(latest.offset(most - 1))) is not None and at > now - span_s
            ]
            if ends:
                return max(ends)
            session.add(Write(installation_id=installation_id, at=now))
        return None

    def limits(self, installation_id: int) -> SharedLimits:
        """GitHub's rate limits of an installation, as all workers know them."""
        return SharedLimits(self, installation_id)
