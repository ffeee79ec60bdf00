"""Takes deliveries and jobs from the store and works on them until it is told to stop. Network and database I/O.

A worker may die at any moment: what it had is leased only for a while, then another takes it. Whatever it does can be done twice.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from distriage.classifier import Classifier
from distriage.errors import ConfigError, GitHubError, InputError, NotFoundError, RateLimitError
from distriage_serving.bot.answers import answer
from distriage_serving.bot.app_auth import App
from distriage_serving.bot.checks import check_pull_request
from distriage_serving.bot.deliveries import Effects, effects_of
from distriage_serving.bot.sweep import sweep
from distriage_serving.bot.triage import Done, mark, triage
from distriage_serving.github_rest import Client, RefusedError
from distriage_serving.logs import log
from distriage_serving.store import Delivery, Job, LeaseLostError, Repository, Store, UnavailableError

POLL_S: Final = 1.0
LEASE_S: Final = 60.0
DELIVERIES_AT_ONCE: Final = 20
SWEEP_EVERY_S: Final = 600.0
PURGE_AFTER_S: Final = 30 * 86400.0
FIRST_RETRY_S: Final = 10.0
LONGEST_RETRY_S: Final = 3600.0
_SWEEP: Final = "sweep"


class Worker:
    """One thread's worth of work; any number may share a store.

    Args of the constructor:
        stop: Set: finish what is under way and return.
        debounce_s: An edited issue is looked at only once nobody has touched it for so long.
        lease_s: So long after a worker's death another takes over what it had.
        retry_s: Wait after a first failure; it doubles with each further one.
    """

    def __init__(
        self,
        store: Store,
        app: App,
        classifier: Classifier,
        stop: threading.Event,
        *,
        debounce_s: float,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        retry_s: float = FIRST_RETRY_S,
    ) -> None:
        self._store = store
        self._app = app
        self._classifier = classifier
        self._stop = stop
        self._debounce_s = debounce_s
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._retry_s = retry_s
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{random.randrange(1 << 32):08x}"
        self._paused: dict[int, float] = {}  # installation -> until when GitHub asked it to wait

    def run(self) -> None:
        """Work until told to stop; outlives a database and a GitHub that are away for a while."""
        started = False
        while not self._stop.is_set():
            try:
                if not started:
                    self._store.put_job(_SWEEP, "sweep", "")
                    started = True
                worked = self.step()
            except UnavailableError as error:
                log(logging.ERROR, "store_unavailable", error)
                worked = False
            except Exception as error:  # a worker that ends is noticed by nobody
                log(logging.ERROR, "worker_failed", error)
                worked = False
            if not worked:
                self._stop.wait(self._poll_s)

    def step(self) -> bool:
        """Work on what is due: some deliveries, or else one job.

        Returns:
            False: there was nothing.

        Raises:
            UnavailableError: the database is away.
        """
        deliveries = self._store.lease(Delivery, self._owner, self._lease_s, DELIVERIES_AT_ONCE)
        jobs = self._store.lease(Job, self._owner, self._lease_s) if not deliveries else []
        for delivery in deliveries:
            with _leased(delivery):
                self._receive(delivery)
        for job in jobs:
            with _leased(job):
                self._work(job)
        return bool(deliveries or jobs)

    # ---------------------------------------------------------------- inbox

    def _receive(self, delivery: Delivery) -> None:
        try:
            payload = json.loads(delivery.payload)
            effects = effects_of(delivery.event, payload)
            with self._store.transaction():
                self._apply(effects)
                self._store.finish(delivery, "ignored" if effects.ignored else "done", effects.ignored)
        except (LeaseLostError, UnavailableError):
            raise
        except Exception as error:
            log(logging.ERROR, "delivery_failed", error, delivery=delivery.id, hook_event=delivery.event)
            self._try_again(delivery, _place(error))

    def _apply(self, effects: Effects) -> None:
        store, installation_id = self._store, effects.installation_id
        if installation_id is not None:
            for access in effects.accesses:
                if access.enabled:
                    row = store.get_repository(access.repository) or Repository(name=access.repository, display_name=access.repository, seen_at=0.0)
                    row.installation_id, row.enabled, row.seen_at = installation_id, True, store.clock()
                    store.save_repository(row)
            if lost := [access.repository.lower() for access in effects.accesses if not access.enabled]:
                store.disable_repositories(installation_id, lost)
            if effects.installation_ended:
                store.disable_repositories(installation_id)
                self._app.forget(installation_id)
        if effects.state is not None and effects.number is not None:
            mark(store, effects.repository, effects.number, effects.state)
        if (job := effects.job) is not None:
            due_at = store.clock() + (self._debounce_s if job.debounced else 0.0)
            store.put_job(job.key, job.kind, job.repository, issue=job.number, installation_id=installation_id, argument=job.argument, due_at=due_at)

    # ---------------------------------------------------------------- outbox

    def _work(self, job: Job) -> None:
        store = self._store
        try:
            with self._heartbeat(job) as lost:
                done = self._do(job, lost)
            with store.transaction():
                if done.then is not None:
                    done.then()
                store.finish(job, "ignored" if done.nothing_to_do else "done", done.note)
            log(logging.INFO, "job_done", job=job.id, kind=job.kind, attempts=job.attempts, nothing_to_do=done.nothing_to_do)
        except (LeaseLostError, UnavailableError):
            raise
        except RateLimitError as error:
            store.defer(job, error.reset_epoch_s, str(error))
            log(logging.INFO, "job_deferred", job=job.id, kind=job.kind, until=error.reset_epoch_s)
        except (NotFoundError, InputError) as error:
            store.finish(job, "ignored", str(error))
        except (ConfigError, RefusedError) as error:
            status = error.status if isinstance(error, RefusedError) else None
            if status == 401 and job.installation_id is not None:
                self._app.forget(job.installation_id)  # it may have been revoked; a new one may do
                self._try_again(job, str(error))
            elif status in {404, 410}:
                store.finish(job, "ignored", str(error))
            else:  # only a person can mend it; once it is mended, it can be replayed
                store.finish(job, "dead", str(error))
                log(logging.WARNING, "job_given_up", job=job.id, kind=job.kind, reason=type(error).__name__)
        except GitHubError as error:
            self._try_again(job, str(error))
        except Exception as error:
            log(logging.ERROR, "job_failed", error, job=job.id, kind=job.kind)
            self._try_again(job, _place(error))

    def _do(self, job: Job, lost: threading.Event) -> Done:
        if job.kind == "sweep":
            return self._sweep()
        if job.installation_id is None:
            return Done("no installation: nothing can be done on GitHub", nothing_to_do=True)
        until = self._paused.get(job.installation_id, 0.0)
        if until > self._store.clock():
            raise RateLimitError("GitHub asked this installation to wait", until)
        try:
            with self._app.installation_client(job.installation_id, before_write=partial(self._before_write, job, lost)) as client:
                return self._do_as_installation(job, client)
        except RateLimitError as error:
            if not isinstance(error, PacedError):
                self._paused[job.installation_id] = error.reset_epoch_s
            raise

    def _do_as_installation(self, job: Job, client: Client) -> Done:
        taxonomy = self._classifier.bundle.taxonomy
        if job.kind == "command":
            return answer(client, self._store, taxonomy, job)
        if job.kind == "check":
            return check_pull_request(client, taxonomy, job.repository, job.argument["head"], job.argument["base"])
        assert job.issue is not None
        return triage(client, self._store, self._classifier, job.repository, job.issue, job.installation_id)

    def _sweep(self) -> Done:
        store = self._store
        store.put_job(_SWEEP, "sweep", "", due_at=store.clock() + SWEEP_EVERY_S)
        store.purge(PURGE_AFTER_S)
        with self._app.client() as client:
            asked = sweep(client, store.clock())
        return Done(f"{asked} deliveries asked for again" if asked else None)

    def _before_write(self, job: Job, lost: threading.Event) -> None:
        if lost.is_set():
            raise LeaseLostError(f"jobs {job.id}: the lease ran out")
        assert job.installation_id is not None
        free_at = self._store.take_write(job.installation_id)
        if free_at is not None:
            raise PacedError(f"writes are paced to stay below GitHub's limits; it goes on in {free_at - self._store.clock():.0f} s", free_at)

    @contextmanager
    def _heartbeat(self, job: Job) -> Iterator[threading.Event]:
        """Keeps the lease while the work goes on; the event says that it was lost."""
        lost, over = threading.Event(), threading.Event()

        def beat() -> None:
            while not over.wait(self._lease_s / 3):
                try:
                    self._store.extend(job, self._lease_s)
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

    def _try_again(self, item: Delivery | Job, error: str) -> None:
        wait_s = min(LONGEST_RETRY_S, self._retry_s * 2 ** (item.attempts - 1)) * random.uniform(0.75, 1.25)
        state = self._store.retry(item, self._store.clock() + wait_s, error)
        log(logging.WARNING, "put_off", table=item.__tablename__, item=item.id, state=state, attempts=item.attempts)


class PacedError(RateLimitError):
    """One write too many for the moment, by our own count."""


@contextmanager
def _leased(item: Delivery | Job) -> Iterator[None]:
    """Leave an item alone once it took too long and somebody else has it."""
    try:
        yield
    except LeaseLostError:
        log(logging.WARNING, "lease_lost", table=item.__tablename__, item=item.id)


def _place(error: BaseException) -> str:
    """An error without its message, which may quote a report."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else type(error).__name__
