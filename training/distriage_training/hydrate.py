"""Fetch the texts of annotated issues from GitHub's API. Network I/O; resumable: every text is appended to the store as it comes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from distriage.errors import CorpusError, GitHubError, NotFoundError, RateLimitError
from distriage.github import GitHubReader, parse_reference
from distriage.taxonomy import Taxonomy
from distriage_training.corpus import own_texts, read_annotations, read_texts
from distriage_training.jsonl import read_jsonl

ATTEMPTS = 4  # of one issue when GitHub fails for a moment
MAX_WAIT_S = 3700.0  # a primary rate limit ends within the hour


@dataclass(slots=True)
class HydrateReport:
    """What a call did: texts fetched, ids that are gone for good, how many are left for the next call."""

    fetched: int = 0
    gone: list[str] = field(default_factory=list)
    left: int = 0


def hydrate(
    corpus: Path,
    texts: Path,
    taxonomy: Taxonomy,
    *,
    limit: int | None = None,
    console: Console,
    reader: GitHubReader | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> HydrateReport:
    """Fetch what is missing in the store.

    Args:
        limit: Fetch at most so many.
        reader: Default: one with GITHUB_TOKEN.
        sleep: Waits seconds; tests pass their own.

    Returns:
        What was done; `gone` holds all that are known to be gone, from earlier calls too.

    Raises:
        GitHubError: no network, or access refused; what was fetched until then is kept.
        CorpusError: the annotations cannot be read.
    """
    annotations, problems = read_annotations(corpus / "annotations.jsonl", taxonomy)
    if problems:
        raise CorpusError(problems[0])
    gone_file = texts.with_name("gone.jsonl")
    _mend_last_line(gone_file)
    gone = {row["id"] for _, row in read_jsonl(gone_file)} if gone_file.is_file() else set()
    _mend_last_line(texts)
    known = read_texts([texts, *own_texts(corpus)]).keys() | gone
    wanted = [annotation for _, annotation in annotations if annotation.id not in known and annotation.url]
    todo = wanted[:limit]
    report = HydrateReport(gone=sorted(gone))
    texts.parent.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("fetching"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with (
        reader or GitHubReader() as github,
        Progress(*columns, console=console, disable=not console.is_terminal) as progress,
        texts.open("a", encoding="utf-8", errors="replace") as store,
    ):
        task = progress.add_task("", total=len(todo))
        for annotation in todo:
            try:
                issue = _fetch(github, annotation.url, sleep, lambda text: progress.update(task, description=text))
            except NotFoundError:
                report.gone.append(annotation.id)
                with gone_file.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"id": annotation.id}) + "\n")
            else:
                store.write(json.dumps({"id": annotation.id, "title": issue["title"], "body": issue.get("body") or ""}, ensure_ascii=False) + "\n")
                store.flush()
                report.fetched += 1
            progress.advance(task)
    report.left = len(wanted) - len(todo)
    return report


def _fetch(github: GitHubReader, url: str, sleep: Callable[[float], None], say: Callable[[str], None]) -> dict[str, object]:
    """One issue; waits out rate limits, tries again after passing failures."""
    reference = parse_reference(url)
    for attempt in range(ATTEMPTS):
        try:
            return github.issue(reference)
        except RateLimitError as error:
            wait_s = min(MAX_WAIT_S, max(1.0, error.reset_epoch_s - time.time() + 1))
            say(f"rate limit, {wait_s / 60:.0f} min")
            sleep(wait_s)
        except NotFoundError:
            raise
        except GitHubError:
            if attempt == ATTEMPTS - 1:
                raise
            sleep(2.0**attempt)
    return github.issue(reference)


def _mend_last_line(path: Path) -> None:
    """Cut a line that an interruption left half-written."""
    if not path.is_file():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])
