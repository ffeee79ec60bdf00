"""Seal a bundle: `bundle.json` with the sizes and checksums of its files. Who reads it always finds a whole one."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from distriage.model.bundle import DOMAIN, INDEX, REQUIRED_FILES, TRAINED_ON, Bundle, FileRecord, Manifest
from distriage.model.shipped import MANIFEST, MAPPED, sha256_of


def seal(folder: Path, manifest: Manifest) -> None:
    """Write `bundle.json` with the present sizes and checksums of the files."""
    names = [
        *REQUIRED_FILES,
        *(name for name in (MAPPED, DOMAIN, INDEX, TRAINED_ON) if (folder / name).is_file()),
    ]
    files = {name: FileRecord(bytes=(folder / name).stat().st_size, sha256=sha256_of(folder / name)) for name in names}
    sealed = manifest.model_copy(update={"files": files})
    part = folder / f".new-{MANIFEST}"
    part.write_text(sealed.model_dump_json(indent=1) + "\n", encoding="utf-8")
    part.replace(folder / MANIFEST)


@contextmanager
def changed(bundle: Bundle) -> Iterator[Path]:
    """A copy of a bundle for new files; sealed and checked, it replaces the bundle.

    Raises:
        BundleError: it does not load with the new files; the bundle is unchanged.
    """
    place = bundle.path.resolve()
    with TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as scratch:
        copy = shutil.copytree(place, Path(scratch) / place.name, copy_function=shutil.copyfile)
        yield copy
        seal(copy, bundle.manifest)
        Bundle(copy)
        put_in_place(copy, place)


def put_in_place(folder: Path, place: Path) -> None:
    """Move a folder to a place; the old folder is kept beside it.

    Atomic where the system allows; elsewhere the place is empty for a moment.
    """
    if not place.exists():
        folder.rename(place)
    elif not _exchange(folder, place):
        old = folder.with_name(f"{folder.name}.old")
        try:
            place.rename(old)
            folder.rename(place)
        except BaseException:
            if not place.exists():
                old.rename(place)
            raise


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two paths by Linux's `renameat2` (its manual page has the numbers); False if impossible."""
    if sys.platform != "linux":
        return False
    at_fdcwd, rename_exchange = -100, 2
    rename = getattr(ctypes.CDLL(None), "renameat2", None)  # absent from C libraries older than 2018
    arguments = (at_fdcwd, os.fsencode(one), at_fdcwd, os.fsencode(other), rename_exchange)
    return rename is not None and rename(*arguments) == 0
