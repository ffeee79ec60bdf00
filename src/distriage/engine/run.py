"""A batch on the command line: read, answer, write, show progress."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain, islice
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from distriage.answer.printed import say_without_own
from distriage.base.errors import DistriageError, GitHubError, InputError, WorkerError
from distriage.base.terminal import counted, say
from distriage.engine import Settings, cluster, local
from distriage.engine.answers import Item, checked, id_of, run_options, title_of
from distriage.engine.finished import difference
from distriage.engine.output import Output, Tally, is_complete
from distriage.reports.formats import is_batch
from distriage.reports.records import (
    COLUMNS,
    check_any_read,
    read_one,
    read_records,
    size_of,
)
from distriage.reports.sources import read_report

FLUSH_S = 1.0  # answers reach the file, and the bar moves, at least so often


class Items:
    """The items to answer, in order; files of many reports are read record by record.

    Attributes:
        total: Bytes of all files of many reports.
        position: Bytes of them read by now.
        failure: Error that ended the items early; earlier items are answered.
    """

    def __init__(self, sources: Sequence[str], more: Iterator[Item], title: str | None = None) -> None:
        """Args:
        more: Reports that come from elsewhere, after those of the sources.
        title: For a source that holds only a body.
        """
        self._sources, self._more, self._title = sources, more, title
        self.failure: GitHubError | None = None
        self.total = sum(size_of(source) for source in sources if is_batch(source))
        self.position = 0

    def __iter__(self) -> Iterator[Item]:
        before = 0
        for source in self._sources:
            if not is_batch(source):
                yield read_one(source, partial(read_report, source, self._title))
                continue
            for record in read_records(source, columns=COLUMNS):
                self.position = before + record.position
                yield record
            before += size_of(source)
        try:
            yield from self._more
        except GitHubError as error:
            self.failure = error


def run_local(
    items: Items, settings: Settings, console: Console, *, output: str | None, resume: bool, workers: int | None
) -> None:
    """Answer on this machine, to a file or to standard output.

    Args:
        resume: Continue an unfinished run; if the output is complete, check that it is of this run.

    Raises:
        BundleError: the model or the own labels are missing or damaged; nothing is written then.
        InputError: a file cannot be read or written, the file or an option has changed since the run began, or no
            record was readable.
        GitHubError: a limit is reached, or GitHub is away; reports read before are answered.
        DistriageError: a worker died.
    """
    settings, bundle = checked(settings)
    options = run_options(settings, bundle)
    if resume and output is not None and is_complete(output):
        _check_finished(output, options, items)
        say(f"{output}: complete already; without --resume it is written anew")
        return
    with (
        Output(output, options, resume=resume) if output is not None else nullcontext() as target,
        _interrupted(target),
    ):
        stream = iter(items)
        if target is not None and target.count:
            _skip(items, stream, target)
        with _progress(console) as progress:
            task = progress.add_task("", total=items.total or None, reports="0")
            write: Callable[[str], None] = target.write if target is not None else _print
            before = target.before if target is not None else Tally()
            for done in _paced(_write_all(local.answer(stream, settings, workers), write, before), target, before):
                progress.update(task, completed=items.position, reports=f"{done.answers:,}")
        if items.failure is not None:
            raise items.failure
        if target is not None:
            target.finish(list(bundle.manifest.axes))
        place = "" if output is None else f": {output}"
        console.print(f"{counted(done.answers, 'answer')}{_errors(done.errors)}{place}", soft_wrap=True, markup=False)
        say_without_own(settings.own, done.without_own)
        check_any_read(done.answers, done.errors)


@contextmanager
def _interrupted(target: Output | None) -> Iterator[None]:
    """Report the unfinished rest on Ctrl-C or SIGTERM, or if GitHub or a worker failed."""

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough
        sys.exit(128 + number)  # as a shell has it

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GitHubError, WorkerError) as error:
        said = [] if isinstance(error, DistriageError) else ["interrupted"]
        if target is not None and target.count:
            said.append(f"{target.part} holds {counted(target.count, 'answer')}: --resume goes on")
        if said:
            say("; ".join(said))
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _write_all(answers: Iterator[tuple[Item, str]], write: Callable[[str], None], done: Tally) -> Iterator[Tally]:
    for _, line in answers:
        write(line)
        done = done.with_answer(line)
        yield done


def _paced(steps: Iterator[Tally], target: Output | None, before: Tally) -> Iterator[Tally]:
    """Some of the steps, including the last one; the file is up to date after each."""
    shown, done = time.monotonic(), before
    for done in steps:
        if time.monotonic() - shown > FLUSH_S / 2:
            if target is not None:
                target.flush()
            yield done
            shown = time.monotonic()
    yield done


def _errors(count: int) -> str:
    return f", {count:,} of them `error`: a record that cannot be read" if count else ""


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")


def _check_finished(output: str, options: Mapping[str, Any], items: Items) -> None:
    found = difference(output, options, items)
    if items.failure is not None:
        raise items.failure
    if found:
        raise InputError(
            f"{output}: complete, but {found}; --resume needs the same, and without it the file is written anew"
        )


def _skip(items: Items, stream: Iterator[Item], target: Output) -> None:
    """Skip items that the file has already."""
    last = next(islice(stream, target.count - 1, None), None)
    if last is None:
        raise items.failure or InputError(
            f"--resume: the file holds {counted(target.count, 'answer')}; the input has fewer records"
        )
    target.check_continues(id_of(last), title_of(last))


def run_cluster(
    sources: Sequence[str], settings: Settings, console: Console, *, output: str, resume: bool, workers: int | None
) -> None:
    """Answer on a Ray cluster, into a folder.

    Raises:
        InputError: a source is not a file of many reports, no record was readable, or as in `cluster.run`.
        MissingExtraError: Ray is not installed.
    """
    if single := [source for source in sources if not is_batch(source)]:
        raise InputError(f"--engine ray reads files of many reports (.jsonl, .parquet); found {single[0]}")
    started = time.monotonic()
    with _progress(console) as progress:
        task = progress.add_task("", total=None, reports="0")
        steps = cluster.run(sources, output, settings, resume=resume, workers=workers)
        first = last = next(steps)
        for last in chain([first], steps):
            progress.update(task, completed=last.shards, total=last.of, reports=f"{last.done.answers:,}")
    console.print(
        f"{counted(last.done.answers, 'answer')} in {time.monotonic() - started:.0f} s{_errors(last.done.errors)}: "
        f"{output}/part-*.jsonl",
        soft_wrap=True,
        markup=False,
    )
    say_without_own(settings.own, last.done.without_own)
    if not first.shards:
        check_any_read(last.done.answers, last.done.errors)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("classifying"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[reports]} reports"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
