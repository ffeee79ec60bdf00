"""`python -m distriage_training.bench.child TASK ARGUMENTS` measures one thing and prints JSON.

Imports nothing before it knows what to measure.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def _start(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage.base.types import IssueReport
    from distriage_training.bench.start import timed_steps

    row = json.loads(Path(given["report"]).read_text(encoding="utf-8"))
    return timed_steps(bundle, IssueReport(row["title"], row["body"]))


def _reports(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.inputs import load_reports

    return load_reports(bundle, Path(given["reports"]) if given["reports"] else None, given["count"])


def _ready(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.start import ready

    return ready(given["name"], bundle, _reports(bundle, given)[0], given["others"])


def _parts(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.parts import measure

    return measure(bundle, _reports(bundle, given), given["rounds"])


def _graphs(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.turns import graphs

    return graphs(bundle, _reports(bundle, given), given["rounds"], given["threads"], given["others"])


def _texts(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.turns import texts

    return texts(bundle, _reports(bundle, given), given["rounds"], given["threads"], given["others"])


def _files(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.files import write

    return write(bundle, _reports(bundle, given), given["encoder"], Path(given["folder"]) if given["folder"] else None)


def _pipeline(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.throughput import pipeline

    return pipeline(bundle, _reports(bundle, given), given["others"], given["threads"])


def _past(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.past import measure

    return measure(bundle, _reports(bundle, given), given["issues"], Path(given["folder"]))


_TASKS = {
    "start": _start,
    "ready": _ready,
    "parts": _parts,
    "graphs": _graphs,
    "texts": _texts,
    "files": _files,
    "pipeline": _pipeline,
    "past": _past,
}

if __name__ == "__main__":
    arguments = json.loads(sys.argv[2])
    sys.stdout.write("\n" + json.dumps(_TASKS[sys.argv[1]](Path(arguments["bundle"]), arguments)) + "\n")
