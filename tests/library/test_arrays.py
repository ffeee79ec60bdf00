"""Files of arrays from somewhere: what they unpack to is bounded before anything is unpacked."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from distriage.base import arrays
from distriage.base.arrays import arrays_of
from distriage.base.errors import InputError
from distriage.past.file import load_index


def header(shape: tuple[int, ...], dtype: str = "|i1") -> bytes:
    """The beginning of a member of an .npz file."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def packed(file: Path, members: Mapping[str, tuple[bytes, int]]) -> Path:
    """A file of members: how each begins, and how many zeros follow."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, (beginning, zeros) in members.items():
            with made.open(f"{name}.npy", "w") as member:
                member.write(beginning)
                for _ in range(0, zeros, 1 << 20):
                    member.write(bytes(1 << 20))
    return file


def test_a_small_file_that_unpacks_to_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 5 << 20
    file = packed(tmp_path / "bomb.npz", {name: (header((size,)), size) for name in ("vectors", "scales")})
    assert file.stat().st_size < size // 100
    for limit, read in ((8 << 20, False), (11 << 20, True)):
        monkeypatch.setattr(arrays, "MAX_BYTES", limit)
        with (
            pytest.raises(InputError, match=r"bomb\.npz: not it: (more than 8 MiB unpacked|read)$") as refused,
            arrays_of(file, "it", InputError),
        ):
            raise ValueError("read")
        assert refused.match("read" if read else "8 MiB")


def test_an_array_that_claims_more_than_there_is_memory_is_one_line(tmp_path: Path) -> None:
    file = packed(tmp_path / "huge.npz", {"format": (header((10**15,), "<i8"), 0)})
    with pytest.raises(InputError, match=r"huge\.npz: not an index that .+: Unable to allocate [^\n]+$"):
        load_index(file)
