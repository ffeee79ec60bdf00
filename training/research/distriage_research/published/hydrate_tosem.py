"""`import-tosem`: the labels of Liu et al. as JSONL, the texts of their GitHub issues, and a study of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from distriage.base.errors import CorpusError, NotFoundError
from distriage.base.references import parse_reference
from distriage.classifier import Classifier
from distriage.github.address import token_of_environment
from distriage.github.client import Client
from distriage_research.files import mend_last_line, write_jsonl
from distriage_research.published.tosem import read_tosem
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.texts import read_texts
from distriage_training.study import run
from distriage_training.study.faults import Fault, Origin, Source
from distriage_training.study.run import Options


@dataclass(frozen=True, slots=True)
class Imported:
    """Outcome of an import: faults, those with our symptom or fix, texts fetched (None without a token), texts gone."""

    faults: int
    symptoms: int
    fixes: int
    fetched: int | None
    gone: int


def import_faults(folder: Path, output: Path, console: Console) -> Imported:
    """Write tosem.jsonl; with a token, also texts.jsonl. Can be interrupted and called again.

    Raises:
        CorpusError: the workbook cannot be read.
        GitHubError: no network, or access refused; fetched texts are kept.
    """
    faults = read_tosem(folder)
    write_jsonl(output / "tosem.jsonl", (fault.record() for fault in faults))
    symptoms, fixes = (sum(axis in fault.labels for fault in faults) for axis in ("symptom", "fix"))
    token = token_of_environment()
    if not token:
        return Imported(len(faults), symptoms, fixes, None, 0)
    urls = {fault.id: fault.url for fault in faults if "github.com" in fault.url}
    fetched, gone = _fetch(urls, output / "texts.jsonl", Client(token), console)
    return Imported(len(faults), symptoms, fixes, fetched, gone)


def _fetch(urls: dict[str, str], store: Path, client: Client, console: Console) -> tuple[int, int]:
    mend_last_line(store)
    known = read_texts([store])
    fetched = gone = 0
    with store.open("a", encoding="utf-8", errors="replace") as stream:
        todo = [identifier for identifier in urls if identifier not in known]
        for identifier in track(todo, "fetching", console=console, transient=True, disable=not console.is_terminal):
            try:
                issue = client.issue(parse_reference(urls[identifier]))
            except NotFoundError:
                gone += 1
                continue
            row = {"id": identifier, "title": issue.title, "body": issue.body}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()
            fetched += 1
    return fetched, gone


def read_records(path: Path) -> Source:
    """Read the file that `import_faults` wrote."""
    axes = ("kind", "distributed", "stage", "symptom", "fix")
    faults = [
        Fault(
            str(row.get("id")),
            str(row.get("original", {}).get("place", "")).rpartition("-")[2] or "unknown",
            "",
            {axis: str(row[axis]) for axis in axes if row.get(axis)},
        )
        for _, row in read_jsonl(path)
    ]
    description = "Faults of distributed training that people labelled, mapped onto our axes where they map."
    return Source("Liu et al. 2023", Origin.ANNOTATED, faults, description)


def read_source(source: str, options: Options, console: Console) -> tuple[Source, Classifier | None]:
    """As the wheel's `read_source`, which does not know the labels of Liu et al.

    Raises:
        CorpusError: see there.
    """
    path = Path(source)
    if not path.is_file() or "original" not in next((row for _, row in read_jsonl(path)), {}):
        return run.read_source(source, options, console)
    if options.keep or options.config is not None:
        raise CorpusError(f"{source}: --split goes with the corpus, --validation with labels that a model chose")
    return read_records(path), None
