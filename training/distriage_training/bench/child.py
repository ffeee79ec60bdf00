"""`python -m distriage_training.bench.child TASK ARGUMENTS` measures one thing and prints JSON.

Imports nothing before it knows its task.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Task = Callable[[Path, dict[str, Any]], Any]  # bundle, arguments of `in_child` -> figures


def reports_of(bundle: Path, given: dict[str, Any]) -> Any:
    """The reports that a task is measured on."""
    from distriage_training.bench.inputs import load_reports

    return load_reports(bundle, Path(given["reports"]) if given["reports"] else None, given.get("count", 1))


def _start(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage.base.types import IssueReport
    from distriage_training.bench.start import timed_steps

    row = json.loads(Path(given["report"]).read_text(encoding="utf-8"))
    return timed_steps(bundle, IssueReport(row["title"], row["body"]))


def _ready(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.start import ours, ready

    return ready(ours(bundle), reports_of(bundle, given)[0])


def _parts(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_training.bench.parts import measure

    return measure(bundle, reports_of(bundle, given), given["rounds"])


TASKS: Mapping[str, Task] = {"start": _start, "ready": _ready, "parts": _parts}


def main(tasks: Mapping[str, Task]) -> None:
    """Run the task that the command line names."""
    arguments = json.loads(sys.argv[2])
    sys.stdout.write("\n" + json.dumps(tasks[sys.argv[1]](Path(arguments["bundle"]), arguments)) + "\n")


if __name__ == "__main__":
    main(TASKS)
