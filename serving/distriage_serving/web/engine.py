"""The model inside the server: started in the background, fed through two lanes. Other processes read reports."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Final

from distriage.answer.similar import Similar
from distriage.answer.verdict import FailedRecord, Verdict
from distriage.base.errors import InputError
from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.past.answer import likely_duplicates
from distriage.past.index import PastIndex, PastQuery
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.indexes import PastIndexes
from distriage_serving.judging.judge import Look, look
from distriage_serving.judging.lane import ClosedError, Lane, LaneJudge, QueueFullError
from distriage_serving.judging.process import ModelError, load_classifier
from distriage_serving.logs import log
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.web.problem import invalid, unavailable

LOADING_RETRY_AFTER_S: Final = 2


class Engine:
    """Classifies reports for all requests.

    Attributes:
        load_error: Why the model could not be loaded; None if it was, or is being.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        load: Callable[[], Classifier] | None = None,
        on_load_error: Callable[[], None] = lambda: None,
        past: PastIndexes | None = None,
    ) -> None:
        """Set up; `start` loads the model.

        Args:
            load: Makes the classifier, in a process; can be pickled; default: from the settings.
            on_load_error: Called in the event loop if that fails.
            past: Default: the files named by the settings.
        """
        self._settings = settings
        self._metrics = metrics
        self._load = load or partial(
            load_classifier, settings.model, settings.threads, settings.own, settings.log_level, settings.releases
        )
        self._bundle: Bundle | None = None
        self.past = past or PastIndexes(settings.past)
        self.load_error: Exception | None = None
        self._on_load_error = on_load_error

    async def start(self) -> None:
        """Open the lanes and begin to load the model."""
        settings = self._settings
        # A report with `explain` takes dozens of times as long; in a lane of its own it holds up only its like.
        self._plain = self._lane("plain", settings.queue_reports, settings.processes)
        self._explained = self._lane("explain", settings.queue_explained_reports, 1)
        self._loading = asyncio.create_task(self._load_model())

    def _lane(self, name: str, capacity: int, processes: int) -> Lane:
        metrics = self._metrics

        def observe(wait_s: float, work_s: float) -> None:
            metrics.wait_seconds.labels(name).observe(wait_s)
            metrics.report_seconds.labels(name).observe(work_s)

        lane = Lane(
            self._load,
            processes=processes,
            capacity=capacity,
            deadline_s=self._settings.report_timeout_s,
            patience_s=self._settings.request_timeout_s,
            observe=observe,
        )
        metrics.queued.labels(name).set_function(lambda: lane.waiting)
        return lane

    async def _load_model(self) -> None:
        started_s = time.perf_counter()
        try:
            self._bundle = bundle = await asyncio.to_thread(self._plain.start)
        except Exception as error:
            self.load_error = error
            log(logging.ERROR, "model_not_loaded", error)
            self._on_load_error()
            return
        self._metrics.loaded(bundle)
        log(
            logging.INFO,
            "ready",
            model=bundle.manifest.name,
            taxonomy_version=bundle.taxonomy.version,
            load_s=round(time.perf_counter() - started_s, 3),
        )

    async def judge(self) -> LaneJudge | None:
        """Wait for the model, and return the judge for the bot's workers; None if it failed to load."""
        await asyncio.wait({self._loading})
        return None if self._bundle is None else LaneJudge(self._plain, self._bundle, self.past, self._metrics)

    async def close(self) -> None:
        """Finish queued work and end the processes."""
        await self._loading
        await asyncio.gather(asyncio.to_thread(self._plain.close), asyncio.to_thread(self._explained.close))

    @property
    def bundle(self) -> Bundle:
        """The bundle of the loaded model.

        Raises:
            ProblemError: it is not loaded yet (503).
        """
        if self._bundle is None:
            raise unavailable("not-ready", "the model is being loaded", LOADING_RETRY_AFTER_S)
        return self._bundle

    async def classify(
        self,
        reports: Sequence[IssueReport],
        mode: Mode,
        *,
        explain: bool,
        similar: bool = False,
        past: PastIndex | None = None,
    ) -> list[Verdict | FailedRecord | ModelError]:
        """Classify reports that passed `check_report`.

        Args:
            past: Where to look for likely duplicates, if anywhere.

        Returns:
            One verdict per report, in order; a `FailedRecord` for a report that takes too long to read, a `ModelError`
            for one on which the model failed.

        Raises:
            ProblemError: the model is not loaded, the queue is full, or the server is shutting down (503 each);
                `similar` with a model that has no index (422).
        """
        if similar and not Similar.available(self.bundle):
            raise invalid("this server's model has no index of known issues", "similar")
        _ = self.bundle
        lane, name = (self._explained, "explain") if explain else (self._plain, "plain")
        config = RepositoryConfig(mode=mode)
        futures = self._submit(lane, name, [(report, config, 0.0, (), explain, similar) for report in reports])
        # All are awaited, so that no failure is left over for the event loop to print.
        answers = await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
        if past is not None:
            answers = await asyncio.to_thread(lambda: [_with_duplicates(answer, past) for answer in answers])
        return [self._counted(report, answer) for report, answer in zip(reports, answers, strict=True)]

    async def past_query(self, report: IssueReport, filed_at: float) -> PastQuery:
        """A report as a query among past issues.

        Raises:
            InputError: it is empty, too large, or takes too long to read.
            ProblemError: as for `classify`.
        """
        _ = self.bundle
        (future,) = self._submit(self._plain, "plain", [(report, RepositoryConfig(), filed_at)])
        return (await asyncio.wrap_future(future)).past

    def _submit(self, lane: Lane, name: str, pieces: Sequence[tuple[Any, ...]]) -> list[Future[Look]]:
        try:
            return lane.submit(look, pieces)
        except QueueFullError as full:
            self._metrics.refused.labels(name).inc()
            raise unavailable("queue-full", "too many reports are waiting", full.retry_after_s) from None
        except ClosedError:
            raise unavailable("shutting-down", "the server is shutting down", 1) from None

    def _counted(self, report: IssueReport, answer: Look | BaseException) -> Verdict | FailedRecord | ModelError:
        if not isinstance(answer, BaseException):
            self._metrics.decided(answer.verdict)
            return answer.verdict
        self._metrics.reports.labels("failed").inc()
        if isinstance(answer, InputError):
            log(logging.WARNING, "report_given_up", reason=str(answer))
            return FailedRecord(id=report.id, error=str(answer))
        if isinstance(answer, ModelError):
            log(logging.ERROR, "report_failed", reason=str(answer))
            return answer
        raise answer


def _with_duplicates(answer: Look | BaseException, past: PastIndex) -> Look | BaseException:
    if isinstance(answer, BaseException):
        return answer
    same = likely_duplicates(past, answer.past)
    return replace(answer, verdict=answer.verdict.model_copy(update={"duplicates": same}))
