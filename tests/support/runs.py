"""Runs of training of four steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distriage.taxonomy import default_taxonomy
from distriage_training.config import Config, load_config

from support.toys import write_config

TAXONOMY = default_taxonomy()


def four_steps(folder: Path, **tables: Any) -> Config:
    """A run of four steps with a checkpoint after each second one."""
    training = {"save_steps": 2, **tables.pop("training", {})}
    tables = {"data": {"limit": 32}, "training": training, "sparse": {"max_iterations": 1}, **tables}
    return load_config(write_config(folder / "run.toml", **tables))
