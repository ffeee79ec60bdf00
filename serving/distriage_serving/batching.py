"""Requests that arrive while the model is busy share its next pass. One thread, one bounded queue, no waiting on purpose.

A batch is whatever lies in the queue when the thread becomes free. At low load that is one item at once; the busier, the larger.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_RETRY_AFTER_S: Final = 60
_SMOOTHING: Final = 0.2  # weight of the newest batch in the mean time per item


class QueueFullError(Exception):
    """There is no room for the items.

    Attributes:
        retry_after_s: Whole seconds in which the queue will have emptied at the present pace, at least 1.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"queue full, empty in about {retry_after_s} s")
        self.retry_after_s = retry_after_s


class ClosedError(Exception):
    """The batcher takes nothing more."""


@dataclass(slots=True)
class _Job(Generic[Item, Result]):
    item: Item
    result: asyncio.Future[Result]
    queued_at_s: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """Figures of one batch, for metrics.

    Attributes:
        waits_s: Time that each item spent in the queue, in seconds.
        seconds: Time in the worker.
    """

    waits_s: Sequence[float]
    seconds: float


class Batcher(Generic[Item, Result]):
    """Runs `work` on batches in a thread of its own. To be used from one event loop.

    Args of the constructor:
        work: Items -> one result an item, in order; called in the thread.
        capacity: Most items that wait.
        batch_size: Most items of one call.
        observe: Told of each batch, in the event loop.
    """

    def __init__(
        self, work: Callable[[Sequence[Item]], Sequence[Result]], *, capacity: int, batch_size: int, observe: Callable[[BatchReport], None] = lambda _: None
    ) -> None:
        self._work = work
        self._capacity = capacity
        self._batch_size = batch_size
        self._observe = observe
        self._queue: deque[_Job[Item, Result]] = deque()
        self._filled = asyncio.Event()
        self._closing = False
        self._item_seconds = 0.05  # a guess until the first batch is done
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="distriage-model")
        self._loop = asyncio.create_task(self._run())

    @property
    def waiting(self) -> int:
        """Items in the queue, those that nobody waits for any more left out."""
        return sum(not job.result.done() for job in self._queue)

    async def submit(self, items: Sequence[Item]) -> list[Result]:
        """Queue the items, all or none, and wait for their results.

        Returns:
            One result an item, in order. Cancelling the call takes items that have not been started out of the queue.

        Raises:
            QueueFullError: not all of them fit into the queue.
            ClosedError: the batcher is closing.
            Exception: whatever `work` raised for one of the items, when called with it alone.
        """
        if self._closing:
            raise ClosedError
        if len(self._queue) + len(items) > self._capacity:
            self._queue = deque(job for job in self._queue if not job.result.done())
        if len(self._queue) + len(items) > self._capacity:
            raise QueueFullError(min(MAX_RETRY_AFTER_S, max(1, math.ceil(len(self._queue) * self._item_seconds))))
        loop = asyncio.get_running_loop()
        jobs: list[_Job[Item, Result]] = [_Job(item, loop.create_future()) for item in items]
        self._queue.extend(jobs)
        self._filled.set()
        # All are awaited, so that no failure is left over for the event loop to print.
        results = await asyncio.gather(*(job.result for job in jobs), return_exceptions=True)
        good: list[Result] = []
        for result in results:
            if isinstance(result, BaseException):
                raise result
            good.append(result)
        return good

    async def close(self) -> None:
        """Take nothing more, finish what is queued, end the thread."""
        self._closing = True
        self._filled.set()
        await self._loop
        self._executor.shutdown()

    async def _run(self) -> None:
        while True:
            batch = self._take()
            if batch:
                await self._process(batch)
            elif self._closing:
                return
            else:
                self._filled.clear()
                await self._filled.wait()

    def _take(self) -> list[_Job[Item, Result]]:
        batch: list[_Job[Item, Result]] = []
        while self._queue and len(batch) < self._batch_size:
            job = self._queue.popleft()
            if not job.result.done():  # else its request was cancelled
                batch.append(job)
        return batch

    async def _process(self, batch: list[_Job[Item, Result]]) -> None:
        loop = asyncio.get_running_loop()
        started_s = time.perf_counter()
        outcomes = await loop.run_in_executor(self._executor, self._attempt, [job.item for job in batch])
        seconds = time.perf_counter() - started_s
        self._item_seconds += _SMOOTHING * (seconds / len(batch) - self._item_seconds)
        self._observe(BatchReport([started_s - job.queued_at_s for job in batch], seconds))
        for job, outcome in zip(batch, outcomes, strict=True):
            if job.result.done():
                continue
            if isinstance(outcome, _Failure):
                job.result.set_exception(outcome.error)
            else:
                job.result.set_result(outcome)

    def _attempt(self, items: Sequence[Item]) -> list[Result | _Failure]:
        try:
            results = self._work(items)
            if len(results) != len(items):
                raise RuntimeError(f"{len(results)} results of {len(items)} items")
        except Exception as error:
            if len(items) == 1:
                return [_Failure(error)]
            return [self._attempt([item])[0] for item in items]  # the innocent ones get their answer
        return list(results)


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Exception
