"""The Ray engine on a local cluster of one node."""

from __future__ import annotations

import errno
import gzip
import json
import os
import signal
from dataclasses import asdict
from pathlib import Path

import pytest

from distriage.base.errors import BundleError, DistriageError, InputError
from distriage.base.types import Mode
from distriage.engine import Settings, cluster, local
from distriage.engine.output import Tally
from distriage.reports.records import read_records

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Ray and pandas, about themselves

SHARD_LINES = 40
RECORDS = 200
SHARDS = 6  # the records, a blank line and a broken one


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    words = ("hangs", "memory exhausted", "segfault", "how")
    file = tmp_path / "in.jsonl"
    rows = [json.dumps({"title": f"{words[i % 4]} {i}", "body": "timeout " * (i % 9)}) for i in range(RECORDS)]
    file.write_text("\n".join([*rows, "", "{broken"]) + "\n")
    return file


def actors() -> list[int]:
    """Their processes, which Ray names so."""
    return [
        int(place.parent.name)
        for place in Path("/proc").glob("[0-9]*/cmdline")
        if place.read_bytes().startswith(b"ray::MapWorker")
    ]


def test_shards_cover_a_file_once(batch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "SHARD_LINES", SHARD_LINES)
    shards = cluster.plan([str(batch)])
    assert len(shards) == SHARDS
    pieces = [record for shard in shards for record in shard.records()]
    whole = list(read_records(str(batch)))
    assert [(piece.place, piece.content) for piece in pieces] == [(record.place, record.content) for record in whole]


@pytest.mark.usefixtures("node")
def test_an_actor_that_is_killed_loses_and_doubles_nothing(
    batch: Path, tmp_path: Path, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shards go to another; the parts together are what the local engine writes."""
    monkeypatch.setattr(cluster, "SHARD_LINES", SHARD_LINES)
    monkeypatch.chdir(tmp_path)  # actors work in other directories
    settings = Settings(os.path.relpath(keyword_bundle), Mode.BALANCED)
    output = tmp_path / "out"
    killed = False
    for step in cluster.run([batch.name], str(output), settings, resume=False, workers=2):
        if step.shards and not killed:
            os.kill(actors()[0], signal.SIGKILL)
            killed = True
    assert killed
    found = "".join(part.read_text() for part in sorted(output.glob("part-*.jsonl")))
    expected = [line for _, line in local.answer(read_records(batch.name), settings, 1)]
    assert found.splitlines() == expected and len(expected) == RECORDS + 1


@pytest.mark.usefixtures("node")
def test_a_run_that_a_damaged_file_ends_goes_on_with_the_shards_that_are_missing(
    batch: Path, tmp_path: Path, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SHARD_LINES", SHARD_LINES)
    settings = Settings(str(keyword_bundle), Mode.BALANCED)
    last, output = tmp_path / "last.jsonl.gz", tmp_path / "out"
    files, whole = [str(batch), str(last)], gzip.compress(b'{"title": "it hangs", "body": ""}\n' * 3)
    last.write_bytes(whole[:-9])
    with pytest.raises(DistriageError, match=r"last\.jsonl\.gz: damaged") as refused:
        list(cluster.run(files, str(output), settings, resume=False, workers=1))
    assert "\n" not in str(refused.value)
    parts = {part.name: part.read_bytes() for part in output.glob("part-*.jsonl")}
    assert len(parts) == SHARDS
    last.write_bytes(whole)
    (output / "part-000003.jsonl").unlink()
    with pytest.raises(InputError, match="holds a run; pass --resume"):
        list(cluster.run(files, str(output), settings, resume=False, workers=1))
    with pytest.raises(InputError, match="holds a run of other files or options"):
        other = Settings(str(keyword_bundle), Mode.BEST)
        list(cluster.run(files, str(output), other, resume=True, workers=1))
    first, *_, last = cluster.run(files, str(output), settings, resume=True, workers=1)
    assert first == (5, 7, Tally()) and last == (7, 7, Tally(SHARD_LINES + 3, 0, SHARD_LINES + 3))
    assert {part.name: part.read_bytes() for part in output.glob("part-*[0-5].jsonl")} == parts


def test_a_shard_that_cannot_be_written_is_one_line_and_leaves_nothing_behind(
    batch: Path, tmp_path: Path, keyword_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Ray, which would wrap an error of the system in a traceback of its own."""
    shards = [json.dumps(asdict(shard)) for shard in cluster.plan([str(batch)])]
    settings = Settings(str(keyword_bundle), Mode.BALANCED)
    worker = cluster.ShardWorker(settings, str(tmp_path / "nowhere"))
    said = worker({"item": shards})
    assert said["answers"] == said["errors"] == [0]
    assert said["ended"] == [f"{tmp_path}/nowhere/part-000000.jsonl: cannot be written: No such file or directory"]
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(full))
    (said,) = [cluster.ShardWorker(settings, str(tmp_path))({"item": shards})]
    assert said["ended"] == [f"{tmp_path}/part-000000.jsonl: cannot be written: No space left on device"]
    assert list(tmp_path.iterdir()) == [batch]


def test_a_shard_says_how_many_of_its_records_cannot_be_read(batch: Path, tmp_path: Path, keyword_bundle: Path) -> None:
    shards = [json.dumps(asdict(shard)) for shard in cluster.plan([str(batch)])]
    said = cluster.ShardWorker(Settings(str(keyword_bundle), Mode.BALANCED), str(tmp_path))({"item": shards})
    assert said == {"answers": [RECORDS + 1], "errors": [1], "without_own": [RECORDS], "ended": [""]}


def test_without_its_model_a_run_writes_nothing(batch: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'distriage[ray]'")
    with pytest.raises(BundleError, match="model 'typo'"):
        list(cluster.run([str(batch)], str(tmp_path / "out"), Settings("typo", Mode.BALANCED), resume=False))
    assert not (tmp_path / "out").exists()
