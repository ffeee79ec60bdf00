"""Places and file names of model bundles. Imports nothing heavy.

models/<name>/     a bundle; see `bundle.py`
models/DEFAULT     name of the default model; `distriage promote` writes it
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from distriage.base.errors import BundleError

DEFAULT_FILE = "DEFAULT"
MANIFEST = "bundle.json"
GRAPH = "model.onnx"
MAPPED = "mapped.onnx"  # may be missing


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's content, hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def model_folders() -> tuple[Path, Path]:
    """Folders of shipped models: inside the package (a wheel), beside `src` (a checkout)."""
    package = Path(__file__).parent.parent
    return package / "models", package.parent.parent / "models"


def default_in(folder: Path) -> str | None:
    """Name of the default model of a folder of models; None if its `DEFAULT` is missing.

    Raises:
        BundleError: the file names no model.
    """
    file = folder / DEFAULT_FILE
    if not file.is_file():
        return None
    name = file.read_text(encoding="utf-8", errors="replace").strip()
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
        raise BundleError(f"{file}: {name!r:.60}; expected the name of a model beside it")
    return name


def default_model() -> str:
    """Name of the default model, from `models/DEFAULT`.

    Raises:
        BundleError: the file is missing or empty.
    """
    for folder in model_folders():
        if name := default_in(folder):
            return name
    raise BundleError(
        f"no default model: {' and '.join(str(folder / DEFAULT_FILE) for folder in model_folders())} are missing"
    )


def find_bundle(model: str | Path | None = None) -> Path:
    """The directory of a bundle.

    Args:
        model: A directory, the name of a shipped model, or None for the default one.

    Raises:
        BundleError: unknown model.
    """
    if model is not None and Path(model).is_dir():
        return Path(model)
    name = str(model) if model is not None else default_model()
    candidates = [folder / name for folder in model_folders()]
    for candidate in candidates:
        if (candidate / MANIFEST).is_file():
            return candidate
    if Path(name).is_absolute():
        raise BundleError(f"model {name!r}: no such directory")
    raise BundleError(
        f"model {name!r}: no such directory and no shipped model of that name "
        f"(looked in {candidates[0].parent} and {candidates[1].parent})"
    )
