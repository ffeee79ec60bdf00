"""Threads that wait for the database. Writers are few and separate, so that a lock never stops readers.

Routes that are not coroutines run in Starlette's own threads; they only read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import anyio
from anyio import to_thread
from starlette.requests import Request

from distriage_serving.store import UnavailableError
from distriage_serving.web.rooms import rooms

T = TypeVar("T")
WITHIN_S: Final = 8.0  # GitHub gives up after 10 s


async def write(request: Request, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function that writes to the store for a person."""
    return await to_thread.run_sync(function, *arguments, limiter=rooms(request).writers.people)


async def write_soon(request: Request, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function that writes to the store for a machine that does not wait long.

    Raises:
        UnavailableError: it has not come to an end in time; it may do so later.
    """
    limiter = rooms(request).writers.machines
    with anyio.move_on_after(WITHIN_S):
        return await to_thread.run_sync(function, *arguments, limiter=limiter, abandon_on_cancel=True)
    raise UnavailableError("the database has been locked for long")
