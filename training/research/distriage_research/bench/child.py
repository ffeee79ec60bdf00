"""`python -m distriage_research.bench.child TASK ARGUMENTS`: the measurements of the wheel, and those of peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distriage_training.bench import child
from distriage_training.bench.child import reports_of


def _ready(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_research.bench.peers import first_answer
    from distriage_training.bench.start import ready

    return ready(first_answer(given["name"], given["others"]), reports_of(bundle, given)[0])


def _graphs(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_research.bench.turns import graphs

    return graphs(bundle, reports_of(bundle, given), given["rounds"], given["threads"], given["others"])


def _texts(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_research.bench.turns import texts

    return texts(bundle, reports_of(bundle, given), given["rounds"], given["threads"], given["others"])


def _files(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_research.bench.files import write

    folder = Path(given["folder"]) if given["folder"] else None
    return write(bundle, reports_of(bundle, given), given["encoder"], folder)


def _pipeline(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_research.bench.throughput import pipeline

    return pipeline(bundle, reports_of(bundle, given), given["others"], given["threads"])


def _past(bundle: Path, given: dict[str, Any]) -> Any:
    from distriage_research.bench.past import measure

    return measure(bundle, reports_of(bundle, given), given["issues"], Path(given["folder"]))


TASKS = {
    "ready": _ready,
    "graphs": _graphs,
    "texts": _texts,
    "files": _files,
    "pipeline": _pipeline,
    "past": _past,
}

if __name__ == "__main__":
    child.main(TASKS)
