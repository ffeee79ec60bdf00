"""A report's entry for the index, packed into bytes. Pure."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from distriage.past.index import PastQuery
from distriage.past.words import Features, Floats

_SIZES = struct.Struct("<II")


def pack(query: PastQuery) -> bytes:
    """Buckets as 32-bit differences, since they ascend; counts and vector as 16-bit floats."""
    buckets, counts = query.features
    steps = np.diff(buckets, prepend=0).astype("<i4")
    parts = (_SIZES.pack(len(steps), query.vector.size), steps, counts.astype("<f2"), query.vector.astype("<f2"))
    return zlib.compress(b"".join(bytes(part) for part in parts))


def unpack(packed: bytes) -> tuple[Features, Floats]:
    """Buckets and counts, and the vector."""
    content = zlib.decompress(packed)
    count, width = _SIZES.unpack_from(content)
    buckets = np.cumsum(np.frombuffer(content, "<i4", count, _SIZES.size), dtype=np.int32)
    counts = np.frombuffer(content, "<f2", count, _SIZES.size + 4 * count).astype(np.float32)
    return (buckets, counts), np.frombuffer(content, "<f2", width, _SIZES.size + 6 * count).astype(np.float32)
