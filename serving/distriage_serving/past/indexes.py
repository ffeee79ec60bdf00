"""The indexes of past issues that the server has, from the files of a folder. Reads files."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from distriage.errors import InputError
from distriage.past.index import PastIndex, load_index
from distriage_serving.logs import log


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

    def index(self, repository: str, model: str) -> PastIndex | None:
        """The index of a repository; None: it has none that can be read, or one of another model."""
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
                    self._read[file] = (changed, _of_model(load_index(file), model, file))
                except InputError as error:
                    log(logging.ERROR, "past_not_read", reason=str(error))
                    self._read[file] = (changed, None)
            return self._read[file][1]


def _of_model(index: PastIndex, model: str, file: Path) -> PastIndex:
    if index.vectors.size and index.model != model:
        raise InputError(f"{file}: made with the model {index.model}; expected {model}: index anew")
    return index
