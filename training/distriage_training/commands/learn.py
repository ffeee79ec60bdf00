"""`distriage learn`. Imports nothing heavy before it runs; needs scikit-learn, no PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from distriage.base.errors import InputError
from distriage.base.extras import needs_extra
from distriage.base.references import check_repository
from distriage.github.history import History, load_history, read_history

if TYPE_CHECKING:
    from distriage.github.client import Client
    from distriage.model.bundle import Bundle
    from distriage.own.labels import OwnLabels
    from distriage_training.learn.compare import Comparison
    from distriage_training.learn.run import Result


def learn(
    repository: Annotated[
        str | None, typer.Argument(metavar="OWNER/REPO", help="Fetch its issues; GITHUB_TOKEN is used if set.")
    ] = None,
    issues: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Issues that `distriage backtest` or `learn` fetched before.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder to write.")] = Path("own-labels"),
    precision: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="How often a label that is given must be right.")
    ] = 0.8,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="How sure that must be, by held-out issues.")
    ] = 0.9,
    least: Annotated[int, typer.Option(min=5, help="Issues that a label needs to be learned.")] = 20,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="Learn this label too, though it names an outcome or fell out of use."),
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="LABEL", help="Do not learn this one.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use the newest N issues.")] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Keep fetched issues here; default: OWNER-REPO.history.jsonl. Delete it to fetch anew."),
    ] = None,
    reviews: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="People's reviews of own labels, from `distriage reviews export`."),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Heads learned before, such as those in --output: worse ones are not written."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
) -> None:
    """Learn a repository's own labels from its past issues, and say how often each one is right.

    Writes a folder for `classify --own`, with a page in it; nothing to GitHub. With --previous the exit code is 1 if
    the new heads are worse, or give no label any more.
    """
    with needs_extra("learn"):
        from distriage.classifier import Classifier
        from distriage_training.learn.examples import Wishes, check_wishes, usable
        from distriage_training.learn.features import features_of
        from distriage_training.learn.reviews import read_own_reviews, with_reviews
        from distriage_training.learn.run import PAGE, compare_with, learn_and_measure, write
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
            asked = repository is not None
            before = _previous(previous, name, classifier.bundle, ask=asked) if previous is not None else None
            newest = history.issues[-limit:] if limit is not None else history.issues
            reviewed = with_reviews(newest, read_own_reviews(reviews, name) if reviews is not None else ())
            past = usable(reviewed.issues, reviewed.numbers)
            wishes = Wishes(least, frozenset(include or ()), frozenset(exclude or ()))
            check_wishes(past.kept, wishes)
            rows = features_of(classifier, past.kept, progress, forms=history.forms)
            result = learn_and_measure(past, wishes, rows, promise, progress)
            compared = compare_with(before, result, wishes, rows, promise) if before is not None else None
        refusal = _refusal(before, compared, result) if before is not None and compared is not None else None
        if refusal is None:
            write(output, name, classifier, result, promise)
        if reviews is not None:
            unknown = f", {reviewed.unknown} of other issues" if reviewed.unknown else ""
            typer.echo(f"{reviewed.reviews} reviews of own labels{unknown}; issues changed by them: {reviewed.changed}")
        _say(result)
        if before is not None and compared is not None:
            _say_compared(before, compared, result, refusal)
        if refusal is not None:
            typer.echo(f"refused, nothing written: {refusal}")
            raise typer.Exit(1)
        typer.echo(f"written: {output} (see {PAGE} in it)")


def _fetch(repository: str, cache: Path | None, limit: int | None, progress: Callable[[int], None]) -> History:
    check_repository(repository)
    kept = cache or Path(f"{repository.replace('/', '-')}.history.jsonl")
    return read_history(_client(), repository, kept, limit, progress)


def _client() -> Client:
    from distriage.github.address import token_of_environment
    from distriage.github.client import Client

    return Client(token_of_environment(), max_wait_s=math.inf)


def _previous(folder: Path, repository: str, bundle: Bundle, *, ask: bool) -> OwnLabels | None:
    """Earlier heads to compare new ones with; None if this model can use none.

    Args:
        ask: Ask GitHub whether the repository had another name then.
    """
    from distriage.github.renamed import was_called
    from distriage.own.labels import MANIFEST, OWN_FORMAT, OwnLabels, probabilities_sha256, read_manifest

    if not folder.exists():
        typer.echo(f"nothing to compare with: {folder} is not there yet")
        return None
    manifest = read_manifest(folder / MANIFEST)
    is_same = manifest.repository.casefold() == repository.casefold()
    if not is_same and not (ask and was_called(_client(), manifest.repository, repository)):
        raise InputError(f"--previous {folder}: learned from {manifest.repository}; expected heads of {repository}")
    if manifest.model_sha256 != probabilities_sha256(bundle.manifest):
        typer.echo(f"nothing to compare with: {folder} was learned with {manifest.model}, another model")
        return None
    if manifest.format != OWN_FORMAT:
        typer.echo(f"nothing to compare with: {folder} is of format {manifest.format}, another Distriage's")
        return None
    return OwnLabels(folder, bundle)


def _refusal(before: OwnLabels, compared: Comparison, result: Result) -> str | None:
    """Why the new heads must not replace the earlier ones; None if they may."""
    from distriage.base.terminal import printable

    if compared.worse:
        return f"worse on {', '.join(map(printable, compared.worse))}"
    gave = any(head.threshold is not None for head in before.manifest.labels)
    is_silent = all(threshold is None for threshold in result.final.thresholds)
    return "no label would be given any more" if gave and is_silent else None


def _say_compared(before: OwnLabels, compared: Comparison, result: Result, refusal: str | None) -> None:
    from rich.table import Table
    from rich.text import Text

    from distriage.base.terminal import printable

    heads = f"the heads of {before.manifest.created}"
    if compared.rows:
        typer.echo(f"compared with {heads}, on {compared.issues} issues that neither has seen:")
    else:
        both = "no issue that neither has seen" if compared.issues == 0 else "no label that both know"
        typer.echo(f"nothing to compare with {heads}: {both}")
    if compared.rows:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in ("label", "issues", "F1 before", "now", "difference, 95 %", "right before", "now", ""):
            table.add_column(name, justify="left" if name in {"label", ""} else "right", no_wrap=True)
        for row in compared.rows:
            low, high = row.interval
            given = ("-" if not count else f"{right} of {count}" for right, count in (row.given_before, row.given_now))
            table.add_row(
                Text(printable(row.label)),
                str(row.issues),
                f"{row.before:.3f}",
                f"{row.now:.3f}",
                f"{low:+.3f} to {high:+.3f}",
                *given,
                row.outcome,
            )
        Console(width=120).print(table)
    labels = result.labels
    still = {name for name, one in zip(labels.names, result.final.thresholds, strict=True) if one is not None}
    for head in before.manifest.labels:
        if head.threshold is not None and head.name not in still:
            unsure = "cannot keep the promise any more" if head.name in labels.names else "no issue has it"
            typer.echo(f"no longer given: {printable(head.name)}: {labels.left_out.get(head.name, unsure)}")
    if compared.rows and refusal is None:
        typer.echo("not worse on any label that both know")


def _say(result: Result) -> None:
    from distriage.base.terminal import counted, printable

    later = result.figures[0].issues
    typer.echo(f"learned {len(result.labels.names)} labels, left out {len(result.labels.left_out)}")
    if result.issues.unjudged:
        typer.echo(
            f"left out {counted(result.issues.unjudged, 'open issue')} without a label, not judged by anybody yet"
        )
    typer.echo(
        f"measured on the newest {later} issues, learned from the {len(result.issues.kept) - later} before them:"
    )
    for figures in result.figures:
        right = "none given" if figures.precision is None else f"right in {figures.precision:.0%} of {figures.given}"
        typer.echo(f"  {figures.features}: labels {figures.covered} of {later}, {right}")
    typer.echo("in the folder, learned from all issues:")
    for name, threshold in zip(result.labels.names, result.final.thresholds, strict=True):
        typer.echo(f"  {printable(name)}: {_given(None if threshold is None else threshold.probability)}")


def _given(threshold: float | None) -> str:
    """From where on a label is given, with as many digits as tell it from certainty, which no issue reaches."""
    for digits in (2, 4, 6) if threshold is not None else ():
        if float(shown := f"{threshold:.{digits}f}") < 1:
            return f"given from probability {shown} on"
    return "never given"
