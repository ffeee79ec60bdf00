"""JSONL files: read with line numbers, repaired after an interruption, written all or nothing."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from distriage.base.disk import replaced
from distriage.base.errors import CorpusError
from distriage.base.texts import encoding_of


def open_text(path: Path, newline: str | None = None) -> IO[str]:
    """A text that a person may have written: UTF-8 or UTF-16, with a byte order mark or without, gzip allowed."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as stream:
        encoding = encoding_of(stream.read(2))
    return cast(IO[str], opener(path, "rt", encoding=encoding, newline=newline))


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and objects of a JSONL file, gzip and a byte order mark allowed.

    Raises:
        CorpusError: the file is missing, or a line is not a JSON object; names file and line.
    """
    try:
        with open_text(path) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except json.JSONDecodeError as error:
                    raise CorpusError(f"{path}:{number}: not JSON: {error.msg} at column {error.colno}") from None
                except (ValueError, RecursionError) as error:  # of thousands of digits or brackets
                    raise CorpusError(f"{path}:{number}: cannot be read: {error}") from None
                if not isinstance(value, dict):
                    raise CorpusError(f"{path}:{number}: expected a JSON object, found {type(value).__name__}")
                yield number, value
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from None


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
