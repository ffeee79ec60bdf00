"""The reports of a measurement, and its machine."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.engine.workers import cores

PACKAGES = (
    "onnxruntime",
    "tokenizers",
    "numpy",
    "torch",
    "transformers",
    "sentence-transformers",
    "setfit",
    "openvino",
    "nncf",
    "ray",
)


def load_reports(bundle: Path, reports: Path | None, count: int) -> list[IssueReport]:
    """`count` reports, spread over the file or the bundle's reference reports; repeated if there are fewer.

    Raises:
        InputError: none is usable.
    """
    from distriage.reports.records import read_batch

    if reports is not None:
        found = [item for item in islice(read_batch(str(reports)), 100_000) if isinstance(item, IssueReport)]
        if not found:
            raise InputError(f"{reports}: holds no usable report")
        found = found[:: max(1, len(found) // count)]
    else:
        rows = json.loads((bundle / "reference.json").read_text(encoding="utf-8"))["reports"]
        found = [IssueReport(row["title"], row["body"]) for row in rows]
    return [found[i % len(found)] for i in range(count)]


def milliseconds(run: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile, rounded to a clock's precision."""
    cuts = statistics.quantiles(values, n=20, method="inclusive") if len(values) > 1 else [values[0]] * 19
    return {"p50": round(statistics.median(values), 4), "p95": round(cuts[18], 4)}


def machine() -> dict[str, Any]:
    """The hardware and software that a figure depends on."""
    facts: dict[str, str] = {}
    if (place := Path("/proc/cpuinfo")).is_file():
        for line in place.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    flags = facts.get("flags", "").split()
    return {
        "cpu": facts.get("model name") or platform.processor() or platform.machine(),
        "instructions": [name for name in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8") if name in flags],
        "cores": cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Versions of the packages measured; those not installed are absent."""
    found = {}
    for name in ("distriage", *PACKAGES):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
