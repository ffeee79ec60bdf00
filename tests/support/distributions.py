"""`python distributions.py FOLDER` in a checkout: its source distribution, and the wheel that this one builds.

As `python -m build --no-isolation`, but compressed as little as can be: the best compression of 50 MB takes 15 seconds.
"""

from __future__ import annotations

import gzip
import os
import sys
import tarfile
import tempfile
import zlib
from functools import partial
from pathlib import Path

STORED = 0


def build(folder: Path) -> None:
    """Write both into the folder."""
    from hatchling.build import build_sdist, build_wheel

    folder.mkdir()
    source = folder / build_sdist(str(folder))
    with tempfile.TemporaryDirectory() as name, tarfile.open(source, "r|gz") as archive:
        archive.extractall(name)
        (root,) = Path(name).iterdir()
        os.chdir(root)
        build_wheel(str(folder))
        os.chdir(folder)


if __name__ == "__main__":
    gzip.GzipFile = partial(gzip.GzipFile, compresslevel=STORED)  # type: ignore[assignment, misc]
    zlib.Z_DEFAULT_COMPRESSION = STORED  # zipfile's  # type: ignore[misc]
    build(Path(sys.argv[1]).resolve())
