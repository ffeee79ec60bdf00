"""`distriage learn`. Imports nothing heavy before it runs; needs scikit-learn, no PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from distriage.errors import InputError
from distriage.extras import needs_extra
from distriage.history import History, load_history, read_history
from distriage.references import REPOSITORY

if TYPE_CHECKING:
    from distriage_training.learn.run import Result


def learn(
    repository: Annotated[
        str | None, typer.Argument(metavar="[OWNER/REPO]", help="Fetch its issues; GITHUB_TOKEN is used if set.")
    ] = None,
    issues: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Issues that `distriage backtest` or `learn` fetched before.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder to write.")] = Path("own-labels"),
    precision: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="How often a label that is given must be right.")
    ] = 0.8,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="How surely the issues held out must show it.")
    ] = 0.9,
    least: Annotated[int, typer.Option(min=5, help="Issues that a label needs to be learned.")] = 20,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL", help="Learn this one too, though it says what became of an issue or fell out of use."
        ),
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="LABEL", help="Do not learn this one.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the newest so many issues.")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="What was fetched; default: OWNER-REPO.history.jsonl. Delete it to fetch anew.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
) -> None:
    """Learn a repository's own labels from its past issues: a folder for `classify --own`, and a page that says how
    often each label is right. Writes nothing to GitHub.
    """
    with needs_extra("learn"):
        from distriage.classifier import Classifier
        from distriage_training.learn.examples import Wishes, check_wishes, usable
        from distriage_training.learn.run import PAGE, learn_and_measure, read_issues, write
        from distriage_training.learn.thresholds import Promise

        if (repository is None) == (issues is None):
            raise InputError("name a repository or --issues FILE, one of both")
        classifier = Classifier(model, threads=1)
        promise = Promise(precision, confidence)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
            tasks: dict[str, TaskID] = {}

            def progress(what: str, done: int, total: int | None) -> None:
                if what not in tasks:
                    tasks[what] = shown.add_task(what)
                shown.update(tasks[what], completed=done, total=total)

            if issues is not None:
                name, history = load_history(issues)
            else:
                name = repository or ""
                history = _fetch(name, cache, limit, lambda done: progress("fetching", done, limit))
            newest = history.issues[-limit:] if limit is not None else history.issues
            past, wishes = usable(newest), Wishes(least, frozenset(include or ()), frozenset(exclude or ()))
            check_wishes(past.kept, wishes)
            readings = read_issues(classifier, past.kept, progress)
            result = learn_and_measure(past, wishes, readings, promise, progress)
        write(output, name, classifier, result, promise)
        _say(result)
        typer.echo(f"written: {output} (see {PAGE} in it)")


def _fetch(repository: str, cache: Path | None, limit: int | None, progress: Callable[[int], None]) -> History:
    from distriage.github import Client, token_of_environment

    if not REPOSITORY.fullmatch(repository):
        raise InputError(f"{repository!r}: expected owner/repo")
    kept = cache or Path(f"{repository.replace('/', '-')}.history.jsonl")
    return read_history(Client(token_of_environment(), max_wait_s=math.inf), repository, kept, limit, progress)


def _say(result: Result) -> None:
    from distriage.render import printable  # which imports onnxruntime

    later = result.figures[0].issues
    typer.echo(f"learned {len(result.labels.names)} labels, left out {len(result.labels.left_out)}")
    typer.echo(
        f"measured on the newest {later} issues, learned from the {len(result.issues.kept) - later} before them:"
    )
    for figures in result.figures:
        right = "none given" if figures.precision is None else f"right in {figures.precision:.0%} of {figures.given}"
        typer.echo(f"  {figures.features}: labels {figures.covered} of {later}, {right}")
    typer.echo("in the folder, learned from all issues:")
    for name, threshold in zip(result.labels.names, result.final.thresholds, strict=True):
        given = "never given" if threshold is None else f"given from probability {threshold.probability:.2f} on"
        typer.echo(f"  {printable(name)}: {given}")
