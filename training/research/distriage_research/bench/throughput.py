"""Many reports: the pipeline at the batch size that suits it best."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distriage.base.types import IssueReport
from distriage.model.bundle import Bundle
from distriage.recipe.text import prepare
from distriage_research.bench import peers
from distriage_training.bench.start import peak_mib

BATCHES = (1, 4, 16, 64)
PROBE = 64  # reports that a batch size is tried on


def pipeline(bundle: Path, reports: Sequence[IssueReport], others: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """The transformers pipeline in one process with a thread a core, loaded before the clock starts.

    It is given cleaned texts, the longest first, which keeps padding small: the order that suits it.
    """
    run = peers.pipeline(Path(others["encoder"]), others["labels"], Bundle(bundle).manifest.max_tokens, threads)
    texts = sorted((prepare(report.title, report.body).text for report in reports), key=len, reverse=True)
    probe = texts[:: max(1, len(texts) // PROBE)]
    run(probe[:4], 4)
    rates = {batch: round(_rate(run, probe, batch), 2) for batch in BATCHES}
    best = max(rates, key=lambda batch: rates[batch])
    return {
        "batch": best,
        "reports_per_s": round(_rate(run, texts, best), 2),
        "by_batch": {str(batch): rate for batch, rate in rates.items()},
        "peak_mib": round(peak_mib(), 1),
    }


def _rate(run: peers.OnTexts, texts: Sequence[str], batch: int) -> float:
    started = time.perf_counter()
    run(texts, batch)
    return len(texts) / (time.perf_counter() - started)
