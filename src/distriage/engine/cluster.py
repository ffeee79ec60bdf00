"""A Ray cluster: shards in and out, one classifier per actor. `cat OUTPUT/part-*.jsonl` equals the local engine's file.

A shard's file appears as a whole or not at all, so an actor may die at any time: Ray gives its shard to another one,
and a resumed run continues with the missing shards. All nodes must see the files of input and output.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from distriage.base.disk import writing
from distriage.base.errors import DistriageError, InputError
from distriage.base.extras import needs_extra
from distriage.base.texts import encoding_of
from distriage.engine import Settings
from distriage.engine.answers import CHUNK, Answers, checked, run_options
from distriage.engine.output import Tally
from distriage.reports.formats import LINES
from distriage.reports.records import COLUMNS, RawRecord, read_records

SHARD_LINES = 2000
PLAN = "run.json"


class Step(NamedTuple):
    """Progress of a run.

    Attributes:
        shards: Finished shards, including those of an earlier run.
        done: This run's answers.
    """

    shards: int
    of: int
    done: Tally = Tally()


@dataclass(frozen=True, slots=True)
class Shard:
    """Some lines of a file, or a whole one.

    Attributes:
        name: Name of the file of its answers.
        path: The file's path on every node.
        given: The file as named by the caller, and in answers to records without an id.
        offset: Byte of the file where it begins.
        before: Lines of the file before it.
        lines: Number of lines, including blank ones; to the end of the file if None.
    """

    name: str
    path: str
    given: str
    offset: int = 0
    before: int = 0
    lines: int | None = None

    def records(self) -> Iterator[RawRecord]:
        """The records in it, as `read_records` of the file as given has them."""
        found = read_records(self.path, offset=self.offset, before=self.before, lines=self.lines, columns=COLUMNS)
        for record in found:
            yield replace(record, place=self.given + record.place.removeprefix(self.path))


def plan(paths: Sequence[str]) -> list[Shard]:
    """Cut plain JSONL into shards of `SHARD_LINES`; a compressed file or a table is one shard.

    Raises:
        InputError: a file cannot be read.
    """
    shards: list[Shard] = []
    for path in paths:
        for offset, before, lines in _pieces(path):
            name, place = f"part-{len(shards):06d}.jsonl", str(Path(path).resolve())
            shards.append(Shard(name, place, path, offset, before, lines))
    return shards


def _pieces(path: str) -> Iterator[tuple[int, int, int | None]]:
    if not path.lower().endswith(LINES):
        yield 0, 0, None
        return
    try:
        with Path(path).open("rb") as stream:
            before = 0
            if encoding_of(stream.read(2)) == "utf-16":  # there a line feed is two bytes
                yield 0, 0, None
                return
            stream.seek(0)
            while True:
                offset = stream.tell()
                count = sum(1 for _ in islice(iter(stream.readline, b""), SHARD_LINES))
                if not count:
                    return
                yield offset, before, count
                before += count
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


class ShardWorker:
    """An actor: reads a shard, writes its answers."""

    def __init__(self, settings: Settings, output: str) -> None:
        self._settings, self._output = settings, Path(output)

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self._settings)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Answer a batch of Ray Data's shards: for each the numbers of a `Tally`, and any failure.

        Ray would wrap an exception of ours in one of its own and lose the one-line message.
        """
        done: dict[str, list[Any]] = {name: [] for name in (*Tally._fields, "ended")}
        for shard in batch["item"]:
            tally, ended = Tally(), ""
            try:
                tally = self._write(Shard(**json.loads(shard)))
            except DistriageError as caught:
                ended = str(caught)
            for name, value in {**tally._asdict(), "ended": ended}.items():
                done[name].append(value)
        return done

    def _write(self, shard: Shard) -> Tally:
        done = self._output / shard.name
        part = done.with_name(f".{shard.name}.{os.getpid()}")
        tally = Tally()
        try:
            with writing(done):
                with part.open("w", encoding="utf-8") as stream:
                    records = shard.records()
                    while some := list(islice(records, CHUNK)):
                        for line in self._answers.lines(some):
                            stream.write(f"{line}\n")
                            tally = tally.with_answer(line)
                part.replace(done)
        finally:
            part.unlink(missing_ok=True)
        return tally


def run(
    paths: Sequence[str], output: str, settings: Settings, *, resume: bool, workers: int | None = None
) -> Iterator[Step]:
    """Answer files on the cluster named by RAY_ADDRESS, or on a local one.

    Args:
        workers: Actors; by default one per CPU of the cluster, less one for reading.

    Yields:
        Progress, first before any shard.

    Raises:
        InputError: a file cannot be read; the folder holds another run, or an unfinished one without `resume`.
        BundleError: the model or the own labels are missing or damaged; nothing is written then.
        DistriageError: an actor found a file or the model damaged.
        MissingExtraError: Ray is not installed.
    """
    with needs_extra("ray"):
        import ray
        import ray.data
    folder = Path(output)
    shards = plan(paths)
    settings, bundle = checked(settings)
    _open(folder, {"options": run_options(settings, bundle), "shards": list(map(asdict, shards))}, resume=resume)
    missing = [shard for shard in shards if not (folder / shard.name).exists()]
    step = Step(len(shards) - len(missing), len(shards))
    yield step
    if not missing:
        return
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    actors = workers or max(1, int(ray.cluster_resources().get("CPU", 1)) - 1)
    rows = ray.data.from_items([json.dumps(asdict(shard)) for shard in missing], override_num_blocks=len(missing))
    answered = rows.map_batches(
        ShardWorker,
        fn_constructor_args=(settings, str(folder.resolve())),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=min(actors, len(missing))),
        num_cpus=1,
    )
    for row in answered.iter_rows():
        if row["ended"]:
            raise DistriageError(row["ended"])
        done = Tally(*(number + int(row[name]) for name, number in step.done._asdict().items()))
        step = Step(step.shards + 1, step.of, done)
        yield step


def _open(folder: Path, wanted: Mapping[str, Any], *, resume: bool) -> None:
    """Make the folder, or check that it holds the same run."""
    place, text = folder / PLAN, json.dumps(wanted)
    if place.exists():
        if not resume:
            raise InputError(f"{folder}: holds a run; pass --resume to go on with it, or another --output")
        if place.read_text(encoding="utf-8", errors="replace") != text:
            raise InputError(f"{folder}: holds a run of other files or options; --resume needs the same")
        return
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{PLAN}")
        part.write_text(text, encoding="utf-8")
        part.replace(place)
