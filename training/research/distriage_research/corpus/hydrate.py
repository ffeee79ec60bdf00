"""Fetch the texts of annotated issues from GitHub. Network I/O; resumable: each text is stored as it comes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from distriage.base.errors import CorpusError, NotFoundError
from distriage.base.references import parse_reference
from distriage.github.address import token_of_environment
from distriage.github.client import Client
from distriage.model.taxonomy import Taxonomy
from distriage_research.files import mend_last_line
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import repository_of, valid_annotations
from distriage_training.corpus.texts import own_texts, read_texts

LONG_WAIT_S = 60.0  # waits from here on are announced
UNKNOWN_REPOSITORIES = 10  # so many deleted ones in a row are a wrong address
GONE = "gone.jsonl"  # beside the texts: ids that are not asked for again


@dataclass(slots=True)
class HydrateResult:
    """Texts fetched, ids gone for good, and how many texts are left for the next call."""

    fetched: int = 0
    gone: list[str] = field(default_factory=list)
    left: int = 0


def hydrate(
    corpus: Path,
    texts: Path,
    taxonomy: Taxonomy,
    *,
    split: str | None = None,
    limit: int | None = None,
    console: Console,
    sleep: Callable[[float], None] = time.sleep,
) -> HydrateResult:
    """Fetch the texts that the store lacks.

    Args:
        sleep: Waits seconds.

    Returns:
        The result; `gone` includes ids found gone by earlier calls.

    Raises:
        GitHubError: no network, or access refused; fetched texts are kept.
        CorpusError: the annotations are not valid, or the server is not the one that has the issues.
    """
    annotations = valid_annotations(corpus / "annotations.jsonl", taxonomy)
    gone_file = texts.with_name(GONE)
    mend_last_line(gone_file)
    gone = {row["id"] for _, row in read_jsonl(gone_file)} if gone_file.is_file() else set()
    mend_last_line(texts)
    known = read_texts([texts, *own_texts(corpus)]).keys() | gone
    wanted = [
        annotation
        for annotation in annotations
        if annotation.id not in known and annotation.url and split in {None, annotation.split}
    ]
    todo = wanted[:limit]
    report = HydrateResult(gone=sorted(gone))
    texts.parent.mkdir(parents=True, exist_ok=True)
    columns = (
        TextColumn("fetching"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with (
        Progress(*columns, console=console, disable=not console.is_terminal) as progress,
        texts.open("a", encoding="utf-8", errors="replace") as store,
    ):
        task = progress.add_task("", total=len(todo))

        def wait(seconds: float) -> None:
            if seconds >= LONG_WAIT_S:
                progress.update(task, description=f"rate limit, {seconds / 60:.0f} min")
            sleep(seconds)
            progress.update(task, description="")

        def note_gone() -> None:
            if not missing:
                return
            with gone_file.open("a", encoding="utf-8") as stream:
                stream.writelines(json.dumps({"id": identifier}) + "\n" for identifier in missing)
            report.gone += missing
            missing.clear()

        missing: list[str] = []  # not noted before the server has shown that it knows any issue
        client = Client(token_of_environment(), max_wait_s=math.inf, sleep=wait)
        for annotation in todo:
            try:
                issue = client.issue(parse_reference(annotation.url))
            except NotFoundError:
                missing.append(annotation.id)
                if report.fetched:
                    note_gone()
                elif len({repository_of(identifier) for identifier in missing}) == UNKNOWN_REPOSITORIES:
                    raise CorpusError(
                        f"the server knows none of the first {UNKNOWN_REPOSITORIES} repositories, so none is noted as "
                        "gone; expected GitHub (GITHUB_API_URL names another)"
                    ) from None
            else:
                row = {"id": annotation.id, "title": issue.title, "body": issue.body}
                store.write(json.dumps(row, ensure_ascii=False) + "\n")
                store.flush()
                report.fetched += 1
                note_gone()
            progress.advance(task)
        report.gone += missing  # of a server that has shown no issue: the next call asks for them again
    report.left = len(wanted) - len(todo)
    return report
