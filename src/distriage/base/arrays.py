"""Files of arrays (.npz) that may be damaged; any fault becomes one line for people. Reads only."""

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
# Raised by numpy and zip files for foreign bytes or excessive claims, and by us for arrays that do not fit.
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
    """The arrays by name, loaded on access; objects are never unpickled.

    Args:
        expected: Names the expected file in the error, as in `an index that this Distriage reads`.
        error: Raised if the file is damaged, or the body of the `with` refuses its content.
        check: Called first with the open file; raises ValueError.
    """
    try:
        with file.open("rb") as stream:  # read one file throughout, even if another takes its name
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
