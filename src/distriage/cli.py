"""The command line. Sub-commands of the other packages join through the entry-point group `distriage.commands`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import distriage
from distriage.errors import DistriageError, InputError
from distriage.taxonomy import default_taxonomy

if TYPE_CHECKING:
    from distriage.classifier import Classifier
    from distriage.policy import Mode
    from distriage.reading import BadRecord
    from distriage.similar import Similar
    from distriage.types import IssueReport
    from distriage.verdict import FailedRecord, Verdict

app = typer.Typer(
    name="distriage",
    help="What kind of distributed-training failure is this issue about, and what fixes such failures?",
    no_args_is_help=True,
    add_completion=False,
)

_CHUNK = 64


def _version(show: bool) -> None:
    if show:
        typer.echo(f"distriage {distriage.__version__}")
        raise typer.Exit


@app.callback()
def _main(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    del version


@app.command()
def classify(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE|-]...", help="Reports: Markdown, text or JSON; `.jsonl` holds one a line; `-` is standard input.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title, where FILE holds only the body.")] = None,
    issue: Annotated[list[str] | None, typer.Option(help="Read owner/repo#number or its URL from GitHub (GITHUB_TOKEN is used if set).")] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON document (schema: schemas/verdict.schema.json).")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON document a line; the default for .jsonl input.")] = False,
    mode: Annotated[
        str, typer.Option(help="How sure a label must be: best (always the likeliest), balanced (right in about 80 %), precise (90 %).")
    ] = "balanced",
    explain: Annotated[bool, typer.Option("--explain", help="Mark the lines that carried each verdict.")] = False,
    similar: Annotated[bool, typer.Option("--similar", help="Name the known issues that are most similar, with what fixed them.")] = False,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
) -> None:
    """Say stage, symptom, root cause, fix pattern and kind of issue reports, or that it is not sure."""
    from distriage.classifier import Classifier
    from distriage.policy import Mode
    from distriage.reading import is_batch
    from distriage.similar import Similar

    if mode not in list(Mode):
        raise InputError(f"--mode {mode!r}: expected one of {', '.join(Mode)}")
    if json_ and jsonl:
        raise InputError("--json and --jsonl: choose one")
    sources = files or ([] if issue else ["-"])
    if title is not None and (len(sources) != 1 or is_batch(sources[0])):
        raise InputError("--title goes with one FILE that holds a body")
    classifier = Classifier(model)
    known_issues = Similar(classifier) if similar else None
    batch = any(map(is_batch, sources))
    reports = _reports(sources, issue or [], title, tolerant=batch)
    verdicts = _verdicts(classifier, reports, Mode(mode), with_evidence=explain, similar=known_issues, show_progress=batch)
    if json_:
        answers = list(verdicts)
        typer.echo(
            answers[0].model_dump_json(indent=2) if len(answers) == 1 else "[" + ",\n".join(answer.model_dump_json(indent=2) for answer in answers) + "]"
        )
        return
    console = Console(highlight=False)
    for count, answer in enumerate(verdicts):
        if jsonl or batch:
            sys.stdout.write(answer.model_dump_json() + "\n")
        else:
            if count:
                console.print()
            _show(console, answer, classifier)


def _show(console: Console, answer: Verdict | FailedRecord, classifier: Classifier) -> None:
    from distriage.render import print_verdict
    from distriage.verdict import FailedRecord

    if isinstance(answer, FailedRecord):  # only batches hold failed records, and batches are printed as JSON
        raise InputError(answer.error)
    print_verdict(console, answer, classifier.bundle.taxonomy)


def _reports(sources: list[str], issues: list[str], title: str | None, *, tolerant: bool) -> Iterator[IssueReport | BadRecord]:
    from distriage.classifier import check_report
    from distriage.reading import BadRecord, is_batch, read_batch, read_report

    for source in sources:
        if is_batch(source):
            yield from read_batch(source)
            continue
        try:
            report = read_report(source, title)
            check_report(report)
        except InputError as error:
            if not tolerant:
                raise
            yield BadRecord(source, str(error))
        else:
            yield report
    if issues:
        from distriage.github import GitHubReader, parse_reference
        from distriage.types import IssueReport

        references = [parse_reference(text) for text in issues]
        with GitHubReader() as reader:
            for reference in references:
                data = reader.issue(reference)
                yield IssueReport(title=data["title"], body=data.get("body") or "", id=str(reference))


def _verdicts(
    classifier: Classifier, reports: Iterator[IssueReport | BadRecord], mode: Mode, *, with_evidence: bool, similar: Similar | None, show_progress: bool
) -> Iterator[Verdict | FailedRecord]:
    """Classify in chunks, in order; failed records keep their place."""
    from distriage.reading import BadRecord
    from distriage.verdict import FailedRecord, make_verdict

    console = Console(stderr=True)
    columns = (TextColumn("classifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not (show_progress and console.is_terminal)) as progress:
        pending = list(reports)
        task = progress.add_task("", total=len(pending))
        for start in range(0, len(pending), _CHUNK):
            part = pending[start : start + _CHUNK]
            good = [report for report in part if not isinstance(report, BadRecord)]
            predictions = iter(classifier.predict(good))
            for item in part:
                if isinstance(item, BadRecord):
                    yield FailedRecord(id=item.id, error=item.error)
                else:
                    yield make_verdict(classifier, item, next(predictions), mode, with_evidence=with_evidence, similar=similar)
            progress.advance(task, len(part))


@app.command()
def taxonomy(
    axis: Annotated[str | None, typer.Argument(help="Show one axis with its definitions.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the labels: stages, symptoms, root causes, fix patterns, kinds."""
    from distriage.taxonomy_view import print_taxonomy, taxonomy_json

    loaded = default_taxonomy()
    axes = [loaded.axis(axis)] if axis else list(loaded.axes.values())
    if json_:
        typer.echo(taxonomy_json(loaded, axes))
    else:
        print_taxonomy(Console(highlight=False), loaded, axes, with_definitions=axis is not None)


@app.command()
def bench(
    reports: Annotated[Path | None, typer.Option(help="A JSONL of reports; default: 1,000 made from the shipped model's reference reports.")] = None,
    count: Annotated[int, typer.Option(min=1, help="How many reports.")] = 1000,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
    compare: Annotated[str | None, typer.Option(help="A second bundle, measured in the same run, in turn.")] = None,
) -> None:
    """Measure throughput, latency and peak memory of classification."""
    from distriage.bench import run_bench

    run_bench(Console(highlight=False), reports, count, model, compare)


def main() -> None:
    """Entry point: errors of ours end in one line and exit code 2."""
    for point in entry_points(group="distriage.commands"):
        point.load().register(app)
    try:
        app()
    except DistriageError as error:
        Console(stderr=True, highlight=False, soft_wrap=True, emoji=False).print(f"distriage: {error}", markup=False)  # `:100:` is an emoji
        sys.exit(2)
    except KeyboardInterrupt:
        Console(stderr=True).print("distriage: interrupted", markup=False)
        sys.exit(130)
    except BrokenPipeError:  # `distriage ... | head`
        sys.stderr.close()
        sys.exit(141)
