"""Heads of several repositories, read anew when a file of theirs changes. Reads only.

Heads in a folder OWNER/REPO are that repository's, and those of the repository that they were learned from, which may
have been renamed since. Of several, those in the folder of its name count, else the newest.

`distriage learn` replaces `own.json` last and atomically, so a reader of the new one finds its other files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from distriage.base.errors import BundleError
from distriage.base.references import repository_of
from distriage.model.bundle import Bundle
from distriage.own.labels import MANIFEST, OwnLabels

LOOK_S = 1.0  # the folder is looked into at most so often
PLACES = (MANIFEST, f"*/{MANIFEST}", f"*/*/{MANIFEST}")  # the folder itself, NAME, OWNER/REPO

Stamp = tuple[int, int, int]  # inode, size and time of the last change, in ns


class OwnShelf:
    """The heads below one folder. Safe to share between threads: its state is replaced whole.

    Attributes:
        heads: Repository in lower case -> its heads.
    """

    def __init__(self, folder: Path, bundle: Bundle, on_problem: Callable[[BundleError], None]) -> None:
        """Read the heads that exist now.

        Args:
            bundle: The one that will read the reports.
            on_problem: Called for heads that cannot be used, where earlier ones stay, and for those that others go
                before.

        Raises:
            BundleError: the folder is missing, or its only heads are damaged or of another model; among several, one
                repository's keep no other from its own.
        """
        if not folder.is_dir():
            raise BundleError(
                f"{folder}: no such folder; expected one that `distriage learn` wrote, or that holds such"
            )
        self._folder, self._bundle, self._on_problem = folder, bundle, on_problem
        self._stamps: dict[Path, Stamp] = {}
        self._read: dict[Path, OwnLabels] = {}
        self.heads: dict[str, OwnLabels] = {}
        self._looked = time.monotonic()
        self._look(on_problem if len(_stamps(folder)) > 1 else _raise)

    def of(self, identifier: str) -> OwnLabels | None:
        """The heads of the repository in `owner/repo#12`; for other names, the only heads if there are no others."""
        if time.monotonic() - self._looked >= LOOK_S:
            self._looked = time.monotonic()
            self._look(self._on_problem)
        heads, repository = self.heads, repository_of(identifier)
        if repository is not None:
            return heads.get(repository)
        return next(iter(heads.values())) if len(set(heads.values())) == 1 else None

    def _look(self, on_problem: Callable[[BundleError], None]) -> None:
        stamps = _stamps(self._folder)
        if stamps == self._stamps:
            return
        read = {}
        for file, stamp in stamps.items():
            try:
                known = (
                    self._read.get(file) if self._stamps.get(file) == stamp else OwnLabels(file.parent, self._bundle)
                )
            except BundleError as error:
                on_problem(error)
                known = self._read.get(file)
            if known is not None:
                read[file] = known
        self._stamps, self._read = stamps, read
        self.heads = self._chosen(read)

    def _chosen(self, read: Mapping[Path, OwnLabels]) -> dict[str, OwnLabels]:
        """Repository -> its heads; those that others go before are named."""
        found: dict[str, OwnLabels] = {}
        ranked = sorted(read.items(), key=lambda item: self._rank(*item), reverse=True)
        for file, labels in ranked:
            repository = labels.manifest.repository.casefold()
            if (used := found.setdefault(repository, labels)) is not labels:
                where = f"{file.parent}: not used for {labels.manifest.repository}"
                self._on_problem(BundleError(f"{where}: other heads, created {used.manifest.created}, go before"))
        return {place: labels for file, labels in ranked if "/" in (place := self._place(file))} | found

    def _rank(self, file: Path, labels: OwnLabels) -> tuple[bool, str, float]:
        manifest = labels.manifest
        return self._place(file) == manifest.repository.casefold(), manifest.created, manifest.until

    def _place(self, file: Path) -> str:
        return file.parent.relative_to(self._folder).as_posix().casefold()


def _stamps(folder: Path) -> dict[Path, Stamp]:
    found = {}
    for place in PLACES:
        for file in sorted(folder.glob(place)):
            try:
                status = file.stat()
            except OSError:  # taken away since
                continue
            found[file] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def _raise(error: BundleError) -> None:
    raise error
