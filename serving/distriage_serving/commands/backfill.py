"""`distriage backfill`. Imports nothing heavy before it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Console

from distriage.base.disk import writing
from distriage.base.errors import InputError
from distriage.base.extras import needs_extra
from distriage.base.references import check_repository
from distriage.base.terminal import counted, printable, say
from distriage_serving.commands.options import (
    DatabaseOption,
    ModelOption,
    open_store,
)

if TYPE_CHECKING:
    from distriage_serving.backfill.run import BackfillResult


def backfill(
    repository: Annotated[
        str, typer.Argument(metavar="OWNER/REPO", help="A repository on GitHub; needs GITHUB_TOKEN.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan; write nothing to GitHub.")] = False,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only issues filed on this day (UTC) or later, e.g. 2026-01-31.")
    ] = None,
    state: Annotated[str, typer.Option(help="open, closed or all.")] = "open",
    comments: Annotated[
        bool,
        typer.Option(
            "--comments", help="Also write comments, if the configuration asks for them; each one mails people."
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Also revisit issues already processed, after a change of the configuration or of own labels.",
        ),
    ] = False,
    past: Annotated[
        bool,
        typer.Option(
            "--past",
            help="Keep all issues, open and closed, as past issues, among which duplicates are found; label nothing.",
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --dry-run: a configuration to try; default: .github/distriage.yml on GitHub."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --dry-run: also a page with every change to review.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="With --dry-run: the same as a table.")] = None,
    own: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also set the own labels that `distriage learn` learned; default: those of the repository in "
            "DISTRIAGE_OWN.",
        ),
    ] = None,
    take_off: Annotated[
        bool,
        typer.Option(
            "--take-off",
            help="Only take off the labels that Distriage set, by what its database remembers, and that no person "
            "decided on. Switch their axes off first, or the App sets them again.",
        ),
    ] = False,
    database: DatabaseOption = None,
    model: ModelOption = None,
) -> None:
    """Label a repository's existing issues, as the bot would. Can be interrupted and called again."""
    with needs_extra("serve"):
        from distriage.classifier import Classifier
        from distriage.github.address import token_of_environment
        from distriage.github.client import Client
        from distriage.own.labels import OwnLabels
        from distriage.own.shelf import OwnShelf
        from distriage_serving.backfill.proposals import as_csv, as_page, estimate
        from distriage_serving.backfill.run import Backfill, BackfillOptions, State, issues_of, paced
        from distriage_serving.judging.indexes import PastIndexes
        from distriage_serving.judging.judge import LocalJudge
        from distriage_serving.judging.keeping import keep_all
        from distriage_serving.settings import load_settings

        check_repository(repository)
        if state not in get_args(State):
            raise InputError(f"--state {state!r}: expected one of {', '.join(get_args(State))}")
        if (html or csv or config) and not dry_run:
            raise InputError("--config, --html and --csv belong to a dry run; expected --dry-run")
        if past and (dry_run or since or again or comments or own or state != "open"):
            raise InputError("--past keeps all issues and writes nothing to GitHub; expected it without other options")
        if take_off and (past or comments or own):
            raise InputError("--take-off writes nothing else; expected it without --past, --comments and --own")
        filed_since = _day(since)
        token = token_of_environment()
        if not token:
            raise InputError(
                "GITHUB_TOKEN is not set; expected a token with issues: write and contents: read (for --dry-run and "
                "--past: read)"
            )
        with open_store(database, must_exist=False) as store:
            client, classifier = (
                Client(token, max_wait_s=math.inf, before_write=paced(store)),
                Classifier(model, own=own),
            )
            if isinstance(classifier.own, OwnLabels):
                classifier.own.use_for(repository, client)
            name = classifier.bundle.manifest.name
            if past:
                known = store.past_repository(repository)
                if known is not None and known.model != name:
                    gone = f"a server with {known.model} will find no duplicates among them"
                    say(f"{repository}: {name} replaces what {known.model} read; {gone}")
                issues = issues_of(client, repository, BackfillOptions(state="all"))
                _print_kept(keep_all(store, classifier, repository, issues), f"{repository}, {name}")
                return
            if own is None and not take_off and (folder := load_settings().own) is not None:
                classifier.own = OwnShelf(Path(folder), classifier.bundle, lambda error: say(str(error)))
            judge = LocalJudge(classifier, PastIndexes(None, store))
            has_own = classifier.own is not None and classifier.own.of(f"{repository}#1") is not None
            options = BackfillOptions(dry_run, filed_since, state, comments, again, has_own, config, take_off)  # type: ignore[arg-type]
            work = Backfill(client, store, judge, Console(highlight=False))
            begun = time.monotonic()
            try:
                work.run(repository, options)
            except BaseException:  # Ctrl-C too
                report = work.report
                if report.changed or report.nothing or report.known or report.failed:
                    _print_report(work.console, report, name)
                raise
            _print_report(work.console, work.report, name)
            if work.report.dry_run:
                said = estimate(work.report, time.monotonic() - begun, client.sent)
                if said:
                    work.console.print(said, markup=False, soft_wrap=True)
                _write(html, as_page(repository, work.report.proposals, said))
                _write(csv, as_csv(work.report.proposals))
            if work.report.failed and not (work.report.changed or work.report.nothing or work.report.known):
                raise typer.Exit(2)


def _print_kept(chunks: Iterator[tuple[int, int]], of: str) -> None:
    issues = read = 0
    for seen, new in chunks:
        issues, read = issues + seen, read + new
        typer.echo(f"{counted(issues, 'issue')}, {read:,} of them read", err=True)
    typer.echo(f"{of}: {counted(issues, 'past issue')} kept, {read:,} of them read now")


def _write(file: Path | None, text: str) -> None:
    if file is not None:
        with writing(file):
            file.write_text(text, encoding="utf-8", errors="replace")


def _day(text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InputError(f"--since {text!r}: expected a day such as 2026-01-31") from None


def _print_report(console: Console, report: BackfillResult, model: str) -> None:
    would = "would be changed" if report.dry_run else "changed"
    console.print(
        f"{model}: {counted(report.changed, 'issue')} {would}, {report.nothing:,} left alone; "
        f"{report.known:,} were done before, "
        f"{len(report.failed)} failed",
        markup=False,
    )
    for change, count in report.changes.most_common():
        console.print(f"{count:>6}  {printable(str(change))}", markup=False)
    for failure in report.failed:
        console.print(f"failed: {printable(failure)}", markup=False, soft_wrap=True)
