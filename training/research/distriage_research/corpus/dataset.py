"""The annotations as compressed JSONL, a file a split, for `datasets.load_dataset` and pandas."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

from distriage.base.disk import replaced
from distriage_training.corpus.records import Annotation

SPLITS = ("train", "validation", "test")


def write_splits(annotations: Sequence[Annotation], folder: Path) -> dict[str, int]:
    """Write `annotations-SPLIT.jsonl.gz`; the same annotations give the same bytes.

    Returns:
        Split -> number of records.

    Raises:
        InputError: they cannot be written.
    """
    counts = {}
    with replaced(*(folder / f"annotations-{split}.jsonl.gz" for split in SPLITS)) as parts:
        for split, part in zip(SPLITS, parts, strict=True):
            rows = [row.model_dump(exclude={"split"}) for row in annotations if row.split == split]
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            part.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
            counts[split] = len(rows)
    return counts
