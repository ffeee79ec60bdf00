"""The annotations as compressed JSONL, a file a split, for `datasets.load_dataset` and pandas."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

from distriage_training.corpus.records import Annotation

SPLITS = ("train", "validation", "test")


def write_splits(annotations: Sequence[Annotation], folder: Path) -> dict[str, int]:
    """Write `annotations-SPLIT.jsonl.gz`; the same annotations give the same bytes.

    Returns:
        Split -> number of records.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for split in SPLITS:
        rows = [row.model_dump(exclude={"split"}) for row in annotations if row.split == split]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        content = gzip.compress(text.encode("utf-8"), mtime=0)
        (folder / f"annotations-{split}.jsonl.gz").write_bytes(content)
        counts[split] = len(rows)
    return counts
