"""A cache of answers that change rarely. Safe to use from several threads."""

from __future__ import annotations

import threading

from distriage.github.answer import Ok

Key = tuple[str, ...]


class Remembered:
    """The latest answers, at most `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._answers: dict[Key, Ok] = {}  # the oldest first
        self._lock = threading.Lock()

    def get(self, key: Key) -> Ok | None:
        """The answer to a request, if known."""
        return self._answers.get(key)

    def put(self, key: Key, answer: Ok) -> None:
        """Keep an answer, replacing the earlier one; drops the oldest if there are too many."""
        with self._lock:
            self._answers.pop(key, None)
            self._answers[key] = answer
            while len(self._answers) > self._limit:
                del self._answers[next(iter(self._answers))]
