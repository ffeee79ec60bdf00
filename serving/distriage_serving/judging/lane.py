"""A bounded queue of reports before the processes that work on them, one report at a time; requests take turns. Threads
wait for processes.

No batches: with a dynamically quantized model they are slower, and a verdict would depend on the report's neighbours.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.indexes import PastIndexes
from distriage_serving.judging.judge import Look, look
from distriage_serving.judging.process import ModelError, ModelProcess
from distriage_serving.judging.turns import Piece, Turns
from distriage_serving.logs import log
from distriage_serving.metrics import Metrics

T = TypeVar("T")

MAX_RETRY_AFTER_S: Final = 60
_SMOOTHING: Final = 0.2  # weight of the newest report in the mean time of one
_MOST_TIMES: Final = 3  # the mean, that a report counts: a single slow one says little of the others


class QueueFullError(Exception):
    """The queue is full, or so long that the work would not be done in time.

    Attributes:
        retry_after_s: Whole seconds until the queue is empty at the present pace, at least 1.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"queue full, empty in about {retry_after_s} s")
        self.retry_after_s = retry_after_s


class ClosedError(Exception):
    """The lane takes nothing more."""


class Lane:
    """Any thread may use it. Its processes start when they are first needed.

    Args:
        load: Makes the classifier, in a process; can be pickled.
        capacity: Most waiting pieces of work.
        deadline_s: CPU time that one piece may take.
        patience_s: How long one who submits work waits for it.
        observe: Called for each piece: seconds in the queue, seconds of work.
    """

    def __init__(
        self,
        load: Callable[[], Classifier],
        *,
        processes: int,
        capacity: int,
        deadline_s: float,
        patience_s: float = math.inf,
        observe: Callable[[float, float], None] = lambda _wait_s, _work_s: None,
    ) -> None:
        self._processes = processes
        self._capacity = capacity
        self._patience_s = patience_s
        self._observe = observe
        self._idle: SimpleQueue[ModelProcess] = SimpleQueue()
        for _ in range(processes):
            self._idle.put(ModelProcess(load, deadline_s))
        self._turns = Turns()
        self._closed = False
        self._lock = threading.Lock()
        self._item_s = 0.05  # a guess until the first is done
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="distriage-lane")

    @property
    def waiting(self) -> int:
        """Pieces of work in the queue."""
        with self._lock:
            return self._turns.waiting

    def start(self) -> Bundle:
        """Start one process now.

        Returns:
            The model's bundle.

        Raises:
            BundleError: the model cannot be loaded.
        """
        process = self._idle.get()
        try:
            return process.start()
        finally:
            self._idle.put(process)

    def submit(self, work: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[Future[T]]:
        """Queue `work(model, *each)`, all or none.

        Args:
            work: A module-level function, as it is sent by name; the first parameter is the classifier.

        Returns:
            One future each, in order; cancelling one that has not been started takes it out of the queue. Raises the
            errors of `ModelProcess.run`.

        Raises:
            QueueFullError: the queue is full, or its turns would come too late.
            ClosedError: the lane is closed.
        """
        with self._lock:
            if self._closed:
                raise ClosedError
            number, waiting, before = len(arguments), self._turns.waiting, self._turns.before(len(arguments))
            # Alone, a request is let in whatever it takes: with all refused, the pace would never be measured again.
            too_late = before > 0 and self._seconds(before + number) > self._patience_s
            if waiting + number > self._capacity or too_late:
                raise QueueFullError(min(MAX_RETRY_AFTER_S, max(1, math.ceil(self._seconds(waiting)))))
            return self._queue(work, arguments)

    def call(self, work: Callable[..., T], *arguments: Any) -> T:
        """Queue one piece of work, even if the queue is full, and wait: for threads, which are few."""
        with self._lock:
            if self._closed:
                raise ClosedError
            (future,) = self._queue(work, [arguments])
        return future.result()

    def _seconds(self, pieces: int) -> float:
        return pieces * self._item_s / self._processes

    def _queue(self, work: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[Future[T]]:
        pieces = [Piece(work, each, time.perf_counter()) for each in arguments]
        self._turns.add(pieces)
        for piece in pieces:
            piece.future.add_done_callback(partial(self._drop, piece))  # it may have been cancelled
            self._threads.submit(self._run)  # not this piece, but the one whose turn it is then
        return [piece.future for piece in pieces]

    def _drop(self, piece: Piece, _: Future[Any]) -> None:
        with self._lock:
            self._turns.drop(piece)

    def _run(self) -> None:
        with self._lock:
            piece = self._turns.next()
        if piece is None:  # the others were cancelled
            return
        process = self._idle.get()
        started_s, works = time.perf_counter(), False
        try:
            process.ready()
            started_s, works = time.perf_counter(), True  # to load the model is no report's work
            answer = partial(piece.future.set_result, process.run(piece.work, *piece.arguments))
        except BaseException as error:  # for the one who waits
            answer = partial(piece.future.set_exception, error)
        self._idle.put(process)
        seconds = time.perf_counter() - started_s if works else 0.0
        if works:
            self._item_s += _SMOOTHING * (min(seconds, _MOST_TIMES * self._item_s) - self._item_s)
        self._observe(started_s - piece.queued_s, seconds)
        answer()

    def close(self) -> None:
        """Refuse new work, finish queued work, end the processes."""
        with self._lock:
            self._closed = True
        self._threads.shutdown()
        while not self._idle.empty():
            self._idle.get().stop()


@dataclass(frozen=True, slots=True)
class LaneJudge:
    """A `Judge` for any thread."""

    lane: Lane
    bundle: Bundle
    past: PastIndexes
    metrics: Metrics

    def look(
        self, report: IssueReport, config: RepositoryConfig, filed_at: float = 0.0, axes: Sequence[str] = ()
    ) -> Look:
        """Look at a report in one of the lane's processes.

        Raises:
            InputError: the report cannot be classified.
            ModelError: the model failed on it.
        """
        try:
            seen = self.lane.call(look, report, config, filed_at, axes)
        except (InputError, ModelError) as error:
            self.metrics.reports.labels("failed").inc()
            if isinstance(error, InputError):
                log(logging.WARNING, "report_given_up", reason=str(error))
            raise
        self.metrics.decided(seen.verdict)
        return seen
