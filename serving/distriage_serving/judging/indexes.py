"""The server's indexes of past issues, from the store or a folder's files. Database I/O; reads files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from distriage.answer.verdict import LikelyDuplicate
from distriage.base.errors import ConfigError, InputError
from distriage.own.shelf import PLACES
from distriage.past.answer import github_ids, likely_duplicates
from distriage.past.file import load_index
from distriage.past.index import PastIndex, PastQuery, make_index
from distriage.past.issue import PastIssue
from distriage.past.packed import unpack
from distriage.past.update import updated
from distriage.past.words import Features, Floats
from distriage_serving.http_settings import PREFIX
from distriage_serving.logs import log
from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import PastRow, Store
from distriage_serving.store.past import PAGE_ROWS

ANEW_AT: Final = 10  # an index is rebuilt once one in this many issues has changed


@dataclass(slots=True)
class _Made:
    """An index made from the store.

    Attributes:
        revision: The store's.
        changed: Issues changed since it was rebuilt.
    """

    index: PastIndex
    revision: int
    changed: int = 0


class PastIndexes:
    """The indexes of repositories: of the issues in the store, kept up to date by the bot, or else of the folder's file
    `OWNER--REPO.npz` in lower case. Each is made on first use, and follows changes.

    Any thread may use it.
    """

    def __init__(self, folder: Path | None, store: Store | None = None) -> None:
        """Begin with none.

        Raises:
            ConfigError: there is no such folder: without its files no issue would be likely the same as another.
        """
        if folder is not None and not folder.is_dir():
            raise ConfigError(f"{PREFIX}PAST: {folder}: no such folder; expected one with indexes of past issues")
        self._folder = folder
        self._store = store
        # Each repository has a lock of its own, while it is in use: making an index takes seconds.
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()  # of `_locks`
        self._read: dict[Path, tuple[int, PastIndex | None]] = {}
        self._made: dict[str, _Made] = {}
        self._told: dict[str, str] = {}  # repository -> another model that read its issues, as the log said

    @property
    def loaded(self) -> int:
        """How many indexes are in memory."""
        return len(self._made) + sum(index is not None for _, index in list(self._read.values()))

    def has(self, repository: str) -> bool:
        """Whether a repository has an index."""
        if self._store is not None and self._store.past_repository(repository) is not None:
            return True
        file = self._file(repository)
        return file is not None and file.is_file()

    def index(self, repository: str, model: str, *, only_files: bool = False) -> PastIndex | None:
        """The index of a repository; None if it is missing, unreadable or of another model.

        Args:
            only_files: Skip the store, which holds the issues of every repository that the bot works for.
        """
        with self._lock:
            of_repository = self._locks.setdefault(repository.lower(), threading.Lock())
        with of_repository:
            kept = None if only_files else self._from_store(repository.lower(), model)
            return kept or self._from_file(repository, model)

    def duplicates(self, query: PastQuery, model: str) -> list[LikelyDuplicate] | None:
        """The past issues that are likely the same as an issue; None if its repository has no index."""
        index = self.index(PastIssue(query.id, "").place, model)
        return None if index is None else likely_duplicates(index, query)

    def github_ids(self, repository: str, found: Collection[LikelyDuplicate], model: str) -> dict[str, int]:
        """Likely duplicates, as `distriage.past.answer.github_ids`."""
        index = self.index(repository, model) if found else None
        return {} if index is None else github_ids(index, found)

    # ---------------------------------------------------------------- store

    def _from_store(self, repository: str, model: str) -> PastIndex | None:
        store = self._store
        known = store.past_repository(repository) if store is not None else None
        if store is None or known is None:
            return None
        if known.model != model:
            if self._told.get(repository) != known.model:
                self._told[repository] = known.model
                why = f"read by {known.model}, and the model is {model}"
                log(logging.WARNING, "past_not_read", reason=f"{why}: run `distriage backfill {repository} --past`")
            return None
        made = self._made.get(repository)
        if made is not None and made.revision < known.begun_at_revision:
            made = None
        if made is not None and made.revision == known.revision:
            return made.index
        with store.reading():
            rows = _rows(store, repository, made.revision if made is not None else 0)
            if made is not None and (made.changed + len(rows)) * ANEW_AT > len(made.index.issues):
                made, rows = None, _rows(store, repository, 0)
            again = store.past_repository(repository)
        if again is None or again.begun_at_revision != known.begun_at_revision:
            return None  # another model has started over meanwhile
        if made is None:
            new = _Made(make_index(*_parts(rows), model), known.revision)
        else:
            gone = [f"{repository}#{row.number}" for row in rows if row.fingerprint is None]
            index = updated(made.index, gone, *_parts(rows)) if rows else made.index
            new = _Made(index, known.revision, made.changed + len(rows))
        self._made[repository] = new  # changes during the reading are read again
        return new.index

    # ---------------------------------------------------------------- files

    def _file(self, repository: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{repository.lower().replace('/', '--')}.npz"

    def _from_file(self, repository: str, model: str) -> PastIndex | None:
        file = self._file(repository)
        if file is None:
            return None
        try:
            changed = file.stat().st_mtime_ns
        except OSError:
            return None
        if self._read.get(file, (0, None))[0] != changed:
            try:
                self._read[file] = (changed, load_index(file).made_with(model, file))
            except InputError as error:
                log(logging.ERROR, "past_not_read", reason=str(error))
                self._read[file] = (changed, None)
        return self._read[file][1]


def show_indexes(metrics: Metrics, settings: Settings, past: PastIndexes) -> None:
    """Have the metrics count the indexes of this process, and the heads of own labels that its model reads."""
    metrics.indexes.labels("past").set_function(lambda: past.loaded)
    if settings.own is not None:
        folder = Path(settings.own)
        metrics.indexes.labels("own").set_function(lambda: sum(1 for place in PLACES for _ in folder.glob(place)))


def _rows(store: Store, repository: str, since: int) -> list[PastRow]:
    rows = page = store.past_rows(repository, since, 0)
    while len(page) == PAGE_ROWS:
        rows = rows + (page := store.past_rows(repository, since, page[-1].number))
    return rows


def _parts(rows: list[PastRow]) -> tuple[list[PastIssue], list[Features], list[Floats]]:
    issues, features, vectors = [], [], []
    for row in rows:
        if row.fingerprint is None:
            continue
        reference = f"{row.repository}#{row.number}"
        closed_by = row.closed_by if row.state == "closed" else ""  # of an open one, what may close it
        told = (row.title, row.url, row.state, closed_by, row.filed_at, row.github_id)
        more = (row.closed_at, row.milestone, row.version, row.reactions, row.signature)
        issues.append(PastIssue(reference, *told, *more))
        counted, vector = unpack(row.fingerprint)
        features.append(counted)
        vectors.append(vector)
    return issues, features, vectors
