from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: pip install 'distriage[serve]'")

from distriage_serving.batching import Batcher, BatchReport, ClosedError, QueueFullError


class Worker:
    """Doubles numbers while the gate is open; breaks down at 13."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.started = threading.Event()
        self.calls: list[list[int]] = []

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.calls.append(list(items))
        self.started.set()
        assert self.gate.wait(20)
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]


def run(scenario: Callable[[Worker], Coroutine[Any, Any, None]]) -> Worker:
    worker = Worker()
    asyncio.run(asyncio.wait_for(scenario(worker), 30))
    return worker


async def occupied(worker: Worker, **options: Any) -> tuple[Batcher[int, int], asyncio.Task[list[int]]]:
    """A batcher whose thread is busy with the item 0."""
    batcher: Batcher[int, int] = Batcher(worker, **{"capacity": 8, "batch_size": 4, **options})
    first = asyncio.create_task(batcher.submit([0]))
    await asyncio.to_thread(worker.started.wait, 20)
    return batcher, first


def test_requests_that_wait_share_a_batch_and_each_gets_its_own_results_in_order() -> None:
    async def scenario(worker: Worker) -> None:
        batcher, first = await occupied(worker)
        others = [asyncio.create_task(batcher.submit(items)) for items in ([1, 2], [3], [4, 5])]
        await asyncio.sleep(0)
        assert batcher.waiting == 5
        worker.gate.set()
        assert await asyncio.gather(first, *others) == [[0], [2, 4], [6], [8, 10]]
        await batcher.close()

    assert run(scenario).calls == [[0], [1, 2, 3, 4], [5]]


def test_a_full_queue_refuses_all_items_of_a_request_and_says_when_to_come_back() -> None:
    async def scenario(worker: Worker) -> None:
        batcher, first = await occupied(worker, capacity=3)
        second = asyncio.create_task(batcher.submit([1, 2]))
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError) as refused:
            await batcher.submit([3, 4])
        assert 1 <= refused.value.retry_after_s <= 60
        third = asyncio.create_task(batcher.submit([3]))
        worker.gate.set()
        assert await asyncio.gather(first, second, third) == [[0], [2, 4], [6]]
        await batcher.close()

    run(scenario)


def test_a_cancelled_request_leaves_the_queue_and_its_batch_goes_on() -> None:
    async def scenario(worker: Worker) -> None:
        batcher, first = await occupied(worker, capacity=3)
        second = asyncio.create_task(batcher.submit([1, 2]))
        third = asyncio.create_task(batcher.submit([3]))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        assert batcher.waiting == 1
        fourth = asyncio.create_task(batcher.submit([4, 5]))  # into the room that the cancelled one held
        await asyncio.sleep(0)
        first.cancel()  # whose batch is under way
        worker.gate.set()
        assert await asyncio.gather(third, fourth) == [[6], [8, 10]]
        await batcher.close()

    assert run(scenario).calls == [[0], [3, 4, 5]]


def test_one_item_that_breaks_the_worker_fails_alone() -> None:
    async def scenario(worker: Worker) -> None:
        batcher, first = await occupied(worker)
        requests = [asyncio.create_task(batcher.submit(items)) for items in ([1], [13], [2])]
        worker.gate.set()
        results = await asyncio.gather(first, *requests, return_exceptions=True)
        assert results[:2] == [[0], [2]] and results[3] == [4]
        assert isinstance(results[2], ValueError)
        await batcher.close()

    run(scenario)


def test_closing_finishes_what_is_queued_and_takes_no_more() -> None:
    async def scenario(worker: Worker) -> None:
        batcher, first = await occupied(worker)
        second = asyncio.create_task(batcher.submit([1]))
        await asyncio.sleep(0)
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0)
        with pytest.raises(ClosedError):
            await batcher.submit([2])
        worker.gate.set()
        await closing
        assert [await first, await second] == [[0], [2]]

    run(scenario)


def test_each_batch_is_reported() -> None:
    seen: list[BatchReport] = []

    async def scenario(worker: Worker) -> None:
        batcher, first = await occupied(worker, observe=seen.append)
        second = asyncio.create_task(batcher.submit([1, 2]))
        worker.gate.set()
        await asyncio.gather(first, second)
        await batcher.close()

    run(scenario)
    assert [len(report.waits_s) for report in seen] == [1, 2]
    assert all(report.seconds >= 0 and min(report.waits_s) >= 0 for report in seen)
