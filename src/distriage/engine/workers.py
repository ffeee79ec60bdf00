"""Processes of this machine, one per core. On Linux they are forked from one that has imported everything; elsewhere
each imports it. Imports nothing heavy, so a command can `begin` before its own imports.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from typing import TypeVar

from distriage.base.errors import WorkerError
from distriage.reports.records import size_of

FEW = 64  # fewer items are done here before other processes have started
LARGE_BYTES = 100_000  # a file of this size mostly holds more reports than these
AHEAD = 3  # chunks a worker that are read before the oldest answer is taken
_FORKS = sys.platform == "linux"  # Windows cannot, and Apple's libraries may crash after it
_INTERRUPTS = {signal.SIGINT, signal.SIGTERM}
_IMPORTED = ["distriage.commands.main", "distriage.engine.local", "distriage.past.build"]

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def begin(sources: Iterable[str]) -> None:
    """Start the process to fork workers from, if a file is large. Returns at once, while that process imports."""
    if _FORKS and any(size_of(source) >= LARGE_BYTES for source in sources):
        from multiprocessing import forkserver

        _context()
        with _interrupts_deferred():
            forkserver.ensure_running()


def in_processes(
    work: Callable[[list[T]], list[R]], items: Iterable[T], count: int, chunk: int
) -> Iterator[tuple[T, R]]:
    """Each item with its result, in order. Reads a bounded number ahead.

    Args:
        work: A module-level function, or a `partial` of one: it is sent to the workers, like items and results.
        chunk: Items sent to a worker together.

    Raises:
        WorkerError: a worker died.
    """
    stream = iter(items)
    pending: deque[tuple[list[T], Future[list[R]]]] = deque()
    pool = ProcessPoolExecutor(count, _context(), _start)
    try:
        while True:
            while len(pending) < count * AHEAD and (some := list(islice(stream, chunk))):
                with _interrupts_deferred():
                    pending.append((some, pool.submit(work, some)))
            if not pending:
                return
            some, results = pending.popleft()
            yield from zip(some, results.result(), strict=True)
    except BrokenProcessPool:
        raise WorkerError("a worker process died, perhaps for want of memory; fewer workers need less") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _context() -> BaseContext:
    if not _FORKS:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Start processes with SIGINT and SIGTERM blocked: while they still import, Ctrl-C would end them in a traceback,
    and so would the end of this one. It gets the signal a moment later.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # if started with the first worker, it would unblock them
    before, heard = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS), list[int]()
    handlers = {}
    # A signal that another thread gets is handled in the main one.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.signal(number, lambda got, _: heard.append(got)) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if heard:
            signal.raise_signal(heard[0])


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends the workers
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # which the pool ends them with
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)  # a killed parent takes nothing from the queue any more
