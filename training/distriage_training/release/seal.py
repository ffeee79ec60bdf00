"""Seal a bundle: `bundle.json` with the sizes and checksums of its files."""

from __future__ import annotations

from pathlib import Path

from distriage.bundle import DOMAIN, INDEX, MANIFEST, REQUIRED_FILES, TRAINED_ON, FileRecord, Manifest, sha256_of


def seal(folder: Path, manifest: Manifest) -> None:
    """Write `bundle.json` with the sizes and checksums of the files as they are now."""
    names = [
        *REQUIRED_FILES,
        *(name for name in (DOMAIN, INDEX, TRAINED_ON) if (folder / name).is_file()),
    ]
    files = {name: FileRecord(bytes=(folder / name).stat().st_size, sha256=sha256_of(folder / name)) for name in names}
    sealed = manifest.model_copy(update={"files": files})
    (folder / MANIFEST).write_text(sealed.model_dump_json(indent=1) + "\n", encoding="utf-8")
