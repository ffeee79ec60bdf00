"""Files of arrays (.npz) that may be damaged: whatever is wrong with one is a line for people. Reads only."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distriage.base.errors import DistriageError

MAX_BYTES = 1 << 30  # unpacked: zeros are packed a thousandfold; 500,000 past issues, or 2,000 own labels, need less
# What numpy and zip files raise of bytes that are not theirs or claim too much, and we of arrays that do not fit.
_DAMAGED = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def arrays_of(
    file: Path, expected: str, error: type[DistriageError], check: Callable[[BufferedReader], None] | None = None
) -> Iterator[Mapping[str, NDArray[np.generic]]]:
    """The arrays by name, read as they are asked for; objects are never unpickled.

    Args:
        expected: What the file is not, where it is damaged or the body of the `with` refuses what it holds: `an index
            that this Distriage reads`.
        error: Raised then.
        check: Sees the file before, from its beginning, and raises ValueError.
    """
    try:
        with file.open("rb") as stream:  # the same file for all, whatever takes its name meanwhile
            if not zipfile.is_zipfile(stream):  # numpy would take it for a pickle, and say how to load that
                raise ValueError("no .npz file, or one that broke off")
            with zipfile.ZipFile(stream) as packed:
                if sum(item.file_size for item in packed.infolist()) > MAX_BYTES:
                    raise ValueError(f"more than {MAX_BYTES >> 20} MiB unpacked")
            if check is not None:
                stream.seek(0)
                check(stream)
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as arrays:
                yield arrays
    except _DAMAGED as fault:
        raise error(f"{file}: not {expected}: {fault}") from None
