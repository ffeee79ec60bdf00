"""How fast the bot writes, over all processes: below GitHub's limits for requests that create content.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import delete, func, select

from distriage_serving.store.database import Database
from distriage_serving.store.schema import Write

LIMITS: Final = ((60.0, 80), (3600.0, 500))  # seconds, writes of one installation in any such span


class Pace(Database):
    """The store's part for pacing."""

    def take_write(self, installation_id: int) -> float | None:
        """Count a write that is about to be sent to GitHub.

        Returns:
            None: send it. Else it is one too many, and was not counted: the time from which on it is not.
        """
        now = self.clock()
        with self._session(writes=True) as session:
            if session.get_bind().dialect.name == "postgresql":
                session.execute(select(func.pg_advisory_xact_lock(installation_id)))  # SQLite has one writer anyway
            session.execute(delete(Write).where(Write.at <= now - LIMITS[-1][0]))
            latest = select(Write.at).where(Write.installation_id == installation_id).order_by(Write.at.desc()).limit(1)
            ends = [
                at + span_s
                for span_s, most in LIMITS
                if (at := session.scalar(latest.offset(most - 1))) is not None and at > now - span_s
            ]
            if ends:
                return max(ends)
            session.add(Write(installation_id=installation_id, at=now))
        return None
