"""Workers on this machine: one single-threaded process per core. Keeps the order; the backlog is bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import chain, islice

from distriage.engine import Settings
from distriage.engine.answers import CHUNK, Answers, Item
from distriage.engine.workers import FEW, cores, in_processes


def answer(items: Iterable[Item], settings: Settings, workers: int | None = None) -> Iterator[tuple[Item, str]]:
    """Each item with its line, in order.

    Args:
        items: Read only a little ahead of the answers, so their number does not matter.
        workers: Processes; by default one per core, or none for few items.

    Raises:
        BundleError: the model or the own labels do not load.
        DistriageError: a worker died.
    """
    stream = iter(items)
    first = list(islice(stream, FEW)) if workers is None else []
    few = workers is None and len(first) < FEW
    count, rest = workers or cores(), chain(first, stream)
    together = 1 if settings.explain else CHUNK  # up to 40 passes a report take a second by themselves
    if not few and count > 1:
        yield from in_processes(partial(_lines, settings), rest, count, together)
        return
    answers = Answers(settings)
    while chunk := list(islice(rest, together)):
        yield from zip(chunk, answers.lines(chunk), strict=True)


# Loaded with the first chunk: an error at the start of a process ends it and never reaches the parent.
_loaded = cache(Answers)


def _lines(settings: Settings, chunk: list[Item]) -> list[str]:
    return _loaded(settings).lines(chunk)
