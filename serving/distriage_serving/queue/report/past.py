"""The past issues of a repository that are nearest to one, from the index files of a folder. Reads files."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from distriage.errors import InputError
from distriage.past.index import Known, Match, PastIndex, load_index
from distriage.past.same import is_spoken_of
from distriage_serving.logs import log
from distriage_serving.queue.listing import percent

NEAREST: Final = 5


class PastIndexes:
    """The indexes of a folder, `OWNER--REPO.npz` in lower case, read when they are first needed and when they changed.

    Any thread may use it.

    Args of the constructor:
        folder: None: there are none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[int, PastIndex | None]] = {}

    def has(self, repository: str) -> bool:
        """Whether a repository has an index."""
        file = self._file(repository)
        return file is not None and file.is_file()

    def _file(self, repository: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{repository.lower().replace('/', '--')}.npz"

    def index(self, repository: str) -> PastIndex | None:
        """The index of a repository; None: it has none that can be read."""
        file = self._file(repository)
        if file is None:
            return None
        try:
            changed = file.stat().st_mtime_ns
        except OSError:
            return None
        with self._lock:
            if self._read.get(file, (0, None))[0] != changed:
                try:
                    self._read[file] = (changed, load_index(file))
                except InputError as error:
                    log(logging.ERROR, "past_not_read", reason=str(error))
                    self._read[file] = (changed, None)
            return self._read[file][1]


@dataclass(frozen=True, slots=True)
class PastView:
    """One past issue; `same` is empty unless it is likely the same issue."""

    number: int
    url: str
    title: str
    state: str
    closed_by: str
    same: str


def nearest(index: PastIndex, known: Known) -> list[PastView]:
    """The nearest past issues."""
    return [_view(match) for match in index.find(known, NEAREST)]


def _view(match: Match) -> PastView:
    issue = match.issue
    same = percent(match.same) if match.same is not None and is_spoken_of(match.same) else ""
    return PastView(issue.number, issue.url, issue.title, issue.state, issue.closed_by, same)
