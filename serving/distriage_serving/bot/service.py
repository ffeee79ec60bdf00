"""The bot as the server and `distriage worker` run it: settings -> App, store and worker threads."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import ExitStack
from functools import partial

from distriage.base.errors import ConfigError
from distriage.github.http_client import connections
from distriage.model.shipped import find_bundle
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import open_app
from distriage_serving.judging.indexes import PastIndexes, show_indexes
from distriage_serving.judging.judge import Judge
from distriage_serving.judging.lane import Lane, LaneJudge
from distriage_serving.judging.process import load_classifier
from distriage_serving.judging.two_readers import TwoReaders, open_reader
from distriage_serving.logs import configure_logging
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.probes import probes


class Workers:
    """The worker threads of one process.

    Raises:
        ConfigError: the App's private key, or a file of the second reader, cannot be read.
        GitHubError: the proxy or the certificates that the environment names cannot be used.
    """

    def __init__(self, settings: Settings, store: Store, metrics: Metrics) -> None:
        app = open_app(settings)
        assert app is not None
        connections().event_hooks = {"response": [metrics.github_answered]}
        self._metrics = metrics
        self._settings = settings
        self._store = store
        self._app = app
        self._reader = open_reader(settings, store) if settings.second_reader is not None else None
        self._threads: list[tuple[threading.Thread, Worker]] = []
        self.stop = threading.Event()

    def start(self, judge: Judge, number: int) -> None:
        """Start this number of workers, and one for the second reader, if any, which delays no other work."""
        timing = Timing(debounce_s=self._settings.debounce_s, lease_s=self._settings.lease_s)
        does: list[bool | None] = [None] * number
        if self._reader is not None and number:
            judge = TwoReaders(judge, self._store, self._reader)
            does = [*[False] * number, True]
        for place, second_reads in enumerate(does):
            worker = Worker(self._store, self._app, judge, self.stop, timing, second_reads)
            worker.on_labelled = self._metrics.label_seconds.observe
            thread = threading.Thread(target=worker.run, name=f"worker-{place}", daemon=True)
            self._threads.append((thread, worker))
            thread.start()

    def are_alive(self) -> bool:
        """Whether every thread works."""
        return all(thread.is_alive() and not worker.is_stuck() for thread, worker in self._threads)

    def close(self) -> None:
        """Let work under way finish; another worker later takes over work that exceeds the shutdown time."""
        self.stop.set()
        ends_at = time.monotonic() + self._settings.shutdown_timeout_s
        for thread, _ in self._threads:
            thread.join(max(0.0, ends_at - time.monotonic()))


def run_worker(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT.

    Raises:
        ConfigError: the bot's settings are not given, or the database cannot be opened.
        BundleError: the model is missing or fails verification.
    """
    if not settings.has_bot:
        raise ConfigError(
            "DISTRIAGE_GITHUB_APP_ID: expected the id of a GitHub App, with its private key and webhook secret; see "
            "docs/operators.md"
        )
    find_bundle(settings.model)
    with Store.open(settings.database) as store:
        metrics, past = Metrics(), PastIndexes(settings.past, store)
        show_indexes(metrics, settings, past)
        workers = Workers(settings, store, metrics)
        configure_logging(settings.log_level)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: workers.stop.set())
        lane = Lane(
            partial(load_classifier, settings.model, settings.threads, settings.own, settings.log_level),
            processes=settings.processes,
            capacity=settings.queue_reports,
            deadline_s=settings.report_timeout_s,
        )
        with ExitStack() as opened:
            if settings.metrics_port is not None:
                opened.enter_context(probes(settings, store, metrics, workers.are_alive))
            bundle = lane.start()
            metrics.loaded(bundle)
            workers.start(LaneJudge(lane, bundle, past, metrics), max(1, settings.workers))
            workers.stop.wait()
        workers.close()
        lane.close()
