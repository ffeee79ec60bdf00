"""Names of files with many reports. Imports nothing heavy: a command begins with them."""

from __future__ import annotations

from pathlib import Path

LINES = (".jsonl", ".ndjson")
COMPRESSED = (".gz", ".zst")
TABLE = ".parquet"


def is_batch(path: str) -> bool:
    """Whether a path names a file with a report a line or row."""
    name = Path(path).name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return name.endswith(LINES) or path.lower().endswith(TABLE)
