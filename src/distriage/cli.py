"""The command line. Sub-commands of the other packages join through the entry-point group `distriage.commands`."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import distriage
from distriage.bench.command import bench
from distriage.engine import Engine
from distriage.errors import DistriageError, InputError
from distriage.taxonomy import default_taxonomy
from distriage.terminal import READ, give_up_output, is_full, say
from distriage.terminal import output as standard_output
from distriage.types import Mode

if TYPE_CHECKING:
    from distriage.records import BadRecord
    from distriage.types import IssueReport
    from distriage.verdict import FailedRecord, Verdict


# Nearly all that imports make stays. One answer took a seventh longer with the search for cycles among it, which Python
# begins after every 700 new objects and repeats at exit.
GC_THRESHOLD = 50_000
atexit.register(gc.freeze)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"distriage {distriage.__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


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
    from distriage.records import is_batch

    if (resume or engine is Engine.RAY) and output is None:
        raise InputError(f"{'--resume' if resume else '--engine ray'} needs --output")
    if json_ and jsonl:
        raise InputError("--json and --jsonl: choose one")
    sources = files or ([] if issue else ["-"])
    if title is not None and (len(sources) != 1 or is_batch(sources[0])):
        raise InputError("--title goes with one FILE that holds a body")
    if "-" in sources and sys.stdin is not None and sys.stdin.isatty():
        say("reading a report from standard input; end it with Ctrl-D")
    batch = any(map(is_batch, sources))
    if (second_reader is not None or show_request) and (batch or output is not None):
        raise InputError("--second-reader and --show-request take single reports; a batch is answered without them")
    if (reader_model or reader_calibration is not None) and second_reader is None and not show_request:
        raise InputError("--reader-model and --reader-calibration go with --second-reader URL")
    if (batch and not json_) or output is not None:
        if engine is Engine.LOCAL and workers != 1:
            from distriage.engine.workers import begin

            begin(sources)  # what workers are forked from, which imports what follows
        from distriage.engine.answers import Settings
        from distriage.engine.output import check_apart
        from distriage.engine.run import Items, run_cluster, run_local

        if output is not None:
            check_apart(output, sources)
        settings = Settings(model, mode, explain, similar, own)
        console = Console(stderr=True, highlight=False)
        if engine is Engine.RAY and output is not None:
            run_cluster(sources, settings, console, output=output, resume=resume, workers=workers)
        else:
            items = Items(sources, _issues(issue or [], tolerant=True))
            run_local(items, settings, console, output=output, resume=resume, workers=workers)
        return
    from distriage.graph import LoadingGraph
    from distriage.shipped import GRAPH, find_bundle

    # A second thread costs more to start than it saves on one pass; `--explain` has up to 40.
    folder, threads = find_bundle(model), None if explain else 1
    graph = LoadingGraph(folder / GRAPH, threads)  # while it loads, the rest is imported
    from distriage.classifier import Classifier
    from distriage.render import print_answers

    classifier = Classifier(folder, threads=threads, own=own, graph=graph)
    if similar:
        _ = classifier.similar  # a model without an index is refused before anything is printed
    several = len(sources) + len(issue or []) > 1
    reports = _reports(sources, issue or [], title, tolerant=batch or (several and not show_request))
    classify_one: Callable[[IssueReport], Verdict]
    classify_one = partial(classifier.classify, mode=mode, explain=explain, similar=similar)
    if show_request:
        from distriage.second_reader.reader import show_request as show

        for report in reports:
            show(classifier, report, mode)
        return
    if second_reader is not None:
        from distriage.second_reader.reader import reader_from_options

        reader = reader_from_options(second_reader, reader_model, reader_calibration, classifier.bundle.manifest.name)
        classify_one = partial(reader.classify, classifier, mode=mode, explain=explain, similar=similar)
    answers = _verdicts(classify_one, reports)
    if print_answers(answers, classifier.bundle.taxonomy, json_=json_, jsonl=jsonl, quiet=batch) and not batch:
        raise typer.Exit(2)


def _reports(
    sources: list[str], issues: list[str], title: str | None, *, tolerant: bool
) -> Iterator[IssueReport | BadRecord]:
    from distriage.records import is_batch, read_batch, read_one
    from distriage.sources import read_report

    for source in sources:
        if is_batch(source):
            yield from read_batch(source)
        else:
            yield read_one(source, partial(read_report, source, title), tolerant=tolerant)
    yield from _issues(issues, tolerant=tolerant)


def _issues(issues: list[str], *, tolerant: bool) -> Iterator[IssueReport | BadRecord]:
    if issues:
        from distriage.github import Client, token_of_environment
        from distriage.records import read_one
        from distriage.references import parse_reference

        client = Client(token_of_environment(), max_wait_s=0.0)  # a person waits: say at once what is wrong
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
    from distriage.records import BadRecord
    from distriage.verdict import FailedRecord

    for item in reports:
        yield FailedRecord(id=item.id, error=item.error) if isinstance(item, BadRecord) else answer(item)


def taxonomy(
    axis: Annotated[str | None, typer.Argument(help="Show one axis with its definitions.")] = None,
    label: Annotated[str | None, typer.Argument(help="Show one label with its playbook.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the labels: stages, symptoms, root causes, fix patterns, kinds."""
    from distriage.taxonomy_view import print_label, print_taxonomy, taxonomy_json

    loaded = default_taxonomy()
    axes = [loaded.axis(axis)] if axis else list(loaded.axes.values())
    if label is not None and json_:
        raise InputError("--json shows whole axes; leave LABEL out")
    if label is not None:
        print_label(standard_output(), loaded, axes[0], axes[0].label(label))
    elif json_:
        typer.echo(taxonomy_json(loaded, axes))
    else:
        print_taxonomy(standard_output(), loaded, axes, with_definitions=axis is not None)


_CORE = (classify, taxonomy, bench)


def build_app(typed: str = "") -> typer.Typer:
    """A new command line; Typer lists grow, so it is never reused.

    Args:
        typed: What the person calls. Where it is a command, the others are left out: to look for those of all installed
            packages, and to make the options of each, takes longer than many a command.
    """
    app = typer.Typer(
        name="distriage",
        help="What kind of distributed-training failure is this issue about, and what fixes such failures?",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for command in _CORE:
        app.command(rich_help_panel=READ)(command)
    if not _keep(app, typed):
        from importlib.metadata import entry_points

        from distriage.past.commands import similar_app
        from distriage.reader_commands import second_reader_app

        app.add_typer(similar_app, rich_help_panel=READ)
        app.add_typer(second_reader_app, rich_help_panel=READ)
        for point in entry_points(group="distriage.commands"):
            point.load().register(app)
        _keep(app, typed)
    return app


def _keep(app: typer.Typer, typed: str) -> bool:
    """Leave one command, or group of commands, if there is one of this name."""
    commands = [one for one in app.registered_commands if one.callback and one.callback.__name__ == typed]
    groups = [one for one in app.registered_groups if one.typer_instance and one.typer_instance.info.name == typed]
    if found := bool(commands or groups):
        app.registered_commands, app.registered_groups = commands, groups
    return found


def main() -> None:
    """Entry point: errors of ours end in one line and exit code 2."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        build_app(sys.argv[1] if sys.argv[1:] else "")()
    except DistriageError as error:
        say(str(error))
        sys.exit(2)
    except OSError as error:
        if not is_full(error):
            raise
        give_up_output(error)
        sys.exit(2)
    except KeyboardInterrupt:  # while packages load; Typer ends a command so, and one whose reader went away with 1
        sys.exit(130)
