"""A repository's existing issues, one after the other, each as the bot would treat it. Network and database I/O.

The store remembers finished issues, so an interrupted run can be resumed. Writes keep below GitHub's limits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from distriage.base.errors import GitHubError, InputError, RateLimitError, RefusedError, TransferredError
from distriage.base.references import IssueReference
from distriage.base.terminal import printable
from distriage.github.client import Client
from distriage.github.listed import ListedIssue, list_issues
from distriage_serving.bot.triage import Backfilling, triage
from distriage_serving.configuration.file import config_digest, load_config
from distriage_serving.configuration.lacking import lacking
from distriage_serving.configuration.model import CONFIG_PATH, RepositoryConfig
from distriage_serving.configuration.names import Names, resolve
from distriage_serving.github.files import read_config
from distriage_serving.github.labels import read_labels
from distriage_serving.github.timeline import own_login
from distriage_serving.judging.judge import Judge
from distriage_serving.planning.types import Change
from distriage_serving.store import Store, report_digest

State = Literal["open", "closed", "all"]
NO_INSTALLATION = 0  # the token is a person's
MAX_FAILURES = 5  # in a row: then it is the token or GitHub, not the issue


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that an issue would get.

    Attributes:
        probability: The model's, of the label behind it; None for a change unrelated to an axis.
    """

    number: int
    title: str
    url: str
    change: Change
    probability: float | None


@dataclass(slots=True)
class BackfillResult:
    """Result of a run; complete after an interruption too.

    Attributes:
        changed: Issues that got a label, a type or a comment, or lost a label; or would have.
        changes: Each change -> how often.
        writes: Requests for them, without the creation of labels.
        nothing: Issues read and left as they are.
        known: Issues skipped because an earlier run of this model has finished them.
        failed: `#12: why`, also for a changed issue with another change refused.
        dry_run: Nothing was written, by option or configuration.
        proposals: Every change of a dry run, including those of earlier ones.
    """

    dry_run: bool = False
    changed: int = 0
    changes: Counter[Change] = field(default_factory=Counter)
    writes: int = 0
    nothing: int = 0
    known: int = 0
    failed: list[str] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BackfillOptions:
    """Options of a run.

    Attributes:
        since: Only issues filed then or later, Unix time in seconds.
        comments: Also write comments, each of which mails the people of its issue.
        again: Also issues that an earlier run has finished.
        own: The judge gives a repository's own labels too; a run without them has not finished an issue.
        config: A configuration to use instead of the repository's.
        take_off: Only take off the labels that Distriage set and that no person decided on.
    """

    dry_run: bool = False
    since: float = 0.0
    state: State = "open"
    comments: bool = False
    again: bool = False
    own: bool = False
    config: Path | None = None
    take_off: bool = False


def paced(store: Store, sleep: Callable[[float], None] = time.sleep) -> Callable[[], None]:
    """A `before_write` for a client that waits until the next write keeps below GitHub's limits for a token."""

    def wait() -> None:
        while (free_at := store.take_write(NO_INSTALLATION)) is not None:
            sleep(max(0.1, free_at - store.clock()))

    return wait


