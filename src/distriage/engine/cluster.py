"""A Ray cluster: shards in and out, one classifier an actor. `cat OUTPUT/part-*.jsonl` is what the local engine writes.

A shard's file appears as a whole or not at all, so an actor may die at any time: Ray gives its shard to another one,
and a run that was ended goes on with the shards that are missing. All nodes must see the files of input and output.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from distriage.engine.answers import Answers, Settings
from distriage.errors import InputError
from distriage.extras import needs_extra
from distriage.records import LINES, read_records

SHARD_LINES = 2000
PLAN = "run.json"


@dataclass(frozen=True, slots=True)
class Shard:
    """Some lines of a file, or a whole one.

    Attributes:
        name: Of the file of its answers.
        offset: Byte of the file where it begins.
        before: Lines of the file before it.
        lines: How many it has, blank ones too; None: to the end of the file.
    """

    name: str
    path: str
    offset: int = 0
    before: int = 0
    lines: int | None = None


def plan(paths: Sequence[str]) -> list[Shard]:
    """Cut plain JSONL into shards of `SHARD_LINES`; a compressed file or a table is one shard.

    Raises:
        InputError: a file cannot be read.
    """
    shards: list[Shard] = []
    for path in paths:
        for offset, before, lines in _pieces(path):
            shards.append(Shard(f"part-{len(shards):06d}.jsonl", str(Path(path).resolve()), offset, before, lines))
    return shards


def _pieces(path: str) -> Iterator[tuple[int, int, int | None]]:
    if not path.lower().endswith(LINES):
        yield 0, 0, None
        return
    try:
        with Path(path).open("rb") as stream:
            before = 0
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
    """What an actor does: reads a shard, writes its answers."""

    def __init__(self, settings: Settings, output: str) -> None:
        self._answers = Answers(settings)
        self._output = Path(output)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Answer the shards of a batch of Ray Data."""
        shards = [Shard(**json.loads(shard)) for shard in batch["item"]]
        return {"name": [shard.name for shard in shards], "records": [self._write(shard) for shard in shards]}

    def _write(self, shard: Shard) -> int:
        done = self._output / shard.name
        part = done.with_name(f".{shard.name}.{os.getpid()}")
        count = 0
        with part.open("w", encoding="utf-8") as stream:
            for record in read_records(shard.path, offset=shard.offset, before=shard.before, lines=shard.lines):
                stream.write(self._answers.line(record) + "\n")
                count += 1
        part.replace(done)
        return count


def run(
    paths: Sequence[str], output: str, settings: Settings, *, resume: bool, workers: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """Answer files on the cluster that RAY_ADDRESS names, or on one that is started here.

    Args:
        output: A folder.
        workers: Actors; None: one for each CPU of the cluster but one, which reading needs.

    Yields:
        Shards that are done, shards in all, records that this run has answered.

    Raises:
        InputError: a file cannot be read; the folder holds another run, or an unfinished one without `resume`.
        MissingExtraError: Ray is not installed.
    """
    with needs_extra("ray"):
        import ray
        import ray.data
    folder = Path(output)
    shards = plan(paths)
    _open(folder, shards, settings, resume=resume)
    missing = [shard for shard in shards if not (folder / shard.name).exists()]
    done, records = len(shards) - len(missing), 0
    yield done, len(shards), records
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
        done, records = done + 1, records + int(row["records"])
        yield done, len(shards), records


def _open(folder: Path, shards: Sequence[Shard], settings: Settings, *, resume: bool) -> None:
    """Make the folder, or see that what is in it is the same run."""
    wanted = {"settings": asdict(settings), "shards": [asdict(shard) for shard in shards]}
    place = folder / PLAN
    if place.exists():
        if not resume:
            raise InputError(f"{folder}: holds a run; pass --resume to go on with it, or another --output")
        if json.loads(place.read_text(encoding="utf-8")) != wanted:
            raise InputError(f"{folder}: holds a run of other files or options; --resume needs the same")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{PLAN}")
        part.write_text(json.dumps(wanted), encoding="utf-8")
        part.replace(place)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
