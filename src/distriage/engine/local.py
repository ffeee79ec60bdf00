"""Workers on this machine: one process a core, each with one thread. Order is kept; what waits is bounded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import chain, islice
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import ParamSpec, TypeVar

from distriage.engine.answers import Answers, Item, Settings
from distriage.errors import DistriageError

CHUNK = 8  # records that go to a worker together: about a fifth of a second
AHEAD = 3  # chunks a worker that are read before the oldest answer is taken
FEW = 64  # records that this process answers sooner than others start


P = ParamSpec("P")
T = TypeVar("T")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answer(items: Iterable[Item], settings: Settings, workers: int | None = None) -> Iterator[tuple[Item, str]]:
    """Each item with its line, in order.

    Args:
        items: Read only a little ahead of the answers, so that their number does not matter.
        workers: Processes; None: one a core, none where the items are few.

    Raises:
        BundleError: the model or the own labels do not load.
        DistriageError: a worker died.
    """
    stream = iter(items)
    first = list(islice(stream, FEW)) if workers is None else []
    few = workers is None and len(first) < FEW
    count = workers or cores()
    if few or count == 1:
        answers = Answers(settings)
        for item in chain(first, stream):
            yield item, answers.line(item)
    else:
        yield from _in_processes(chain(first, stream), settings, count)


def _in_processes(stream: Iterator[Item], settings: Settings, count: int) -> Iterator[tuple[Item, str]]:
    pending: deque[tuple[list[Item], Future[list[str]]]] = deque()
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start)
    try:
        while True:
            while len(pending) < count * AHEAD and (chunk := list(islice(stream, CHUNK))):
                pending.append((chunk, submit(pool, _lines, settings, chunk)))
            if not pending:
                return
            chunk, lines = pending.popleft()
            yield from zip(chunk, lines.result(), strict=True)
    except BrokenProcessPool:
        raise DistriageError(
            "a worker process died, perhaps for want of memory; `--workers` asks for fewer, `--resume` goes on"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def submit(pool: ProcessPoolExecutor, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> Future[T]:
    """`pool.submit`; a process that it starts begins with SIGINT blocked: while it still imports, Ctrl-C would end it
    in a traceback. The main process gets the signal a moment later.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return pool.submit(work, *arguments, **options)
    resource_tracker.ensure_running()  # where it starts with the first worker, it unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(work, *arguments, **options)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends the workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)  # a killed parent takes nothing from the queue any more


# With the first chunk, not in `_start`: what an initializer raises ends the process and never reaches the parent.
_loaded = cache(Answers)


def _lines(settings: Settings, chunk: list[Item]) -> list[str]:
    answers = _loaded(settings)
    return [answers.line(item) for item in chunk]
