"""Whether a report gets the same answer in every way that it can be asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx

from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage.engine import Settings, cluster, local
from distriage.engine.workers import cores
from distriage.reports.records import read_records
from distriage_research.needs import INSTALL
from distriage_training.bench import load
from distriage_training.bench.run import installed

TOGETHER = 64  # reports that are handed over at once
T = TypeVar("T")
Answer = Mapping[str, Any]  # a verdict as JSON


def measure(bundle: Path, reports: Sequence[IssueReport], folder: Path) -> dict[str, Any]:
    """Answer the reports in every way, and count those whose answer differs from that to the report alone.

    Starts a cluster unless one is running.

    Returns:
        `reports`; `ways`: way -> how many `decisions` (outcome, label or family of an axis) and how many whole
        `verdicts` differ; `missing`: way -> the package to install.
    """
    file = folder / "equal.jsonl"
    rows = [{"id": f"r{number}", "title": one.title, "body": one.body} for number, one in enumerate(reports)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    known = [IssueReport(row["title"], row["body"], row["id"]) for row in rows]
    alone = Classifier(bundle, threads=1)
    expected = [_of(alone.classify(report)) for report in known]
    ways: dict[str, Callable[[], Iterator[Answer]]] = {
        f"{TOGETHER} at once": lambda: _together(alone, known),
        "two threads": lambda: map(_of, map(Classifier(bundle, threads=2).classify, known)),
        "command line, a process a core": lambda: _engine(bundle, file),
    }
    missing = {}
    for name, module, way in (
        ("HTTP", "fastapi", lambda: _http(bundle, rows, folder)),
        ("Ray", "ray", lambda: _on_ray(bundle, file, folder)),
    ):
        if installed(module):
            ways[name] = way
        else:
            missing[name] = f"needs {module}: {INSTALL}"
    return {
        "reports": len(reports),
        "ways": {name: differences(expected, list(way())) for name, way in ways.items()},
        "missing": missing,
    }


def differences(expected: Sequence[Answer], found: Sequence[Answer]) -> dict[str, int]:
    """How many answers differ in a decision, and how many at all."""
    pairs = list(zip(expected, found, strict=True))
    return {
        "decisions": sum(_decisions(one) != _decisions(other) for one, other in pairs),
        "verdicts": sum(one != other for one, other in pairs),
    }


def _decisions(answer: Answer) -> object:
    return [(axis, said["outcome"], said["label"], said["family"]) for axis, said in answer["axes"].items()]


def _of(verdict: Any) -> Answer:
    answer: Answer = json.loads(verdict.model_dump_json())
    return answer


def _groups(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + TOGETHER] for start in range(0, len(items), TOGETHER))


def _together(classifier: Classifier, reports: Sequence[IssueReport]) -> Iterator[Answer]:
    for some in _groups(reports):
        yield from (_of(found.verdict()) for found in classifier.examine_all(some))


def _engine(bundle: Path, file: Path) -> Iterator[Answer]:
    settings = Settings(str(bundle), Mode.BALANCED)
    for _, line in local.answer(read_records(str(file)), settings, max(2, cores())):
        yield json.loads(line)


def _http(bundle: Path, rows: Sequence[Mapping[str, str]], folder: Path) -> Iterator[Answer]:
    with (
        load.ours(bundle, cores(), folder / "equal-server.log") as url,
        httpx.Client(timeout=120, trust_env=False) as client,
    ):
        for some in _groups(rows):
            answer = client.post(f"{url}/v1/classify", json={"reports": list(some)})
            yield from answer.raise_for_status().json()["verdicts"]


def _on_ray(bundle: Path, file: Path, folder: Path) -> Iterator[Answer]:
    import ray

    output = folder / "equal-ray"
    started = not ray.is_initialized()
    try:
        for _ in cluster.run([str(file)], str(output), Settings(str(bundle), Mode.BALANCED), resume=False):
            pass
    finally:
        if started:
            ray.shutdown()
    for part in sorted(output.glob("part-*.jsonl")):
        yield from map(json.loads, part.read_text(encoding="utf-8").splitlines())
