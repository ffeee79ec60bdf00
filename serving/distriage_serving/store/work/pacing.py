"""The pace of our own writes, as one worker keeps to it. Database I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from distriage.base.errors import RateLimitError
from distriage_serving.store.work.jobs import OF_PEOPLE, TRIAGE
from distriage_serving.store.work.pace import BOTS_SHARE, Pace
from distriage_serving.store.work.tables import Job


class PacedError(RateLimitError):
    """One write too many at present, by our own count."""


@dataclass(slots=True)
class Pacing:
    """Keeps a worker from reading on GitHub for what it cannot write yet: in a long backlog that would use up the
    requests of an hour, and people would wait too.
    """

    store: Pace
    _until: dict[int, float] = field(default_factory=dict)  # installation -> when the bot may write again

    def installations(self) -> list[int]:
        """Those for which no triage can begin."""
        now = self.store.clock()
        return [installation_id for installation_id, until in self._until.items() if until > now]

    def begin(self, job: Job) -> None:
        """Before a job's first request. Where no write had to wait yet, the store is not asked.

        Raises:
            PacedError: it would have to wait.
        """
        if job.kind == TRIAGE and job.installation_id in self._until:
            self._check(job, self.store.write_free_at(job.installation_id or 0, BOTS_SHARE))

    def take_write(self, job: Job) -> None:
        """Count a job's write, which is about to be sent.

        Raises:
            PacedError: it has to wait.
        """
        share = 1.0 if job.kind in OF_PEOPLE else BOTS_SHARE
        self._check(job, self.store.take_write(job.installation_id or 0, share))

    def _check(self, job: Job, free_at: float | None) -> None:
        if free_at is None:
            return
        if job.kind == TRIAGE:
            self._until[job.installation_id or 0] = free_at
        wait_s = free_at - self.store.clock()
        raise PacedError(f"writes are paced to stay below GitHub's limits; it goes on in {wait_s:.0f} s", free_at)
