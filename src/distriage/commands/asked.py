"""Reports that are asked about on the command line: which options go together, and the two ways to go on, a batch or
single reports.

Imports nothing heavy before it is known which, nor the parser of options where there is nothing for it to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from distriage.base.errors import InputError
from distriage.base.terminal import say
from distriage.base.types import Mode
from distriage.engine import Engine, Settings

if TYPE_CHECKING:
    from distriage.answer.verdict import FailedRecord, Verdict
    from distriage.base.types import IssueReport
    from distriage.reports.records import BadRecord

_PLAIN = ("--json", "--jsonl", "--explain", "--similar")  # options without a value


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `distriage classify`."""

    files: Sequence[str] | None = None
    title: str | None = None
    issue: Sequence[str] | None = None
    json_: bool = False
    jsonl: bool = False
    mode: Mode = Mode.BALANCED
    explain: bool = False
    similar: bool = False
    own: str | None = None
    releases: Path | None = None
    model: str | None = None
    output: str | None = None
    resume: bool = False
    workers: int | None = None
    engine: Engine = Engine.LOCAL
    second_reader: str | None = None
    reader_model: str = ""
    reader_calibration: Path | None = None
    show_request: bool = False


def plainly_asked(words: Sequence[str]) -> Asked | None:
    """The call in some words, if it is `classify` with files and options without a value.

    Args:
        words: After the program's name.
    """
    if words[:1] != ["classify"]:
        return None
    options = [word for word in words[1:] if word.startswith("-") and word != "-"]
    if not set(options).issubset(_PLAIN):
        return None
    files = [word for word in words[1:] if word not in _PLAIN]
    json_, jsonl, explain, similar = (name in options for name in _PLAIN)
    return Asked(files, json_=json_, jsonl=jsonl, explain=explain, similar=similar)


def answer(asked: Asked) -> None:
    """Answer reports.

    Raises:
        DistriageError: options do not go together, nothing is readable, or the model does not load.
    """
    from distriage.reports.formats import is_batch

    if (asked.resume or asked.engine is Engine.RAY) and asked.output is None:
        raise InputError(f"{'--resume' if asked.resume else '--engine ray'} needs --output")
    if asked.json_ and asked.jsonl:
        raise InputError("--json and --jsonl: choose one")
    sources, issues = asked.files or ([] if asked.issue else ["-"]), asked.issue or []
    batch = any(map(is_batch, sources))
    if asked.title is not None and (len(sources) != 1 or batch):
        raise InputError("--title goes with one FILE that holds a body")
    asks = asked.second_reader is not None or asked.show_request
    if (asked.reader_model or asked.reader_calibration is not None) and not asks:
        raise InputError("--reader-model and --reader-calibration go with --second-reader URL")
    to_file = asked.output is not None
    many = to_file or (batch and not asked.json_)
    for option, is_given, is_refused, how in (  # options that a way of answering would silently ignore
        ("--second-reader", asked.second_reader is not None, batch or to_file, "a batch or --output"),
        ("--show-request", asked.show_request, batch or to_file, "a batch or --output"),
        ("--json", asked.json_, to_file, "--output, whose name says the format"),
        ("--workers", asked.workers is not None, not many, "single reports or --json, which one process answers"),
        ("--issue", bool(issues), asked.engine is Engine.RAY, "--engine ray, which reads files"),
    ):
        if is_given and is_refused:
            raise InputError(f"{option} does not go with {how}")
    if "-" in sources and sys.stdin is not None and sys.stdin.isatty():
        say("reading a report from standard input; end it with Ctrl-D")
    settings = Settings(asked.model, asked.mode, asked.explain, asked.similar, asked.own, asked.releases)
    if many:
        _answer_many(sources, issues, settings, asked)
        return
    from distriage.model.graph import LoadingGraph
    from distriage.model.shipped import GRAPH, find_bundle

    # A second thread costs more to start than it saves on one pass; `--explain` has up to 40.
    folder, threads = find_bundle(asked.model), None if asked.explain else 1
    graph = LoadingGraph(folder / GRAPH, threads)  # while it loads, the rest is imported
    from distriage.answer.printed import print_answers
    from distriage.classifier import Classifier
    from distriage.reports.records import check_any_read

    classifier = Classifier(folder, threads=threads, own=asked.own, graph=graph)
    if asked.releases is not None:
        from distriage.signs.table import read_table

        classifier.releases = read_table(asked.releases).releases
    if asked.similar:
        _ = classifier.similar  # a model without an index is refused before anything is printed
    several = batch or (len(sources) + len(issues) > 1 and not asked.show_request)
    reports = _reports(sources, issues, asked.title, tolerant=several)
    if asked.show_request:
        from distriage.second_reader.reader import show_request as show

        for report in reports:
            show(classifier, report, asked.mode, asked.reader_model)
        return
    classify = classifier.classify
    if asked.second_reader is not None:
        from distriage.second_reader.reader import reader_from_options

        name = classifier.bundle.manifest.name
        reader = reader_from_options(asked.second_reader, asked.reader_model, asked.reader_calibration, name)
        classify = partial(reader.classify, classifier)
    answers = _verdicts(partial(classify, mode=asked.mode, explain=asked.explain, similar=asked.similar), reports)
    taxonomy = classifier.bundle.taxonomy
    count, failures = print_answers(answers, taxonomy, json_=asked.json_, jsonl=asked.jsonl, quiet=batch, own=asked.own)
    if batch:
        check_any_read(count, failures)
    elif failures:
        sys.exit(2)


def _answer_many(sources: Sequence[str], issues: Sequence[str], settings: Settings, asked: Asked) -> None:
    """Write the answers in order, one per line, to a file or standard output."""
    output, resume, workers = asked.output, asked.resume, asked.workers
    if asked.engine is Engine.LOCAL and workers != 1:
        from distriage.engine.workers import begin

        begin(sources)  # the process to fork workers from, which imports the modules below
    from rich.console import Console

    from distriage.engine.output import check_apart
    from distriage.engine.run import Items, run_cluster, run_local

    if output is not None:
        check_apart(output, sources)
    console = Console(stderr=True, highlight=False)
    if asked.engine is Engine.RAY and output is not None:
        run_cluster(sources, settings, console, output=output, resume=resume, workers=workers)
    else:
        items = Items(sources, _issues(issues, tolerant=True), asked.title)
        run_local(items, settings, console, output=output, resume=resume, workers=workers)


def _reports(
    sources: Sequence[str], issues: Sequence[str], title: str | None, *, tolerant: bool
) -> Iterator[IssueReport | BadRecord]:
    from distriage.reports.formats import is_batch
    from distriage.reports.records import read_batch, read_one
    from distriage.reports.sources import read_report

    for source in sources:
        if is_batch(source):
            yield from read_batch(source)
        else:
            yield read_one(source, partial(read_report, source, title), tolerant=tolerant)
    yield from _issues(issues, tolerant=tolerant)


def _issues(issues: Sequence[str], *, tolerant: bool) -> Iterator[IssueReport | BadRecord]:
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
