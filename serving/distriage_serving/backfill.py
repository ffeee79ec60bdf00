"""The issues that a repository has already, one after the other, each as the bot would treat it. Network and database I/O.

The store knows what is done, so that an interrupted run goes on where it stopped. Writes keep below GitHub's limits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from distriage.classifier import Classifier
from distriage.errors import GitHubError, InputError
from distriage_serving.bot.triage import triage
from distriage_serving.github_rest import Client
from distriage_serving.github_state import read_config
from distriage_serving.repo_config import CONFIG_PATH
from distriage_serving.store import Store, report_digest

State = Literal["open", "closed", "all"]
NO_INSTALLATION = 0  # the token is a person's
MAX_REFUSALS = 5  # in a row: then it is the token, not the issue


@dataclass(slots=True)
class BackfillReport:
    """What a run did; complete after an interruption too.

    Attributes:
        labelled: Issues that got labels, or would have.
        labels: Label -> how often.
        nothing: Issues read and left as they are.
        known: Issues skipped because an earlier run of this model was through with them.
        failed: `#12: why`.
        dry_run: Nothing was written, because the options or the configuration say so.
    """

    dry_run: bool = False
    labelled: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    nothing: int = 0
    known: int = 0
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BackfillOptions:
    """What to do.

    Attributes:
        since: Only issues filed then or later, Unix time in seconds.
        comments: Also write comments, each of which mails the people of its issue.
        again: Also issues that an earlier run was through with.
    """

    dry_run: bool = False
    since: float = 0.0
    state: State = "open"
    comments: bool = False
    again: bool = False


def paced(store: Store, sleep: Callable[[float], None] = time.sleep) -> Callable[[], None]:
    """A `before_write` for a client that waits until the next write keeps below GitHub's limits for a token."""

    def wait() -> None:
        while (free_at := store.take_write(NO_INSTALLATION)) is not None:
            sleep(max(0.1, free_at - store.clock()))

    return wait


def backfill(client: Client, store: Store, classifier: Classifier, repository: str, options: BackfillOptions, report: BackfillReport, console: Console) -> None:
    """Walk a repository's issues, oldest first.

    Args:
        report: Filled in as the run goes on.
        console: For the progress bar and a line an issue that gets labels.

    Raises:
        ConfigError: the repository's configuration is not valid.
        GitHubError: GitHub cannot be reached, or refuses one write after the other.
    """
    config = read_config(client, repository, CONFIG_PATH, classifier.bundle.taxonomy)
    config = config.model_copy(
        update={"dry_run": config.dry_run or options.dry_run, **({} if options.comments else {"comment": None, "ask_for_environment": False})}
    )
    report.dry_run = config.dry_run
    refusals = 0
    columns = (TextColumn("issues"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        for issue in list_issues(client, repository, options):
            progress.advance(task)
            number = issue["number"]
            if not options.again and _is_done(store, repository, issue, classifier.bundle.manifest.name, dry_run=config.dry_run):
                report.known += 1
                continue
            progress.update(task, description=f"#{number}")
            try:
                done = triage(client, store, classifier, repository, number, None, config)
            except InputError as error:
                report.failed.append(f"#{number}: {error}")
                continue
            if done.note and not done.nothing_to_do:
                report.failed.append(f"#{number}: {done.note}")
                refusals += 1
                if refusals == MAX_REFUSALS:
                    raise GitHubError(f"{repository}: {MAX_REFUSALS} issues in a row were refused, last {report.failed[-1]}")
                continue
            if done.labels:
                refusals = 0
                report.labelled += 1
                report.labels.update(done.labels)
                console.print(f"#{number}  {', '.join(done.labels)}", markup=False)
            else:
                report.nothing += 1


def list_issues(client: Client, repository: str, options: BackfillOptions) -> Iterator[dict[str, Any]]:
    """Issues, not pull requests, oldest first, each once."""
    query = {"state": options.state, "sort": "created", "direction": "asc"}
    if options.since:  # to GitHub it means a change since then, of which filing is the first
        query["since"] = datetime.fromtimestamp(options.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    seen: set[int] = set()
    for items, _ in client.pages(f"/repos/{repository}/issues", query):
        for item in items:
            number = item.get("number")
            if isinstance(number, int) and number not in seen and "pull_request" not in item and filed_at(item) >= options.since:
                seen.add(number)
                yield item


def filed_at(issue: dict[str, Any]) -> float:
    """When an issue was filed, Unix time in seconds; 0 where GitHub does not say."""
    try:
        return datetime.fromisoformat(issue["created_at"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return 0.0


def _is_done(store: Store, repository: str, issue: dict[str, Any], model: str, *, dry_run: bool) -> bool:
    last = store.latest_prediction(repository, issue["number"])
    if last is None or last.model != model or last.digest != report_digest(str(issue.get("title") or ""), str(issue.get("body") or "")):
        return False
    return dry_run or last.carried_out_at is not None
