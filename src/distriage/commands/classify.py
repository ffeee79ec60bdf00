"""`distriage classify`: its options, which of them go together, and the two ways to go on: a batch or single reports.

Imports nothing heavy before it is known which.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from distriage.base.errors import InputError
from distriage.base.terminal import say
from distriage.base.types import Mode
from distriage.engine import Engine, Settings

if TYPE_CHECKING:
    from distriage.answer.verdict import FailedRecord, Verdict
    from distriage.base.types import IssueReport
    from distriage.reports.records import BadRecord


def classify(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|-",
            help="Reports: Markdown, text or JSON; `.jsonl` holds one per line; `-` is standard input.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title, where FILE holds only the body.")] = None,
    issue: Annotated[
        list[str] | None,
        typer.Option(help="Read owner/repo#number or its URL from GitHub (GITHUB_TOKEN is used if set)."),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="One JSON document (schema: schemas/verdict.schema.json).")
    ] = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="One JSON document per line; the default for .jsonl input.")
    ] = False,
    mode: Annotated[
        Mode,
        typer.Option(
            help="How sure a label must be. best: the likeliest; balanced: right in about 80 %; precise: in about 90 %."
        ),
    ] = Mode.BALANCED,
    explain: Annotated[bool, typer.Option("--explain", help="Mark the lines that carried each verdict.")] = False,
    similar: Annotated[
        bool, typer.Option("--similar", help="Name the known issues that are most similar, with what fixed them.")
    ] = False,
    own: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Also say your own labels, which `distriage learn` learned.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="A bundle's folder or the name of a shipped model.")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the answers to FILE (.jsonl, .jsonl.gz, .jsonl.zst or .parquet) instead of standard output; "
            "with `--engine ray` a folder.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished run of the same --output.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that answer batches; default: one per core.")
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="This machine, or the Ray cluster that RAY_ADDRESS names.")
    ] = Engine.LOCAL,
    second_reader: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Ask an OpenAI-compatible endpoint of yours about what is in doubt; see docs/second-reader.md.",
        ),
    ] = None,
    reader_model: Annotated[str, typer.Option(metavar="NAME", help="The model's name at that endpoint.")] = "",
    reader_calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What `distriage second-reader calibrate` wrote for that model.")
    ] = None,
    show_request: Annotated[
        bool, typer.Option("--show-request", help="Print what a second reader would be sent, and send nothing.")
    ] = False,
) -> None:
    """Say what issue reports are about: kind, distributed or not, stage, symptom, root cause, fix; or "not sure"."""
    from distriage.reports.records import check_any_read, is_batch

    if (resume or engine is Engine.RAY) and output is None:
        raise InputError(f"{'--resume' if resume else '--engine ray'} needs --output")
    if json_ and jsonl:
        raise InputError("--json and --jsonl: choose one")
    sources, issues = files or ([] if issue else ["-"]), issue or []
    batch = any(map(is_batch, sources))
    if title is not None and (len(sources) != 1 or batch):
        raise InputError("--title goes with one FILE that holds a body")
    if (reader_model or reader_calibration is not None) and second_reader is None and not show_request:
        raise InputError("--reader-model and --reader-calibration go with --second-reader URL")
    to_file = output is not None
    many = to_file or (batch and not json_)
    for option, is_given, is_refused, how in (  # options that a way of answering would silently ignore
        ("--second-reader", second_reader is not None, batch or to_file, "a batch or --output"),
        ("--show-request", show_request, batch or to_file, "a batch or --output"),
        ("--json", json_, to_file, "--output, whose name says the format"),
        ("--workers", workers is not None, not many, "single reports or --json, which one process answers"),
        ("--issue", bool(issues), engine is Engine.RAY, "--engine ray, which reads files"),
    ):
        if is_given and is_refused:
            raise InputError(f"{option} does not go with {how}")
    if "-" in sources and sys.stdin is not None and sys.stdin.isatty():
        say("reading a report from standard input; end it with Ctrl-D")
    settings = Settings(model, mode, explain, similar, own)
    if many:
        _answer_many(sources, issues, title, settings, engine, output=output, resume=resume, workers=workers)
        return
    from distriage.model.graph import LoadingGraph
    from distriage.model.shipped import GRAPH, find_bundle

    # A second thread costs more to start than it saves on one pass; `--explain` has up to 40.
    folder, threads = find_bundle(model), None if explain else 1
    graph = LoadingGraph(folder / GRAPH, threads)  # while it loads, the rest is imported
    from distriage.answer.render import print_answers
    from distriage.classifier import Classifier

    classifier = Classifier(folder, threads=threads, own=own, graph=graph)
    if similar:
        _ = classifier.similar  # a model without an index is refused before anything is printed
    several = batch or (len(sources) + len(issues) > 1 and not show_request)
    reports = _reports(sources, issues, title, tolerant=several)
    if show_request:
        from distriage.second_reader.reader import show_request as show

        for report in reports:
            show(classifier, report, mode, reader_model)
        return
    answer = classifier.classify
    if second_reader is not None:
        from distriage.second_reader.reader import reader_from_options

        reader = reader_from_options(second_reader, reader_model, reader_calibration, classifier.bundle.manifest.name)
        answer = partial(reader.classify, classifier)
    answers = _verdicts(partial(answer, mode=mode, explain=explain, similar=similar), reports)
    taxonomy = classifier.bundle.taxonomy
    count, failures = print_answers(answers, taxonomy, json_=json_, jsonl=jsonl, quiet=batch)
    if batch:
        check_any_read(count, failures)
    elif failures:
        raise typer.Exit(2)


def _answer_many(
    sources: list[str],
    issues: list[str],
    title: str | None,
    settings: Settings,
    engine: Engine,
    *,
    output: str | None,
    resume: bool,
    workers: int | None,
) -> None:
    """Write the answers in order, one per line, to a file or standard output."""
    if engine is Engine.LOCAL and workers != 1:
        from distriage.engine.workers import begin

        begin(sources)  # the process to fork workers from, which imports the modules below
    from distriage.engine.output import check_apart
    from distriage.engine.run import Items, run_cluster, run_local

    if output is not None:
        check_apart(output, sources)
    console = Console(stderr=True, highlight=False)
    if engine is Engine.RAY and output is not None:
        run_cluster(sources, settings, console, output=output, resume=resume, workers=workers)
    else:
        items = Items(sources, _issues(issues, tolerant=True), title)
        run_local(items, settings, console, output=output, resume=resume, workers=workers)


def _reports(
    sources: list[str], issues: list[str], title: str | None, *, tolerant: bool
) -> Iterator[IssueReport | BadRecord]:
    from distriage.reports.records import is_batch, read_batch, read_one
    from distriage.reports.sources import read_report

    for source in sources:
        if is_batch(source):
            yield from read_batch(source)
        else:
            yield read_one(source, partial(read_report, source, title), tolerant=tolerant)
    yield from _issues(issues, tolerant=tolerant)


def _issues(issues: list[str], *, tolerant: bool) -> Iterator[IssueReport | BadRecord]:
    if issues:
        from distriage.base.references import parse_reference
        from distriage.github.address import token_of_environment
        from distriage.github.client import Client
        from distriage.reports.records import read_one

        client = Client(token_of_environment(), max_wait_s=0.0)  # a person waits: report faults at once
        try:
            references = [parse_reference(text, client.hosts) for text in issues]
        except InputError as error:
            raise InputError(f"--issue {error}") from None
        for reference in references:
            yield read_one(str(reference), partial(client.issue, reference), tolerant=tolerant)


def _verdicts(
    answer: Callable[[IssueReport], Verdict], reports: Iterator[IssueReport | BadRecord]
) -> Iterator[Verdict | FailedRecord]:
    """Classify in order; failed records keep their place."""
    from distriage.answer.verdict import FailedRecord
    from distriage.reports.records import BadRecord

    for item in reports:
        yield FailedRecord(id=item.id, error=item.error) if isinstance(item, BadRecord) else answer(item)
