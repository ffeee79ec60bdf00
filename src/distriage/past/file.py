"""Reads the file of an index, also one of an earlier format; `index.py` says how it is laid out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distriage.base.arrays import arrays_of
from distriage.base.errors import InputError
from distriage.past.index import FORMAT, PastIndex, assemble
from distriage.past.issue import PastIssue
from distriage.past.words import BUCKETS, LINES, TITLES, postings, rarity, titled


def load_index(file: Path) -> PastIndex:
    """Read an index.

    Raises:
        InputError: missing, damaged, or of another format.
    """
    if not os.path.exists(file):  # noqa: PTH110 - Path.exists raises for a folder without permission
        raise InputError(f"{file}: missing; `distriage past index` makes an index")
    with arrays_of(file, f"an index that this Distriage reads (format {FORMAT})", InputError) as arrays:
        return _read(arrays)


def _read(arrays: Mapping[str, NDArray[np.generic]]) -> PastIndex:
    if (found := int(arrays["format"])) not in range(2, FORMAT + 1):
        raise ValueError(f"it is of format {found}")
    issues = [_issue(row) for row in json.loads(arrays["issues"].tobytes())]
    scales = np.asarray(arrays["scales"], np.float32)
    vectors = np.asarray(arrays["vectors"], np.float32)
    lacking = BUCKETS - (LINES if found < 4 else TITLES if found < FORMAT else BUCKETS)
    index = PastIndex(
        model=str(arrays["model"]),
        issues=issues,
        idf=np.pad(np.asarray(arrays["idf"], np.float32), (0, lacking), "edge"),
        starts=np.pad(np.asarray(arrays["starts"], np.int64), (0, lacking), "edge"),
        rows=np.asarray(arrays["rows"], np.uint32),
        weights=np.asarray(arrays["weights"], np.float16),
        vectors=vectors * scales[:, None] if vectors.size else np.zeros((0, 0), np.float32),
        filed_at=np.array([issue.filed_at for issue in issues]),
    )
    for name, fits in {
        "idf": index.idf.shape == (BUCKETS,),
        "starts": index.starts.shape == (BUCKETS + 1,)
        and index.starts[0] == 0
        and bool((np.diff(index.starts) >= 0).all())
        and index.starts[-1] == len(index.rows) == len(index.weights),
        "rows": index.rows.ndim == 1 and (not len(index.rows) or int(index.rows.max()) < len(issues)),
        "vectors": not vectors.size or len(vectors) == len(scales) == len(issues),
    }.items():
        if not fits:
            raise ValueError(f"{name} does not fit")
    return index if found == FORMAT else _with_titles(index)


def _with_titles(index: PastIndex) -> PastIndex:
    """The same, whose titles have postings."""
    none = (np.zeros(0, np.int32), np.zeros(0, np.float32))
    titles = [titled(none, issue.title) for issue in index.issues]
    idf = np.concatenate([index.idf[:TITLES], rarity(titles)[TITLES:]])
    new = assemble(index.model, index.issues, idf, postings(titles, idf), index.vectors)
    rows, weights = np.concatenate([index.rows, new.rows]), np.concatenate([index.weights, new.weights])
    return replace(new, starts=index.starts + new.starts, rows=rows, weights=weights)


def _issue(row: Sequence[Any]) -> PastIssue:
    types = [str if one.default is MISSING else type(one.default) for one in fields(PastIssue)]
    values: list[Any] = [type_(value) for type_, value in zip(types, row, strict=False)]
    return PastIssue(*values)
