"""Failures to study, and the errors of the model that found them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from distriage.model.taxonomy import default_taxonomy
from distriage_training.study.faults import Fault

TAXONOMY = default_taxonomy()
LABELS = {
    "kind": "bug",
    "distributed": "true",
    "stage": "communication-setup",
    "symptom": "setup-hang",
    "cause": "network-misconfiguration",
    "fix": "distributed-tuning",
}


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def faults(n: int = 120, **labels: str) -> list[Fault]:
    return [
        Fault(
            f"a/b#{i}", "ray" if i % 2 else "vllm", f"2024-{1 + i % 6:02}-02", {**LABELS, **labels}, f"0.{i // 2 % 2}"
        )
        for i in range(n)
    ]


def confusions() -> dict[str, Any]:
    """A model that takes one report in four of `training-evaluation` for `communication-setup`, and else errs not."""
    found = {axis.id: 40 * np.eye(len(axis.label_ids), dtype=np.int64) for axis in TAXONOMY.axes.values()}
    labels = TAXONOMY.axes["stage"].label_ids
    row = labels.index("training-evaluation")
    found["stage"][row, row], found["stage"][row, labels.index("communication-setup")] = 30, 10
    return found
