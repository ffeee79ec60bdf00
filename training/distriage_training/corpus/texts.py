"""Texts of annotated reports: our own restated ones, and the local store of those that belong to reporters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from distriage.base.errors import CorpusError
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import OWN_TEXTS


def own_texts(corpus: Path) -> list[Path]:
    """The files of a corpus whose texts were written for this project."""
    return [corpus / name for name in OWN_TEXTS.values()]


def read_texts(paths: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """Read id -> (title, body) from text files; a missing file counts as empty.

    Raises:
        CorpusError: a line is not a record with id, title and body, or the file cannot be read.
    """
    texts: dict[str, tuple[str, str]] = {}
    for path in paths:
        if not path.is_file():
            continue
        for number, row in read_jsonl(path):
            add_text(texts, row, f"{path}:{number}")
    return texts


def is_text(row: Mapping[str, Any]) -> bool:
    """Whether a line has id, title and body."""
    return (
        isinstance(row.get("id"), str)
        and isinstance(row.get("title"), str)
        and isinstance(row.get("body", 0), str | None)
    )


def add_text(texts: dict[str, tuple[str, str]], row: Mapping[str, Any], place: str) -> None:
    """Add a line's text.

    Raises:
        CorpusError: it has none.
    """
    if not is_text(row):
        found = ", ".join(f"{key} ({type(value).__name__})" for key, value in row.items())
        raise CorpusError(f"{place}: a text needs `id`, `title` and `body`, strings; found {found or 'nothing'}")
    texts[row["id"]] = (row["title"], row["body"] or "")
