"""Adds records of partial origins and their texts to annotations.jsonl, or replaces earlier ones."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from distriage.base.disk import replaced
from distriage.base.references import thread_key
from distriage_research.files import write_jsonl
from distriage_training.corpus.records import PARTIAL, Annotation, repository_of
from distriage_training.corpus.texts import read_texts

Texts = Mapping[str, tuple[str, str]]


class Frameworks:
    """The framework that most records of a repository have."""

    def __init__(self, annotations: Sequence[Annotation]) -> None:
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        for annotation in annotations:
            self._counts[repository_of(annotation.id)][annotation.framework] += 1

    def of(self, identifier: str) -> str:
        """The framework of a thread; `other` without a record of its repository."""
        found = self._counts.get(repository_of(identifier))
        return found.most_common(1)[0][0] if found else "other"


def store_records(
    place: Path, texts: Path, fresh: Mapping[str, Annotation], stored: Texts, withdrawn: Mapping[str, str]
) -> int:
    """Replace earlier records of the same threads, append new ones, remove withdrawn ones.

    Args:
        place: annotations.jsonl; records of origins that are not partial stay as they are, byte for byte.
        fresh: `thread_key` -> record.
        stored: Id -> title and body.
        withdrawn: `thread_key` -> the partial origin of the record to remove.

    Returns:
        Number of changed lines of annotations.jsonl.
    """
    before = read_texts([texts])
    changed = _replace_records(place, fresh, withdrawn)
    store = {**before, **stored}
    if store != before:
        write_jsonl(texts, ({"id": i, "title": title, "body": body} for i, (title, body) in store.items()))
    return changed


def _replace_records(place: Path, fresh: Mapping[str, Annotation], withdrawn: Mapping[str, str]) -> int:
    waiting = {
        key: json.dumps(annotation.model_dump(), ensure_ascii=False) for key, annotation in sorted(fresh.items())
    }
    changed = 0
    lines = []
    with place.open(encoding="utf-8", newline="") as stream:
        for line in stream:
            row = json.loads(line) if line.strip() else {}
            key = thread_key(row["id"]) if row.get("origin") in PARTIAL else ""
            if key in withdrawn and withdrawn[key] == row["origin"]:
                changed += 1
                continue
            new = waiting.pop(key, None)
            changed += new is not None and new != line.rstrip("\r\n")
            lines.append(line if new is None else f"{new}\n")
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    lines += [f"{line}\n" for line in waiting.values()]
    changed += len(waiting)
    if changed:
        with replaced(place) as (part,), part.open("w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.writelines(lines)
    return changed
