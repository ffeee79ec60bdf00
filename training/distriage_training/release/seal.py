"""Seal a bundle: `bundle.json` with the sizes and checksums of its files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distriage.bundle import DOMAIN, INDEX, MANIFEST, REQUIRED_FILES, TRAINED_ON, FileRecord, Manifest, sha256_of


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A file beside it to write to, which then takes its place: an interruption leaves no half of one."""
    part = file.with_name(f".new-{file.name}")  # NumPy would add a suffix to a name without its own
    yield part
    part.replace(file)


def seal(folder: Path, manifest: Manifest) -> None:
    """Write `bundle.json` with the sizes and checksums of the files as they are now."""
    names = [
        *REQUIRED_FILES,
        *(name for name in (DOMAIN, INDEX, TRAINED_ON) if (folder / name).is_file()),
    ]
    files = {name: FileRecord(bytes=(folder / name).stat().st_size, sha256=sha256_of(folder / name)) for name in names}
    sealed = manifest.model_copy(update={"files": files})
    with replacing(folder / MANIFEST) as part:
        part.write_text(sealed.model_dump_json(indent=1) + "\n", encoding="utf-8")
