"""Takes deliveries and jobs from the store and works on them until stopped. Network and database I/O.

A worker may die at any moment: its items are leased only for a while, then another takes them. All its work can be
done twice.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from distriage.base.errors import (
    ConfigError,
    GitHubError,
    InputError,
    NotFoundError,
    RateLimitError,
    RefusedError,
    TransferredError,
)
from distriage_serving.bot.asking.questions import hear
from distriage_serving.bot.asking.thread import news_of
from distriage_serving.bot.deliveries import Access, Ended, effect_of, installation_of
from distriage_serving.bot.follow_up import Done, follow_delivery, follow_job
from distriage_serving.bot.kinds import KINDS, Kind, Tools
from distriage_serving.bot.reconcile import give_back
from distriage_serving.bot.repositories import followed
from distriage_serving.github.app_auth import App
from distriage_serving.github.executor import why_refused
from distriage_serving.judging.judge import Judge
from distriage_serving.logs import log, without_message
from distriage_serving.store import (
    Delivery,
    Job,
    LeaseLostError,
    Store,
    UnavailableError,
    moved_job,
    sweep_job,
)
from distriage_serving.store.work.pacing import PacedError, Pacing

DELIVERIES_AT_ONCE: Final = 20
LONGEST_RETRY_S: Final = 3600.0
STUCK_AFTER_S: Final = 300.0
LONGEST_JOB_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Timing:
    """A worker's waits, in seconds.

    Attributes:
        debounce_s: An edited issue is looked at once it has been left alone this long.
        lease_s: After this long another worker takes over a dead worker's items.
        poll_s: Between two looks at an empty store.
        retry_s: After a first failure; doubles with each further one.
    """

    debounce_s: float
    lease_s: float = 60.0
    poll_s: float = 1.0
    retry_s: float = 10.0


class Worker:
    """One thread's worth of work; any number may share a store.

    Args:
        stop: When set, finish work under way and return.
        second_reads: Only ask the second reader, or do everything else; both if None.

    Attributes:
        on_labelled: Called after changes to an issue, with the seconds since the delivery that asked for them.
    """

    def __init__(
        self,
        store: Store,
        app: App,
        judge: Judge,
        stop: threading.Event,
        timing: Timing,
        second_reads: bool | None = None,
    ) -> None:
        self._store = store
        self._app = app
        self._judge = judge
        self._stop = stop
        self._timing = timing
        self._second_reads = second_reads
        self._pacing = Pacing(store)
        self.on_labelled: Callable[[float], None] = lambda _: None
        self._began_at = 0.0  # the job that is under way
        self._seen_s = time.monotonic()
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{random.randrange(1 << 32):08x}"

    def run(self) -> None:
        """Work until told to stop; outlives a database and a GitHub that are away for a while."""
        started = False
        while not self._stop.is_set():
            self._seen_s = time.monotonic()
            try:
                if not started:
                    self._store.put_job(sweep_job())
                    started = True
                worked = self.step()
            except UnavailableError:  # the store has said why
                worked = False
            except Exception as error:  # a worker must not end unnoticed
                log(logging.ERROR, "worker_failed", error)
                worked = False
            if not worked:
                self._stop.wait(self._timing.poll_s)

    def is_stuck(self) -> bool:
        """Whether it has shown no sign of life for minutes: it waits for an answer that will not come."""
        return time.monotonic() > self._seen_s + STUCK_AFTER_S + self._timing.lease_s

    def step(self) -> bool:
        """Work on due items: some deliveries, or else one job.

        Returns:
            False if nothing was due.

        Raises:
            UnavailableError: the database is away.
        """
        store, owner, lease_s, second = self._store, self._owner, self._timing.lease_s, self._second_reads
        deliveries = store.lease(Delivery, owner, lease_s, DELIVERIES_AT_ONCE) if not second else []
        paced = self._pacing.installations()
        jobs = store.lease(Job, owner, lease_s, second_reads=second, paced=paced) if not deliveries else []
        for delivery in deliveries:
            with _leased(delivery):
                self._receive(delivery)
        for job in jobs:
            with _leased(job):
                self._work(job)
        return bool(deliveries or jobs)

    def _receive(self, delivery: Delivery) -> None:
        store, debounce_s = self._store, self._timing.debounce_s
        try:
            payload = json.loads(delivery.payload)
            effect, installation_id = effect_of(delivery.event, payload), installation_of(payload)
            with store.transaction():
                ignored = follow_delivery(store, effect, installation_id or 0, debounce_s, delivery.received_at)
                news = news_of(delivery.event, payload) if installation_id is not None else None
                if news is not None and hear(store, news, installation_id or 0, debounce_s):
                    ignored = None
                store.finish(delivery, "ignored" if ignored else "done", ignored)
            if isinstance(effect, Access | Ended) and installation_id is not None:
                self._app.forget(installation_id)  # a token has only the permissions of the time it was made
        except (LeaseLostError, UnavailableError):
            raise
        except Exception as error:
            log(logging.ERROR, "delivery_failed", error, delivery=delivery.id, hook_event=delivery.event)
            self._try_again(delivery, without_message(error))

    # ---------------------------------------------------------------- outbox

    def _work(self, job: Job) -> None:
        store = self._store
        self._began_at = store.clock()
        try:
            with self._heartbeat(job) as lost:
                done = self._do(job, lost)
            with store.transaction():
                follow_job(store, done)
                self._finish(job, "ignored" if done.nothing_to_do else "done", done.note)
            if job.kind == "triage" and done.changes:
                self.on_labelled(store.clock() - job.created_at)
            idle = done.nothing_to_do
            log(logging.INFO, "job_done", job=job.id, kind=job.kind, attempts=job.attempts, nothing_to_do=idle)
        except (LeaseLostError, UnavailableError):
            raise
        except RateLimitError as error:
            store.defer(job, error.reset_epoch_s, str(error))
            why = "paced" if isinstance(error, PacedError) else "github_limit"
            log(logging.INFO, "job_deferred", job=job.id, kind=job.kind, until=error.reset_epoch_s, reason=why)
        except NotFoundError as error:
            self._finish(job, "ignored", str(error), why_refused(error))
        except (ConfigError, InputError, RefusedError) as error:
            if isinstance(error, RefusedError) and error.status == 401 and job.installation_id is not None:
                self._app.forget(job.installation_id)  # it may have been revoked; a new one may do
                self._try_again(job, str(error), error.status)
            else:  # only a person can fix it and then replay it
                why = why_refused(error) if isinstance(error, RefusedError) else str(error)
                self._finish(job, "dead", str(error), why)
                log(logging.WARNING, "job_given_up", job=job.id, kind=job.kind, reason=type(error).__name__)
        except GitHubError as error:
            self._try_again(job, str(error), error.status)
        except Exception as error:
            log(logging.ERROR, "job_failed", error, job=job.id, kind=job.kind)
            self._try_again(job, without_message(error))

    def _finish(
        self, job: Job, state: Literal["done", "ignored", "dead"], note: str | None, why: str | None = None
    ) -> None:
        """End a job; the queue gets back acts that it did not carry out, and why, if that is not the note."""
        with self._store.transaction():
            self._store.finish(job, state, note)
            if state != "done":
                give_back(self._store, job, why or note or "", self._began_at)

    def _do(self, job: Job, lost: threading.Event) -> Done:
        kind, tools = KINDS[job.kind], Tools(self._store, self._app, self._judge)
        repository = self._store.get_repository(job.repository)
        if repository is not None and not repository.enabled:
            return Done("the App was taken off the repository", nothing_to_do=True)
        if not kind.on_github:
            return kind.work(tools, job)
        if job.installation_id is None:
            return Done("no installation: nothing can be done on GitHub", nothing_to_do=True)
        limits = self._store.limits(job.installation_id)
        if until := limits.ends_at():
            raise RateLimitError("GitHub asked this installation to wait", until)
        try:
            self._pacing.begin(job)
            before_write = partial(self._before_write, job, lost)
            client = self._app.installation_client(job.installation_id, before_write=before_write, limits=limits)
            return self._do_on_github(kind, replace(tools, installation=client), job)
        except RateLimitError as error:
            if not isinstance(error, PacedError):
                limits.reached(error.reset_epoch_s)
            raise

    def _do_on_github(self, kind: Kind, tools: Tools, job: Job) -> Done:
        new = followed(tools.client, self._store, job.repository) if kind.reads_lists else None
        if new is None:
            try:
                return kind.work(tools, job)
            except TransferredError:
                new = followed(tools.client, self._store, job.repository)
                if new is None:
                    raise
        return Done(f"the repository is now {new}", nothing_to_do=True, jobs=(moved_job(job, new),))

    def _before_write(self, job: Job, lost: threading.Event) -> None:
        if lost.is_set():
            raise LeaseLostError(f"jobs {job.id}: the lease ran out")
        self._pacing.take_write(job)

    @contextmanager
    def _heartbeat(self, job: Job) -> Iterator[threading.Event]:
        """Keeps the lease during the work; the event signals its loss."""
        lost, over, began_s = threading.Event(), threading.Event(), time.monotonic()

        def beat() -> None:
            while not over.wait(self._timing.lease_s / 3):
                self._seen_s = min(time.monotonic(), began_s + LONGEST_JOB_S)
                try:
                    self._store.extend(job, self._timing.lease_s)
                except LeaseLostError:
                    lost.set()
                    return
                except UnavailableError:  # the next beat may come through; if none does, the lease ends by itself
                    continue

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            over.set()
            thread.join()

    def _try_again(self, item: Delivery | Job, error: str, status: int | None = None) -> None:
        wait_s = min(LONGEST_RETRY_S, self._timing.retry_s * 2 ** (item.attempts - 1)) * random.uniform(0.75, 1.25)
        with self._store.transaction():
            state = self._store.retry(item, self._store.clock() + wait_s, error)
            if state == "dead" and isinstance(item, Job):
                give_back(self._store, item, error, self._began_at)
        table, attempts = item.__tablename__, item.attempts
        log(logging.WARNING, "put_off", table=table, item=item.id, state=state, attempts=attempts, github_status=status)


@contextmanager
def _leased(item: Delivery | Job) -> Iterator[None]:
    """Leave an item alone once it took too long and another worker has it."""
    try:
        yield
    except LeaseLostError:
        log(logging.WARNING, "lease_lost", table=item.__tablename__, item=item.id)
