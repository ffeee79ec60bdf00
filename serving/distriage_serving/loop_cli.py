"""Sub-commands around the bot: `distriage backtest` before it, `backfill` beside it, `verdicts export` after it. Imports nothing heavy before one runs."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Console

from distriage.errors import ConfigError, InputError
from distriage.extras import needs_extra

if TYPE_CHECKING:
    from distriage_serving.backfill import BackfillReport
    from distriage_serving.store import Store

verdicts_app = typer.Typer(name="verdicts", help="What people made of the model's verdicts.", no_args_is_help=True)

RepositoryArgument = Annotated[str, typer.Argument(metavar="OWNER/REPO", help="A repository on GitHub; GITHUB_TOKEN is used if set.")]
ModelOption = Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")]
DatabaseOption = Annotated[str | None, typer.Option(help="URL of the bot's database; default: DISTRIAGE_DATABASE, else sqlite:///distriage.db.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(backtest)
    app.command()(backfill)
    app.add_typer(verdicts_app)


@contextmanager
def _store(database: str | None, *, must_exist: bool) -> Iterator[Store]:
    from distriage_serving.settings import load_settings
    from distriage_serving.store import Store, UnavailableError

    url = load_settings({"database": database}).database
    file = Path(url.removeprefix("sqlite:///"))
    if must_exist and url.startswith("sqlite:///") and not file.is_file():
        raise ConfigError(f"{url}: no such file; expected the database of a bot or of a backfill (--database or DISTRIAGE_DATABASE)")
    try:
        with Store.open(url) as store:
            yield store
    except UnavailableError as error:
        raise ConfigError(f"the database: {error}") from None


def _check_repository(repository: str) -> None:
    from distriage_serving.github_rest import REPOSITORY

    if not REPOSITORY.fullmatch(repository):
        raise InputError(f"{repository!r}: expected owner/repo")


def _token() -> str:
    return os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or ""


def backtest(
    repository: RepositoryArgument,
    map_: Annotated[
        list[str] | None, typer.Option("--map", metavar="NAME=AXIS:LABEL", help="A label of the repository means this, e.g. 'deadlock=symptom:runtime-hang'.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A configuration; default: .github/distriage.yml of the repository.")] = None,
    output: Annotated[Path, typer.Option(help="The page.")] = Path("backtest.html"),
    limit: Annotated[int | None, typer.Option(min=1, help="Only the newest so many issues.")] = None,
    cache: Annotated[Path | None, typer.Option(help="What was fetched; default: OWNER-REPO.history.jsonl. Delete it to fetch anew.")] = None,
    model: ModelOption = None,
) -> None:
    """Say what the model would have said of a repository's past issues, and how often people agree, as one HTML page. Writes nothing to GitHub."""
    with needs_extra("serve"):
        from distriage.classifier import Classifier
        from distriage.policy import Mode
        from distriage_serving.backtest.measure import measure
        from distriage_serving.backtest.run import BacktestOptions
        from distriage_serving.backtest.run import backtest as run
        from distriage_serving.github_rest import Client

        _check_repository(repository)
        options = BacktestOptions(map_ or (), config, limit, cache or Path(f"{repository.replace('/', '-')}.history.jsonl"), output)
        console = Console(stderr=True, highlight=False)
        with Client(_token(), max_wait_s=math.inf) as client:
            result = run(client, Classifier(model), repository, options, console)
        for axis in result.axes:
            tally = measure(axis, result.replay.items).modes[Mode.BALANCED]
            right = f"right in {tally.precision:.0%} of {tally.judged}" if tally.precision is not None else "no label of people to compare with"
            typer.echo(f"{axis}: labels {tally.given} of {tally.issues} issues, {right} (mode balanced)")
        typer.echo(f"written: {output}")


def backfill(
    repository: RepositoryArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing to GitHub.")] = False,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Only issues filed on this day (UTC) or later, e.g. 2026-01-31.")] = None,
    state: Annotated[str, typer.Option(help="open, closed or all.")] = "open",
    comments: Annotated[bool, typer.Option("--comments", help="Also write comments, if the configuration asks for them; each one mails people.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also issues that an earlier run was through with, after a change of the configuration.")] = False,
    database: DatabaseOption = None,
    model: ModelOption = None,
) -> None:
    """Label the issues that a repository has already, as the bot would. Can be interrupted and called again."""
    with needs_extra("serve"):
        from distriage.classifier import Classifier
        from distriage_serving.backfill import BackfillOptions, BackfillReport, State, paced
        from distriage_serving.backfill import backfill as run
        from distriage_serving.github_rest import Client

        _check_repository(repository)
        if state not in get_args(State):
            raise InputError(f"--state {state!r}: expected one of {', '.join(get_args(State))}")
        options = BackfillOptions(dry_run, _day(since), state, comments, again)  # type: ignore[arg-type]
        if not _token():
            raise InputError("GITHUB_TOKEN is not set; expected a token with issues: write and contents: read (for --dry-run: read)")
        report = BackfillReport()
        console = Console(highlight=False)
        try:
            with _store(database, must_exist=False) as store, Client(_token(), max_wait_s=math.inf, before_write=paced(store)) as client:
                run(client, store, Classifier(model), repository, options, report, console)
        finally:
            _print_report(console, report)


def _day(text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InputError(f"--since {text!r}: expected a day such as 2026-01-31") from None


def _print_report(console: Console, report: BackfillReport) -> None:
    would = "would get" if report.dry_run else "got"
    console.print(f"{report.labelled} issues {would} labels, {report.nothing} none; {report.known} were done before, {len(report.failed)} failed", markup=False)
    for label, count in report.labels.most_common():
        console.print(f"{count:>6}  {label}", markup=False)
    for failure in report.failed:
        console.print(f"failed: {failure}", markup=False, soft_wrap=True)


@verdicts_app.command()
def export(
    database: DatabaseOption = None,
    output: Annotated[Path | None, typer.Option(help="A file; default: standard output.")] = None,
) -> None:
    """Write people's standing verdicts as JSONL, the latest on each axis of each issue, with its text. For `distriage corpus export-verdicts`."""
    with needs_extra("serve"):
        from distriage_serving.verdict_export import verdict_records

        with _store(database, must_exist=True) as store:
            lines = [record.model_dump_json() + "\n" for record in verdict_records(store)]
    if output is None:
        sys.stdout.write("".join(lines))
        return
    try:
        output.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None
    typer.echo(f"{len(lines):,} verdicts in {output}", err=True)
