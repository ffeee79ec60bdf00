# ruff: noqa: F401, F811  # fixtures
"""`--resume` where the file of answers is complete: it is left as it is, and stale answers are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from distriage.engine.output import differences

from support.batches import batch, lines
from support.cli_reports import classify
from support.command_line import Command, Finished, assert_one_line
from support.github import GitHub

NAMES = ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"]


@pytest.fixture
def again(classify: Command, batch: Path, tmp_path: Path) -> Command:
    """Calls it once more for what was answered already, with other options or another file."""
    batch.write_bytes(b"{broken\n" + b"".join(lines(4)))  # which verdict comes first has to be found

    def run(name: str, *options: object, source: Path = batch) -> Finished:
        output = tmp_path / name
        if not output.exists():
            assert classify(batch, "--workers", 1, "--output", output).code == 0
        before = output.read_bytes()
        finished = classify(source, "--output", output, "--resume", *options)
        assert output.read_bytes() == before and [output] == list(tmp_path.glob("out*"))
        return finished

    return run


@pytest.mark.parametrize("name", NAMES)
def test_what_is_complete_is_left_as_it_is(again: Command, name: str) -> None:
    if name.endswith(("zst", "parquet")):
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'distriage[parquet]'")
    done = again(name)
    assert done.code == 0 and "complete already; without --resume it is written anew" in done.err
    refused = again(name, "--mode", "precise")
    assert_one_line(refused, f"{name}: complete, but of a run with mode balanced, not precise; --resume needs the same")


@pytest.mark.parametrize("name", [NAMES[0], NAMES[-1]])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text + b'{"title": "it hangs", "body": ""}\n', "of an input with fewer records"),
        (lambda text: text[: text.rindex(b"{")], "of an input with more records"),
        (lambda text: text.replace(b'"a/b#2"', b'"a/b#9"'), "of other input: answer 6 is about a/b#2, not a/b#9"),
    ],
    ids=["more", "fewer", "another"],
)
def test_other_input_is_refused(
    again: Command, batch: Path, name: str, change: Callable[[bytes], bytes], message: str
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'distriage[parquet]'")
    batch.write_bytes(batch.read_bytes() + b'{"title": "it hangs", "body": "", "id": "a/b#2"}\n')
    again(name)
    batch.write_bytes(change(batch.read_bytes()))
    assert_one_line(again(name), f"{name}: complete, but {message}")


def test_other_options_are_refused_as_far_as_answers_show_them(again: Command, tmp_path: Path) -> None:
    assert_one_line(
        again("out.jsonl", "--explain"), "complete, but of a run without --explain; --resume needs the same"
    )
    missing = tmp_path / "missing.jsonl"
    assert_one_line(again("out.jsonl", source=missing), "missing.jsonl: cannot be read: No such file")


def test_options_are_named_as_they_are_given() -> None:
    before = {"mode": "best", "own": True, "explain": False, "similar": True}
    now = {"mode": "balanced", "own": False, "explain": True, "similar": True}
    assert differences(before, now) == "with mode best, not balanced; with --own; without --explain"
    assert differences({"own": None}, {"own": "5f3a"}) == "without --own"
    assert differences(before, before) == ""


def test_a_file_that_holds_no_answers_is_refused(again: Command, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_bytes(b'[[]]\n"x"\n{"verdict": 5}\n' + b"[" * 100_000 + b"\nnull\n")
    assert_one_line(again("out.jsonl"), "of other input: answer 5 is about None, not ")
    (tmp_path / "out.jsonl").write_bytes(b'{"axes": {"kind": 7}}\n' * 5)
    assert_one_line(again("out.jsonl"), "of other input: answer 5 is about None, not ")


def test_issues_are_compared_by_their_name(classify: Command, github: GitHub, tmp_path: Path) -> None:
    for number in (12, 13):
        github.add(f"owner/repo#{number}", "It hangs")
    output = tmp_path / "out.jsonl"
    assert classify("--issue", "owner/repo#12", "--output", output).code == 0
    assert classify("--issue", "owner/repo#12", "--output", output, "--resume").code == 0
    refused = classify("--issue", "owner/repo#13", "--output", output, "--resume")
    assert_one_line(refused, "answer 1 is about owner/repo#12, not owner/repo#13")
