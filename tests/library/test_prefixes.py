"""What launchers, log collectors and loggers put before a line comes off; the same log reads the same through each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.recipe.features import all_features
from distriage.recipe.text import prepare
from distriage.segments import Kind, Role, split
from distriage.segments.prefixes import bare_lines, table, without_logger

from support.wrappers import WRAPPERS

DATA = Path(__file__).parent / "data"
LOGS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((DATA / "logs").glob("*.log"))}
PLAIN = [name for name in LOGS if not name.startswith("W_")]
LISTINGS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((DATA / "listings").glob("*.txt"))}
LINE = '  File "/a/train.py", line 6, in <module>'


@pytest.mark.parametrize("row", [*table()["outer"], *table()["shared"]], ids=lambda row: row["name"])
def test_a_launchers_prefix_comes_off_and_tells_the_process(row: dict[str, str]) -> None:
    lines = ["Traceback (most recent call last):", LINE, "    dist.barrier()", "RuntimeError: boom 7"]
    bare = bare_lines([row["example"] + line for line in lines])
    assert [text for _, text, _ in bare] == lines, "the indentation stays"
    assert {process for *_, process in bare} == {row.get("process", "")}


@pytest.mark.parametrize("row", table()["inner"], ids=lambda row: row["name"])
def test_a_loggers_prefix_comes_off(row: dict[str, str]) -> None:
    assert without_logger(row["example"] + "ValueError: boom") == "ValueError: boom"


def test_a_word_before_a_colon_is_no_host() -> None:
    lines = ["ValueError: a", "ValueError: b", "ValueError: c", "layer: 1", "layer: 2", "layer: 3"]
    assert [text for _, text, _ in bare_lines(lines)] == lines


def test_a_line_of_json_becomes_the_lines_of_its_message() -> None:
    line = json.dumps({"level": "error", "rank": 3, "msg": "it fails", "exc_info": "Traceback\nKeyError: 'x'"})
    assert bare_lines([line, '{"a": 1}', "{"]) == [
        (0, "it fails", "3"),
        (0, "Traceback", "3"),
        (0, "KeyError: 'x'", "3"),
        (1, '{"a": 1}', ""),
        (2, "{", ""),
    ]


def test_the_box_of_rich_becomes_the_frames_of_a_traceback() -> None:
    box = """╭───────────── Traceback (most recent call last) ─────────────╮
│ /home/user/exp/train.py:10 in <module>                      │
│                                                             │
│    9 metrics = torch.ones(5 + 2 * rank)                     │
│ ❱ 10 dist.all_reduce(metrics)                               │
│                                                             │
│ /home/user/venv/lib/python3.11/site-packages/torch/distribu │
│ ted/c10d_logger.py:83 in wrapper                            │
│                                                             │
│ ❱  83             return func(*args, **kwargs)              │
╰─────────────────────────────────────────────────────────────╯
RuntimeError: boom 7"""
    report = prepare("t", f"```\n{box}\n```")
    assert report.errors == ("RuntimeError: boom 7",)
    assert report.prose.split("\n") == [
        "user/exp/train.py <module> dist.all_reduce(metrics)",
        "torch/distributed/c10d_logger.py wrapper return func(*args, **kwargs)",
    ]


@pytest.mark.parametrize("log", PLAIN)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_log_reads_the_same_through_every_launcher_and_collector(wrapper: str, log: str) -> None:
    plain = prepare("Training fails", f"On two nodes.\n```\n{LOGS[log]}\n```\n")
    wrapped = prepare("Training fails", f"On two nodes.\n```\n{WRAPPERS[wrapper](LOGS[log])}\n```\n")
    assert wrapped.text == plain.text
    assert all_features(wrapped) == all_features(plain)


@pytest.mark.parametrize("launcher", [name for name in LOGS if name.startswith("W_") and not name.endswith("rich")])
def test_one_failure_leads_with_the_same_error_through_real_launchers(launcher: str) -> None:
    report = prepare("Training fails", f"```\n{LOGS[launcher]}\n```")
    assert report.errors[0] == "terminate called after throwing an instance of 'gloo::EnforceNotMet'"
    assert report.errors[1].startswith("what(): [enforce fail at ")
    assert not any(word in "\n".join(report.errors) for word in ("SIGTERM", "ChildFailed", "exitcode", "Setting acc"))


def test_the_shipped_model_says_the_same_through_real_launchers(shipped_bundle: Path) -> None:
    classifier = Classifier(shipped_bundle)
    said = set()
    for launcher in (name for name in LOGS if name.startswith("W_")):
        axes = classifier.classify(IssueReport("Training aborts", f"```\n{LOGS[launcher]}\n```")).axes
        said.add((axes["symptom"].label, axes["symptom"].outcome, axes["cause"].label))
    assert len(said) == 1


def test_torchruns_box_names_the_rank_whose_error_comes_first() -> None:
    log = """[rank0]: RuntimeError: the other one is gone
[rank1]: KeyError: 'labels'
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
====================
Root Cause (first observed failure):
[0]:
  time      : 2026-11-28_21:24:19
  rank      : 1 (local_rank: 1)
===================="""
    report = split("t", f"```\n{log}\n```")
    assert report.culprit == 1
    assert report.first_error is not None and report.first_error.text == "KeyError: 'labels'"
    assert prepare("t", f"```\n{log}\n```").errors == ("KeyError: 'labels'", "RuntimeError: the other one is gone")
    assert {line.role for line in report.all[-1].lines[2:]} == {Role.TEARDOWN}


def test_where_only_the_launcher_says_that_a_process_ended_it_is_the_error() -> None:
    said = "failed (exitcode: -9) local_rank: 1 (pid: 2) of binary: /bin/python3"
    log = f"step 1 done\nE1128 21:03:31.361000 20959 torch/api.py:1002] {said}"
    report = prepare("t", f"```\n{log}\n```")
    assert report.errors == (said,)
    assert split("t", log).first_error is None


# ---------------------------------------------------------------- listings


@pytest.mark.parametrize(
    "around",
    ["{}", "```\n{}\n```", "<details><summary>env</summary>\n\n```text\n{}```\n</details>", "### Environment\n\n{}"],
)
@pytest.mark.parametrize("listing", LISTINGS)
def test_a_listing_changes_nothing_that_the_model_reads(listing: str, around: str) -> None:
    for body in ("It hangs after the first epoch.", f"### Describe the bug\n\n```\n{LOGS['unused']}\n```"):
        with_listing = prepare("Training fails", f"{body}\n\n{around.format(LISTINGS[listing])}")
        alone = prepare("Training fails", body)
        assert with_listing.text == alone.text
        assert all_features(with_listing) == all_features(alone)


@pytest.mark.parametrize("listing", LISTINGS)
def test_each_line_of_a_listing_is_of_it(listing: str) -> None:
    report = split("", LISTINGS[listing])
    assert {segment.kind for segment in report.all} <= {Kind.LISTING, Kind.LOG}
    assert {line.role for segment in report.of(Kind.LOG) for line in segment.lines} <= {Role.NOTICE}
