"""Digests: whether a fetched text is the annotated one, and whether a thread is kept for a last test."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from distriage.base.errors import CorpusError
from distriage.model.bundle import thread_digests
from distriage_research.files import write_jsonl
from distriage_training.corpus.jsonl import read_jsonl

DIGESTS = "text_sha256.jsonl"  # beside annotations.jsonl: id, sha256


@dataclass(frozen=True, slots=True)
class Compared:
    """Unchanged texts, changed ones (their ids), and texts without a digest."""

    same: int
    different: tuple[str, ...]
    unknown: int


def text_digest(title: str, body: str) -> str:
    """SHA-256 of title, line feed and body as UTF-8, line ends as line feeds, without white space at either end."""
    text = f"{title}\n{body}".replace("\r\n", "\n").strip()
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def write_digests(corpus: Path, texts: Mapping[str, tuple[str, str]], wanted: Iterable[str]) -> int:
    """Write the digests of the wanted texts that are here. Returns how many."""
    rows = ({"id": i, "sha256": text_digest(*texts[i])} for i in sorted(wanted) if i in texts)
    return write_jsonl(corpus / DIGESTS, rows)


def read_digests(corpus: Path) -> dict[str, str]:
    """Id -> digest of the text as it was annotated.

    Raises:
        CorpusError: the digests are missing or not valid.
    """
    known = {}
    for number, row in read_jsonl(corpus / DIGESTS):
        if not (isinstance(row.get("id"), str) and isinstance(row.get("sha256"), str)):
            raise CorpusError(f"{corpus / DIGESTS}:{number}: expected id and sha256")
        known[row["id"]] = row["sha256"]
    return known


def compare_digests(corpus: Path, texts: Mapping[str, tuple[str, str]]) -> Compared:
    """Compare texts with their digests.

    Raises:
        CorpusError: the digests are missing or not valid.
    """
    known = read_digests(corpus)
    judged = {i: text_digest(*text) == known[i] for i, text in texts.items() if i in known}
    different = tuple(sorted(i for i, same in judged.items() if not same))
    return Compared(len(judged) - len(different), different, len(texts) - len(judged))


def read_withheld(path: Path) -> frozenset[str]:
    """Read a list of threads that nobody may annotate: one `thread_digest` per line.

    Raises:
        CorpusError: unreadable file, or a line that is not a digest.
    """
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        if not re.fullmatch(r"[0-9a-f]{16}", line):
            raise CorpusError(f"{path}:{number}: {line[:40]!r}; expected 16 hexadecimal digits")
    return frozenset(lines)


def is_withheld(identifier: str, withheld: frozenset[str]) -> bool:
    """Whether a thread is on the list, under any name of its repository."""
    return not withheld.isdisjoint(thread_digests(identifier))
