"""Applies a function of a model to items, with one process per core if there are many. Runs the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TypeVar

from distriage.classifier import Classifier
from distriage.engine.workers import FEW, cores, in_processes

CHUNK = 16  # items that go to a worker together

T = TypeVar("T")
R = TypeVar("R")


def spread(
    work: Callable[[Classifier, Sequence[T]], list[R]],
    classifier: Classifier,
    items: Sequence[T],
    workers: int | None = None,
) -> Iterator[R]:
    """The results of `work`, one per item, in order.

    Args:
        work: A module-level function, as it is sent to the workers; gives one result per item.
        workers: Processes; by default one per core, or none for few items.

    Raises:
        DistriageError: a worker died.
    """
    count = workers or (1 if len(items) < FEW else cores())
    if count == 1:
        for item in items:
            yield from work(classifier, [item])
        return
    for _, found in in_processes(partial(_by_name, work, str(classifier.bundle.path)), items, count, CHUNK):
        yield found


@cache
def _loaded(model: str) -> Classifier:
    return Classifier(model, threads=1)


def _by_name(work: Callable[[Classifier, Sequence[T]], list[R]], model: str, items: list[T]) -> list[R]:
    return work(_loaded(model), items)