@dataclass(slots=True)
class Backfill:
    """One run over a repository's issues.

    Attributes:
        console: For the progress bar and one line per changed issue.
    """

    client: Client
    store: Store
    judge: Judge
    console: Console
    report: BackfillResult = field(default_factory=BackfillResult)
    _failures: int = 0
    _refusals: int = 0

    def run(self, repository: str, options: BackfillOptions) -> None:
        """Walk a repository's issues, oldest first.

        Raises:
            ConfigError: the repository's configuration is not valid.
            GitHubError: GitHub is out of reach, or fails or refuses for one issue after the other.
        """
        taxonomy = self.judge.bundle.taxonomy
        if options.config is not None:
            config = load_config(options.config, taxonomy)
        else:
            config = read_config(self.client, repository, CONFIG_PATH, taxonomy)
        no_comments = (
            {} if options.comments else {"comment": None, "ask_for_environment": False, "name_duplicates": False}
        )
        config = config.model_copy(update={"dry_run": config.dry_run or options.dry_run, **no_comments})
        if options.take_off:
            config = config.model_copy(update={"suggestions": "off"})
        self.report.dry_run = config.dry_run
        there, _ = read_labels(self.client, repository)
        names = resolve(config, self.judge.bundle.taxonomy, there)
        for line in lacking(names, there) if not options.take_off else ():
            self.console.print(f"warning: {printable(line)}", markup=False, soft_wrap=True)
        self.client.login = own_login(self.client)  # a person's: our writing in their name differs from their own acts
        columns = (
            TextColumn("issues"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal) as progress:
            task = progress.add_task("", total=None)
            for listed in issues_of(self.client, repository, options):
                progress.advance(task)
                progress.update(task, description=f"#{listed.number}")
                issue = IssueReference(repository, listed.number)
                is_due = options.again or options.take_off or not self._is_done(issue, listed, config, own=options.own)
                if is_due:
                    self._triage(issue, Backfilling(config, options.take_off))
                else:
                    self.report.known += 1
                if config.dry_run:
                    self.report.proposals += self._proposed(issue, names)

    def _triage(self, issue: IssueReference, asked: Backfilling) -> None:
        report, number = self.report, issue.number
        try:
            done = triage(self.client, self.store, self.judge, issue, None, asked)
        except (InputError, TransferredError) as error:
            report.failed.append(f"#{number}: {error}")
            return
        except (RateLimitError, RefusedError):
            raise
        except GitHubError as error:
            report.failed.append(f"#{number}: {error}")  # the next run comes to it again
            self._failures += 1
            self._stop_after(self._failures, issue)
            return
        self._failures = 0
        failed = done.fault is not None and not done.nothing_to_do
        if failed:
            report.failed.append(f"#{number}: {done.fault}")
        if done.remark is not None:
            self.console.print(f"#{number}: {printable(done.remark)}", markup=False, soft_wrap=True)
        if done.changes:
            self._refusals = 0
            report.changed += 1
            report.changes.update(done.changes)
            report.writes += len({change if change.kind != "label" else "labels" for change in done.changes})
            self.console.print(f"#{number}  {printable(', '.join(map(str, done.changes)))}", markup=False)
        elif done.refused:
            self._refusals += 1
            self._stop_after(self._refusals, issue)
        elif not failed:
            report.nothing += 1

    def _stop_after(self, in_a_row: int, issue: IssueReference) -> None:
        if in_a_row == MAX_FAILURES:
            last = self.report.failed[-1]
            raise GitHubError(f"{issue.repository}: {MAX_FAILURES} issues in a row failed, last {last}")

    def _proposed(self, reference: IssueReference, names: Names) -> Iterator[Proposal]:
        stored = self.store.latest_verdict(reference.repository, reference.number)
        issue = self.store.get_issue(reference.repository, reference.number)
        plan = (stored.plan if stored is not None else None) or {}
        if stored is None or issue is None or (stored.carried_out_at is not None and not plan.get("dry_run")):
            return
        title = " ".join(issue.title.split())
        for change in starmap(Change, plan.get("changes", ())):
            label = change.name
            said = [
                stored.verdict.axes[axis].family_probability if meant is None else stored.verdict.axes[axis].probability
                for axis, meant in (names.meanings(label) if change.kind == "label" else ())
                if axis in stored.verdict.axes and meant in {None, stored.verdict.axes[axis].label}
            ]
            said += [own.probability for own in stored.verdict.own or () if change == Change("label", own.label)]
            surest = max((p for p in said if p is not None), default=None)
            yield Proposal(issue.number, title, issue.url, change, surest)

    def _is_done(self, issue: IssueReference, listed: ListedIssue, config: RepositoryConfig, *, own: bool) -> bool:
        last = self.store.latest_verdict(issue.repository, issue.number)
        if last is None or last.model != self.judge.bundle.manifest.name or (own and last.verdict.own is None):
            return False
        if last.digest != report_digest(listed.title, listed.body) or (last.plan or {}).get("take_off"):
            return False  # of a plan that only takes labels off, nothing follows for one that sets some
        if last.carried_out_at is not None:
            return True
        # A dry run shows the next real run, which uses the configuration of that time.
        return config.dry_run and (last.plan or {}).get("configuration") == config_digest(config)


def issues_of(client: Client, repository: str, options: BackfillOptions) -> Iterator[ListedIssue]:
    """A repository's issues, oldest first, each once."""
    query: dict[str, str] = {"state": options.state, "sort": "created", "direction": "asc"}
    if options.since:  # to GitHub it means a change since then, of which filing is the first
        query["since"] = datetime.fromtimestamp(options.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    seen: set[int] = set()
    for issue in list_issues(client, repository, **query):
        if issue.number not in seen and issue.created_at >= options.since:
            seen.add(issue.number)
            yield issue
