"""JSONL files, read with line numbers."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

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
