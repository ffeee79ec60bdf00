"""Examples to learn from, as they are loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from distriage_training.config import load_config
from distriage_training.corpus.load import Splits, load_splits
from distriage_training.corpus.records import Record


def load(path: Path, console: Console | None = None) -> Splits:
    """The examples of a configuration, by split."""
    config = load_config(path)
    return load_splits(config, config.load_taxonomy(), console)


def every(splits: Splits) -> list[Record]:
    """Those of all splits."""
    return [*splits.train, *splits.validation, *splits.test, *splits.feedback]


def record(identifier: str = "a/b#1", **changes: Any) -> Record:
    """A record of the corpus."""
    base = Record(
        identifier,
        "title",
        "body",
        {"kind": "bug", "distributed": "false", "symptom": "native-crash"},
        "train",
        "toys",
        "raw",
        "ray",
    )
    return replace(base, **changes)
