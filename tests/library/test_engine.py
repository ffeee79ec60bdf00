# ruff: noqa: F401, F811  # fixtures
"""Batches: the same bytes from every engine, in order, resumable, in bounded memory."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from distriage.base.errors import BundleError, DistriageError, InputError
from distriage.base.types import IssueReport, Mode
from distriage.engine import Settings, local
from distriage.engine.answers import CHUNK, Item, checked, id_of, run_options, title_of
from distriage.engine.output import Output
from distriage.engine.workers import AHEAD, in_processes
from distriage.reports.records import RawRecord, read_records

from support.batches import batch, die, leave_unfinished, lines
from support.command_line import Command, assert_one_line
from support.waiting import until


@pytest.fixture
def settings(keyword_bundle: Path) -> Settings:
    return Settings(str(keyword_bundle), Mode.BALANCED)


def answers(batch: Path, settings: Settings, workers: int) -> list[str]:
    return [line for _, line in local.answer(read_records(str(batch)), settings, workers)]


def test_workers_answer_what_one_process_answers_and_in_its_order(batch: Path, settings: Settings) -> None:
    alone = answers(batch, settings, 1)
    assert answers(batch, settings, 2) == alone
    assert len(alone) == 200
    assert [json.loads(line)["id"] for line in alone[15:18]] == [f"{batch}:16", f"{batch}:17", "a/b#17"]
    assert "not valid JSON" in json.loads(alone[16])["error"]


def test_records_are_read_only_a_little_ahead(settings: Settings) -> None:
    read = 0

    def endless() -> Iterator[Item]:
        nonlocal read
        for read in count(1):
            yield RawRecord(f"x:{read}", b'{"title": "hangs", "body": ""}', read)

    stream = local.answer(endless(), settings, 2)
    for _ in range(100):
        next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert read <= 100 + 2 * (AHEAD + 1) * CHUNK


@pytest.mark.slow
def test_a_run_goes_on_where_it_was_killed(command: Command, batch: Path, keyword_bundle: Path, tmp_path: Path) -> None:
    output, part = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part"
    options = ("--model", keyword_bundle, "--workers", 1)
    assert command("classify", batch, *options, "--output", tmp_path / "whole.jsonl").code == 0
    whole = (tmp_path / "whole.jsonl").read_bytes()
    leave_unfinished(output, whole[: len(whole) // 2], keyword_bundle)  # ends in the middle of a line
    refused = command("classify", batch, *options, "--output", output)
    assert_one_line(refused, "holds an unfinished run; pass --resume")
    assert command("classify", batch, *options, "--output", output, "--resume").code == 0
    assert output.read_bytes() == whole and not part.exists()
    again = command("classify", batch, *options, "--output", output, "--resume")
    assert again.code == 0 and "out.jsonl: complete already" in again.err and output.read_bytes() == whole


def test_an_input_is_not_written_over(command: Command, batch: Path, keyword_bundle: Path, tmp_path: Path) -> None:
    before, link = batch.read_bytes(), tmp_path / "link.jsonl"
    link.symlink_to(batch)
    for output in (batch, link):
        done = command("classify", batch, "--model", keyword_bundle, "--output", output)
        assert_one_line(done, "the input, which would be lost; expected another file")
    made = command("past", "index", batch, "--output", link, "--model", keyword_bundle)
    assert_one_line(made, "the input, which would be lost")
    assert batch.read_bytes() == before


def test_a_run_does_not_go_on_with_other_input(
    command: Command, batch: Path, keyword_bundle: Path, tmp_path: Path
) -> None:
    part = tmp_path / "out.jsonl.part"
    leave_unfinished(tmp_path / "out.jsonl", b'{"id": "a/b#99"}\n', keyword_bundle)
    options = ("--model", keyword_bundle, "--workers", 1, "--output", tmp_path / "out.jsonl", "--resume")
    assert_one_line(command("classify", batch, *options), "answer 1 is about a/b#99, but that record of the input is")
    assert part.read_text() == '{"id": "a/b#99"}\n'


def test_a_run_goes_on_only_with_the_same_options(tmp_path: Path, settings: Settings) -> None:
    file, options = str(tmp_path / "out.jsonl"), run_options(*checked(settings))
    with Output(file, options, resume=False) as output:
        output.write('{"id": "a/b#?"}')
    best = run_options(*checked(replace(settings, mode=Mode.BEST)))
    with pytest.raises(InputError, match=r"out.jsonl.part: of a run with mode balanced, not best; --resume needs"):
        Output(file, best, resume=True)
    with pytest.raises(InputError, match=r"of a run with model_sha256 .*, not 0;"):
        Output(file, options | {"model_sha256": "0"}, resume=True)
    kept = (tmp_path / "out.jsonl.part.json").rename(tmp_path / "kept")
    with pytest.raises(InputError, match=r"out.jsonl.part.json: missing; --resume needs the options"):
        Output(file, options, resume=True)
    kept.rename(tmp_path / "out.jsonl.part.json")
    with Output(file, options, resume=True) as output:
        output.check_continues(id_of(IssueReport("It hangs", "", "a/b#\ud800")), "It hangs")
        output.finish([])
    assert [left.name for left in tmp_path.glob("out*")] == ["out.jsonl"]


@pytest.mark.parametrize("held", ["", '{"id": "a/b#1"}'])
def test_a_file_that_another_run_writes_is_left_to_it(
    command: Command, batch: Path, keyword_bundle: Path, tmp_path: Path, held: str
) -> None:
    part, options = tmp_path / "out.jsonl.part", ("--model", keyword_bundle, "--output", tmp_path / "out.jsonl")
    with Output(str(tmp_path / "out.jsonl"), {"mode": "best"}, resume=False) as output:
        if held:
            output.write(held)
            output.flush()
        before = part.read_bytes()
        for more in ((), ("--resume",)):
            refused = command("classify", batch, *options, *more)
            assert_one_line(refused, "out.jsonl.part: another process is writing it")
        assert part.read_bytes() == before
        assert json.loads(part.with_name(f"{part.name}.json").read_text()) == {"mode": "best"}
        output.write('{"id": "a/b#2"}')
        output.finish([])
    assert (tmp_path / "out.jsonl").read_text() == (f"{held}\n" if held else "") + '{"id": "a/b#2"}\n'
    assert command("classify", batch, *options).code == 0


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("in.jsonl", ["--model", "typo"], "model 'typo': no such directory"),
        ("in.jsonl", ["--own", "typo"], "typo/own.json: not found"),
        ("none.jsonl", [], "none.jsonl: cannot be read"),
        ("x" * 300 + ".jsonl", [], "cannot be read: File name too long"),
    ],
)
def test_a_run_that_cannot_begin_is_one_line_and_leaves_nothing(
    command: Command, keyword_bundle: Path, batch: Path, source: str, options: list[str], message: str
) -> None:
    arguments = (batch.with_name(source), "--workers", 2, "--output", batch.with_name("out.jsonl"))
    refused = command("classify", *arguments, "--model", keyword_bundle, *options)  # of two models the last counts
    assert_one_line(refused, message)
    assert not list(batch.parent.glob("out*"))


def test_what_a_worker_cannot_load_is_our_error() -> None:
    one = RawRecord("x:1", b'{"title": "hangs", "body": ""}', 1)  # a second chunk would start a second process
    with pytest.raises(BundleError, match="model 'typo'"):
        list(local.answer([one], Settings("typo", Mode.BALANCED), 2))


def test_an_output_that_is_a_folder_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").mkdir()
    with pytest.raises(InputError, match=r"out\.jsonl: a folder; expected a file"):
        Output(str(tmp_path / "out.jsonl"), {}, resume=False)


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (
        pytest.raises(InputError, match=r"out.jsonl.part: cannot be written: File too large"),
        Output(str(tmp_path / "out.jsonl"), {}, resume=False) as output,
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
        try:
            output.write("x" * (1 << 17))
            output.flush()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_run_goes_on_only_with_reports_of_the_same_title(tmp_path: Path) -> None:
    with Output(str(tmp_path / "out.jsonl"), {}, resume=False) as output:
        output.write('{"id": "a/b#1", "title": "It hangs"}')
    with Output(str(tmp_path / "out.jsonl"), {}, resume=True) as output:
        output.check_continues("a/b#1", title_of(IssueReport("It  hangs", "", "a/b#1")))
        with pytest.raises(InputError, match=r"answer 1 is about 'It hangs', but a/b#1 has another title"):
            output.check_continues("a/b#1", "Dark mode")


@pytest.mark.parametrize("last", ["\n", "\0\0\n"])
def test_a_part_that_ends_in_no_answer_is_named(tmp_path: Path, last: str) -> None:
    (tmp_path / "out.jsonl.part").write_text('{"id": "a/b#1"}\n' + last)
    (tmp_path / "out.jsonl.part.json").write_text("{}")
    with (
        Output(str(tmp_path / "out.jsonl"), {}, resume=True) as output,
        pytest.raises(InputError, match=r"out.jsonl.part: line 2 is no answer"),
    ):
        output.check_continues("a/b#2", None)


def test_a_worker_that_dies_ends_the_work_with_a_reason() -> None:
    with pytest.raises(DistriageError, match="a worker process died, perhaps for want of memory; fewer workers"):
        list(in_processes(die, range(8), 2, 1))


def test_a_killed_run_leaves_no_workers(tmp_path: Path, keyword_bundle: Path) -> None:
    batch = tmp_path / "long.jsonl"
    batch.write_bytes(b"".join(lines(17)) * 3000)
    command = [sys.executable, "-m", "distriage", "classify", batch, "--model", keyword_bundle, "--workers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        group = process.pid
        deadline = time.monotonic() + 120
        # itself, the resource tracker, what workers are forked from, two workers
        while len(members(group)) < 5 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert process.poll() is None
        process.kill()
        process.wait()
        while workers := members(group):
            assert time.monotonic() < deadline, workers
            time.sleep(0.05)
    finally:
        for member in members(process.pid):
            os.kill(member, signal.SIGKILL)


@pytest.mark.parametrize(
    ("begun", "sent", "code"),
    [(False, signal.SIGINT, 130), (True, signal.SIGINT, 130), (True, signal.SIGTERM, 143)],
    ids=["while workers import", "in the middle", "SIGTERM"],
)
def test_ctrl_c_is_one_line_and_keeps_what_was_answered(
    tmp_path: Path, keyword_bundle: Path, begun: bool, sent: int, code: int
) -> None:
    batch, part = tmp_path / "long.jsonl", tmp_path / "out.jsonl.part"
    batch.write_bytes(b"".join(lines(17)) * 3000)
    arguments = ["--model", keyword_bundle, "--workers", "2", "--output", tmp_path / "out.jsonl"]
    heard = ("env", "--default-signal=INT")  # a shell's job in the background is started deaf to it
    with subprocess.Popen(
        [*heard, sys.executable, "-m", "distriage", "classify", batch, *arguments],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        if begun:
            until(lambda: part.exists() and part.stat().st_size > 0)
        else:
            # itself, the resource tracker, what workers are forked from
            until(lambda: len(members(process.pid)) >= 3)
        os.killpg(process.pid, sent)
        said = process.communicate()[1]
    # Where it comes while a dataclass is made, CPython ends the process by the signal, which a shell shows as 130 too.
    assert process.returncode == code or (process.returncode == -sent and not begun)
    kept = part.read_text(encoding="utf-8").count("\n") if part.exists() else 0
    more = f"; {part} holds {kept:,} answers: --resume goes on" if kept else ""
    assert said == f"distriage: interrupted{more}\n" or (said == "" and not begun)  # the command still imports, too
    assert not begun or kept


def members(group: int) -> list[int]:
    """Processes of a session that are not yet dead."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == group and fields[0] != "Z":
            found.append(int(place.parent.name))
    return found
