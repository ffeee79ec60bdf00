"""`distriage corpus import-tosem`: the labels of Liu et al. as JSONL, and the texts of their GitHub issues."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from distriage.base.errors import NotFoundError
from distriage.base.references import parse_reference
from distriage.github.client import Client, token_of_environment
from distriage_training.corpus.jsonl import mend_last_line, write_jsonl
from distriage_training.corpus.texts import read_texts
from distriage_training.study.tosem import read_tosem


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: faults, those with a symptom or a fix of ours, texts fetched (None: no token), texts gone."""

    faults: int
    symptoms: int
    fixes: int
    fetched: int | None
    gone: int


def import_faults(folder: Path, output: Path, console: Console) -> Imported:
    """Write tosem.jsonl; with a token, also texts.jsonl. Can be interrupted and called again.

    Raises:
        CorpusError: the workbook cannot be read.
        GitHubError: no network, or access refused; what was fetched so far is kept.
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
