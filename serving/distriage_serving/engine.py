"""The model inside the server: loaded in the background, fed through two queues. The only module that calls the classifier."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from distriage.classifier import Classifier
from distriage.policy import Mode
from distriage.similar import Similar
from distriage.types import IssueReport
from distriage.verdict import Verdict, make_verdict
from distriage_serving.batching import Batcher, BatchReport, ClosedError, QueueFullError
from distriage_serving.logs import log
from distriage_serving.metrics import Metrics
from distriage_serving.problem import InvalidPart, ProblemError, pointer, unavailable
from distriage_serving.settings import Settings

LOADING_RETRY_AFTER_S: Final = 2


@dataclass(frozen=True, slots=True)
class Task:
    """One report to classify, and how."""

    report: IssueReport
    mode: Mode
    explain: bool
    similar: bool


class Engine:
    """Classifies reports for all requests.

    Attributes:
        load_error: Why the model could not be loaded; None if it was, or is being.
        on_load_error: Called then, in the event loop.
    """

    def __init__(self, settings: Settings, metrics: Metrics, load: Callable[[], Classifier] | None = None) -> None:
        self._settings = settings
        self._metrics = metrics
        self._load = load or (lambda: Classifier(settings.model, threads=settings.threads))
        self._classifier: Classifier | None = None
        self._similar: Similar | None = None
        self.load_error: Exception | None = None
        self.on_load_error: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Open the queues and begin to load the model."""
        settings = self._settings
        # A report with `explain` takes hundreds of times as long; in a queue of its own it holds up only its like.
        self._plain = self._lane("plain", settings.queue_reports, settings.batch_reports)
        self._explained = self._lane("explain", settings.queue_explained_reports, 1)
        self._loading = asyncio.create_task(self._load_model())

    def _lane(self, name: str, capacity: int, batch_size: int) -> Batcher[Task, Verdict]:
        metrics = self._metrics

        def observe(batch: BatchReport) -> None:
            metrics.batch_reports.labels(name).observe(len(batch.waits_s))
            metrics.batch_seconds.labels(name).observe(batch.seconds)
            for wait_s in batch.waits_s:
                metrics.wait_seconds.labels(name).observe(wait_s)

        lane: Batcher[Task, Verdict] = Batcher(self._work, capacity=capacity, batch_size=batch_size, observe=observe)
        metrics.queued.labels(name).set_function(lambda: lane.waiting)
        return lane

    async def _load_model(self) -> None:
        started_s = time.perf_counter()
        try:
            classifier = await asyncio.to_thread(self._load)
            if Similar.available(classifier.bundle):
                self._similar = await asyncio.to_thread(Similar, classifier)
            self._classifier = classifier
        except Exception as error:
            self.load_error = error
            log(logging.ERROR, "model_not_loaded", error)
            self.on_load_error()
            return
        bundle = classifier.bundle
        self._metrics.loaded(bundle)
        log(logging.INFO, "ready", model=bundle.manifest.name, taxonomy_version=bundle.taxonomy.version, load_s=round(time.perf_counter() - started_s, 3))

    async def loaded(self) -> Classifier | None:
        """Wait for the model; None: it could not be loaded."""
        await asyncio.wait({self._loading})
        return self._classifier

    async def close(self) -> None:
        """Finish what is queued and end the threads."""
        await self._loading
        await asyncio.gather(self._plain.close(), self._explained.close())

    @property
    def classifier(self) -> Classifier:
        """The loaded model.

        Raises:
            ProblemError: it is not loaded yet (503).
        """
        if self._classifier is None:
            raise unavailable("not-ready", "the model is being loaded", LOADING_RETRY_AFTER_S)
        return self._classifier

    async def classify(self, reports: Sequence[IssueReport], mode: Mode, *, explain: bool, similar: bool = False) -> list[Verdict]:
        """Classify reports that `check_report` has let pass.

        Returns:
            One verdict a report, in order.

        Raises:
            ProblemError: the model is not loaded, the queue is full, or the server is shutting down (503 each); `similar` is
                asked of a model without an index (422).
        """
        _ = self.classifier
        if similar and self._similar is None:
            what = "this server's model has no index of known issues"
            raise ProblemError(422, "invalid-request", what, errors=[InvalidPart(pointer=pointer(["similar"]), detail=what)])
        lane, name = (self._explained, "explain") if explain else (self._plain, "plain")
        try:
            verdicts = await lane.submit([Task(report, mode, explain, similar) for report in reports])
        except QueueFullError as full:
            self._metrics.refused.labels(name).inc()
            raise unavailable("queue-full", "more reports are waiting than the queue holds", full.retry_after_s) from None
        except ClosedError:
            raise unavailable("shutting-down", "the server is shutting down", 1) from None
        except Exception:
            self._metrics.reports.labels("failed").inc(len(reports))
            raise
        for verdict in verdicts:
            self._metrics.decided(verdict)
        return verdicts

    def _work(self, tasks: Sequence[Task]) -> list[Verdict]:
        classifier = self.classifier
        predictions = classifier.predict([task.report for task in tasks])
        return [
            make_verdict(classifier, task.report, prediction, task.mode, with_evidence=task.explain, similar=self._similar if task.similar else None)
            for task, prediction in zip(tasks, predictions, strict=True)
        ]
