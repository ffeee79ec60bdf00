"""A cold start: the steps of a process that answers one report."""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from distriage.base.types import IssueReport

LOOK_S = 0.05  # between looks at the memory of processes; the time that is measured is as coarse
_PEAK = re.compile(r"VmHWM:\s+(\d+)")
_PEAK_UNIT = 1 << 20 if sys.platform == "darwin" else 1 << 10  # of ru_maxrss


def timed_steps(bundle: Path, report: IssueReport) -> dict[str, float]:
    """Seconds of each step, in a process that has imported nothing of ours but this module."""
    marks = [("", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    import numpy  # noqa: F401
    import onnxruntime  # noqa: F401
    import tokenizers

    mark("numpy, onnxruntime, tokenizers")
    from distriage.classifier import Classifier
    from distriage.model.bundle import Bundle
    from distriage.model.graph import loaded_for, open_session

    mark("distriage, pydantic, rich, typer")
    Bundle(bundle)
    mark("bundle verified")
    tokenizers.Tokenizer.from_file(str(bundle / "tokenizer.json"))
    mark("tokenizer")
    open_session(loaded_for(bundle / "model.onnx"), 1)
    mark("session")
    classifier = Classifier(bundle, threads=1)
    marks.append(("", time.perf_counter()))  # the same three once more, for the first answer
    classifier.classify(report).model_dump_json()
    mark("first answer")
    return {name: round(at - before, 4) for (_, before), (name, at) in pairwise(marks) if name}


def whole_process(arguments: Sequence[str], runs: int) -> dict[str, Any]:
    """Wall-clock seconds, CPU seconds and peak memory of one of our commands, after a run that warms the disk.

    Linux counts this process's own memory (some 90 MiB) as the child's lowest possible peak.
    """
    rows = [_once([sys.executable, *arguments]) for _ in range(runs + 1)][1:]
    return {key: round(statistics.median(row[key] for row in rows), 4) for key in rows[0]}


def with_workers(arguments: Sequence[str]) -> dict[str, float]:
    """Seconds of one of our commands after a warm-up run, and the peak of its largest process; 0 without /proc."""
    command = [sys.executable, *arguments]
    _once(command)
    peak, started = 0, time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        while process.poll() is None:
            peak = max(peak, *_held(process.pid))
            time.sleep(LOOK_S)
    return {"wall_s": round(time.perf_counter() - started, 2), "peak_mib": round(peak / 1024, 1)}


def _once(command: Sequence[str]) -> dict[str, float]:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / _PEAK_UNIT}


def _held(session: int) -> Iterator[int]:
    """The most that each process of a session has held so far, in KiB; begins with 0."""
    yield 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(place.name)) == session and (found := _PEAK.search((place / "status").read_text())):
                yield int(found[1])
        except OSError:  # it has ended meanwhile
            continue


def ready(answer: Callable[[IssueReport], object], report: IssueReport) -> dict[str, float]:
    """Seconds until the first answer, with the imports and the loading that it needs, and the peak of this process."""
    started = time.perf_counter()
    answer(report)
    took = time.perf_counter() - started
    return {"ready_s": round(took, 3), "peak_mib": round(peak_mib(), 1)}


def ours(bundle: Path) -> Callable[[IssueReport], object]:
    """Loads the bundle and answers one report."""

    def answer(report: IssueReport) -> str:
        from distriage.classifier import Classifier

        return Classifier(bundle, threads=1).classify(report).model_dump_json()

    return answer


def peak_mib() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _PEAK_UNIT


def measure(bundle: Path, report: IssueReport, runs: int, folder: Path) -> dict[str, Any]:
    """The cold start as a whole and in parts, medians of `runs` processes."""
    from distriage_training.bench.spawn import in_child

    file = folder / "report.json"
    file.write_text(json.dumps({"title": report.title, "body": report.body}), encoding="utf-8")
    rows = [in_child("start", bundle=bundle, report=file) for _ in range(runs)]
    return {
        "classify": whole_process(["-m", "distriage", "classify", str(file), "--model", str(bundle)], runs),
        "interpreter": whole_process(["-c", "pass"], runs),
        "steps_s": {name: round(statistics.median(row[name] for row in rows), 4) for name in rows[0]},
    }
