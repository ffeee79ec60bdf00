"""`reference.json`: golden reports with a bundle's required logits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from distriage.model.taxonomy import Taxonomy
from distriage_training.corpus.records import Record
from distriage_training.release.gates import MAX_INT8_DIFFERENCE, MAX_PARITY_DIFFERENCE
from distriage_training.release.graph import Logits

HARD = (
    ("", "hang"),
    ("训练卡住 NCCL 超时", "多机训练时 all_reduce 卡住，两个节点，每个 8 张 A100"),
    ("x" * 500, "RuntimeError: CUDA error\n" * 300),
)


def golden_reports(train: Sequence[Record], taxonomy: Taxonomy) -> list[tuple[str, str]]:
    """Titles and bodies: a restated training report per label of the first axis and of the stage, and hard cases.

    Raw texts belong to their reporters and are not shipped.
    """
    chosen: dict[tuple[str, str], Record] = {}
    for record in train:
        for axis in (next(iter(taxonomy.axes)), "stage"):
            if record.origin == "restated" and axis in record.labels:
                chosen.setdefault((axis, record.labels[axis]), record)
    return [*dict.fromkeys((record.title, record.body) for record in chosen.values()), *HARD]


def write_golden(folder: Path, reports: Sequence[tuple[str, str]], expected: Logits, shipped: Logits) -> None:
    """Write `reference.json`.

    Args:
        expected: Logits of the torch model, axis -> [reports, labels].
        shipped: Those of the file that ships.
    """
    rows = [
        {
            "title": title,
            "body": body,
            "torch": {axis: [round(float(v), 5) for v in expected[axis][i]] for axis in expected},
            "shipped": {axis: [round(float(v), 5) for v in shipped[axis][i]] for axis in expected},
        }
        for i, (title, body) in enumerate(reports)
    ]
    document = {
        "tolerance": {"fp32_against_torch": MAX_PARITY_DIFFERENCE, "int8_against_torch": MAX_INT8_DIFFERENCE},
        "reports": rows,
    }
    (folder / "reference.json").write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")
