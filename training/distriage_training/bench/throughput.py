"""Many reports: the local engine as a whole process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from distriage.base.types import IssueReport
from distriage_training.bench.start import with_workers


def local_engine(bundle: Path, reports: Sequence[IssueReport], folder: Path, workers: int) -> dict[str, float]:
    """`distriage classify FILE`, including start-up, reading and writing; the peak is that of its largest process."""
    given, output = folder / "many.jsonl", folder / "verdicts.jsonl"
    with given.open("w", encoding="utf-8") as stream:
        for report in reports:
            stream.write(json.dumps({"title": report.title, "body": report.body}) + "\n")
    command = ["-m", "distriage", "classify", str(given), "--model", str(bundle), "--output", str(output)]
    took = with_workers([*command, "--workers", str(workers)])
    with output.open(encoding="utf-8") as stream:
        answers = sum(1 for _ in stream)
    return {"workers": workers, "reports_per_s": round(answers / took["wall_s"], 2), **took}
