"""JSONL files: repaired after an interruption, written all or nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from distriage.base.disk import replaced


def mend_last_line(path: Path) -> None:
    """Cut a line that an interruption left half-written."""
    if not path.is_file():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)  # needs no space on the disk


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows, all or nothing, by replacing the file. Returns the number of rows.

    Raises:
        InputError: the file cannot be written.
    """
    count = 0
    # JSON can hold lone surrogates, UTF-8 cannot
    with replaced(path) as (part,), part.open("w", encoding="utf-8", errors="replace") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count
