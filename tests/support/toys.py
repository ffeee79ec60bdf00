"""Toy corpora and configurations for the tests of the training package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from support.checkout import REPOSITORY

CORPUS = REPOSITORY / "training" / "corpus"


def annotation(identifier: str, **changes: Any) -> dict[str, Any]:
    """A valid row of annotations.jsonl, with changes."""
    owner, _, number = identifier.partition("#")
    row = {
        "id": identifier,
        "kind": "bug",
        "distributed": True,
        "stage": "training-evaluation",
        "symptom": "runtime-hang",
        "cause": "incorrect-logic",
        "cause_evidence": "stated",
        "fix": "framework-patch",
        "fix_evidence": "inferred",
        "confidence": "high",
        "note": "",
        "url": f"https://github.com/{owner}/issues/{number}",
        "origin": "raw",
        "source": "toys",
        "framework": "deepspeed",
        "created": "2024-01-02T03:04:05Z",
        "readers": 1,
        "split": "train",
    }
    return {**row, **changes}


QUESTION = {
    "kind": "question",
    "stage": None,
    "symptom": None,
    "cause": None,
    "cause_evidence": None,
    "fix": None,
    "fix_evidence": None,
}


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write JSONL; a string is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows),
        encoding="utf-8",
    )
    return path


def write_corpus(folder: Path, rows: Iterable[object], restated: Mapping[str, tuple[str, str]] | None = None) -> Path:
    """Write annotations.jsonl and restated.jsonl; `restated`: id -> (title, body)."""
    write_lines(folder / "annotations.jsonl", rows)
    write_lines(
        folder / "restated.jsonl",
        ({"id": i, "title": title, "body": body} for i, (title, body) in (restated or {}).items()),
    )
    return folder


def texts(identifiers: Iterable[str]) -> list[dict[str, str]]:
    """A text per id, no two alike."""
    return [
        {"id": i, "title": f"title of {i}", "body": " ".join(f"{i.rpartition('#')[2]}word{n}" for n in range(20))}
        for i in identifiers
    ]


def write_config(path: Path, **tables: Mapping[str, Any]) -> Path:
    """Write a configuration like configs/tiny.toml, of restated reports; `tables` change or add keys."""
    settings: dict[str, dict[str, Any]] = {
        "encoder": {"layers": 1, "max_tokens": 48},
        "data": {"limit": 96, "corpus": str(CORPUS), "texts": "none.jsonl"},
        "training": {"epochs": 1, "batch_size": 8},
        "sparse": {"max_iterations": 5},
    }
    for table, keys in tables.items():
        settings.setdefault(table, {}).update(keys)
    top = {"name": "tiny", **settings.pop("top", {})}
    lines = [f"{key} = {_toml(value)}" for key, value in top.items()]
    for table, keys in settings.items():
        lines += [
            f"[{table}]",
            *(f"{json.dumps(key)} = {_toml(value)}" for key, value in keys.items() if value is not None),
        ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def review(identifier: str, axis: str, label: str | None, **changes: Any) -> dict[str, Any]:
    """A line of `distriage reviews export`."""
    owner, _, number = identifier.partition("#")
    row = {
        "id": identifier,
        "url": f"https://github.com/{owner}/issues/{number}",
        "title": f"title of {identifier}",
        "body": "it\u2028hangs",
        "created": "2026-01-02T03:04:05Z",
        "axis": axis,
        "label": label,
        "predicted_label": "setup-hang",
        "probability": 0.5,
        "model": "minilm-v1",
        "who": "maintainer",
        "how": "queue",
        "at": "2026-02-02T03:04:05Z",
    }
    return {**row, **changes}
