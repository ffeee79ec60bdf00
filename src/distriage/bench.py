"""Throughput, latency and memory of classification. Each model runs in a process of its own, so that peak memory is its own."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from distriage.bundle import find_bundle
from distriage.errors import DistriageError, InputError
from distriage.types import IssueReport

ROUNDS = 3  # each; the median is shown


def run_bench(console: Console, reports: Path | None, count: int, model: str | None, compare: str | None) -> None:
    """Measure one bundle, or two in turn, and print medians.

    Raises:
        InputError: no usable report.
        BundleError: no such bundle.
    """
    paths = [find_bundle(name) for name in ([model] if compare is None else [model, compare])]
    results: list[list[dict[str, float]]] = [[] for _ in paths]
    for _ in range(ROUNDS):
        for path, rows in zip(paths, results, strict=True):
            rows.append(_measure_in_process(path, reports, count))
    table = Table(title=f"{count:,} reports, median of {ROUNDS} runs", title_justify="left", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("model", "load s", "reports/s", "p50 ms", "p95 ms", "peak memory MiB"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    medians = [{key: statistics.median(row[key] for row in rows) for key in rows[0]} for rows in results]
    for path, row in zip(paths, medians, strict=True):
        table.add_row(
            path.name, f"{row['load_s']:.2f}", f"{row['reports_per_s']:.0f}", f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}", f"{row['peak_mib']:.0f}"
        )
    console.print(table)
    if len(medians) == 2:
        first, second = medians
        ratios = {key: first[key] / second[key] for key in ("reports_per_s", "p50_ms", "peak_mib")}
        console.print("ratio first / second: " + ", ".join(f"{key} {ratio:.2f}" for key, ratio in ratios.items()))


def _measure_in_process(path: Path, reports: Path | None, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "distriage.bench", str(path), str(count), str(reports or "")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DistriageError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the measured process failed")
    return {key: float(value) for key, value in json.loads(done.stdout).items()}


def load_reports(bundle: Path, reports: Path | None, count: int) -> list[IssueReport]:
    """`count` reports, repeated in turn where there are fewer.

    Raises:
        InputError: none is usable.
    """
    from distriage.reading import read_batch

    if reports is not None:
        found = [item for item in islice(read_batch(str(reports)), count) if isinstance(item, IssueReport)]
        if not found:
            raise InputError(f"{reports}: holds no usable report")
    else:
        rows = json.loads((bundle / "reference.json").read_text(encoding="utf-8"))["reports"]
        found = [IssueReport(row["title"], row["body"]) for row in rows]
    return [found[i % len(found)] for i in range(count)]


def _measure(path: Path, reports: Path | None, count: int) -> dict[str, float]:
    started = time.perf_counter()
    from distriage.classifier import Classifier  # its import counts as loading

    classifier = Classifier(path)
    load_s = time.perf_counter() - started
    batch = load_reports(path, reports, count)
    classifier.predict(batch[:2])
    started = time.perf_counter()
    for _ in classifier.predict_stream(batch):
        pass
    elapsed_s = time.perf_counter() - started
    latencies_ms = []
    for report in batch[:200]:
        started = time.perf_counter()
        classifier.predict([report])
        latencies_ms.append((time.perf_counter() - started) * 1000)
    cuts = statistics.quantiles(latencies_ms, n=20) if len(latencies_ms) > 1 else latencies_ms * 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {"load_s": load_s, "reports_per_s": count / elapsed_s, "p50_ms": cuts[9], "p95_ms": cuts[18], "peak_mib": peak}


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(_measure(Path(sys.argv[1]), Path(sys.argv[3]) if sys.argv[3] else None, int(sys.argv[2]))))
    except DistriageError as failure:
        sys.exit(str(failure))
