"""What is kept of logs, and what a report comes down to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from distriage.recipe.text import (
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    prepare,
)

from support.fences import TRACEBACK, fenced


def test_of_a_traceback_the_last_frames_stay() -> None:
    report = prepare("crash", fenced(TRACEBACK))
    assert report.errors == ("RuntimeError: CUDA error: an illegal memory access was encountered",)
    assert report.prose.split("\n") == [
        "u/project/train.py main engine.step()",
        "deepspeed/runtime/engine.py step self._take_model_step(lr_kwargs)",
        "runtime/zero/stage3.py step self.check_overflow()",
    ]


def test_the_same_line_from_many_ranks_is_read_once() -> None:
    lines = [
        f"[rank{rank}]: [2024-05-01 10:00:{rank:02d},123] [E ProcessGroupNCCL.cpp:475] Watchdog caught "
        f"collective operation timeout, ran for 1800{rank} ms"
        for rank in range(60)
    ]
    report = prepare("t", "\n".join(lines))
    assert len(report.errors) == 1
    assert report.errors[0].endswith("Watchdog caught collective operation timeout, ran for 18000 ms")
    assert report.prose == ""


def test_the_same_traceback_from_many_ranks_is_read_once() -> None:
    many = "\n".join(f"[rank{rank}]: {line}" for rank in range(8) for line in TRACEBACK.splitlines())
    once = prepare("t", fenced("\n".join(f"[rank0]: {line}" for line in TRACEBACK.splitlines())))
    assert replace(prepare("t", fenced(many)), filed=once.filed) == once
    assert len(once.errors) == 1


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank7]: ",
        "[default0]:",
        "2024-05-01 10:00:00,123 ",
        "[2024-05-01T10:00:00Z] ",
        "10:00:00.123 ",
        "(RayTrainWorker pid=123, ip=10.0.0.1) ",
        "node1:123:456 [0] ",
        ">>> ",
        "ERROR: ",
        "[rank0]: 2024-05-01 10:00:00 ERROR ",
        "ERROR 03-04 01:21:00 [core.py:370] ",
        "(VllmWorker rank=3 pid=271990) ERROR 03-04 01:21:00 multiproc_executor.py:374] ",
        "E0304 01:21:00.123456 4321 cuda_driver.cc:318] ",
        "[2025-02-01 10:00:00 DP1 TP4] ",
    ],
)
def test_prefixes_of_launchers_and_loggers_go(prefix: str) -> None:
    assert prepare("t", prefix + "ValueError: world size 6 is not divisible by 4").errors == (
        "ValueError: world size 6 is not divisible by 4",
    )


def test_the_decisive_line_survives_behind_200_kilobytes_of_log() -> None:
    noise = "\n".join(
        f"[2024-05-01 10:{i // 60 % 60:02d}:{i % 60:02d}] [INFO] [engine.py:12:step] step={i} "
        f"{'abcdefghij'[i % 10] * 9} loss=1.5"
        for i in range(3200)
    )
    assert len(noise) > 200_000
    line = "RuntimeError: Expected all tensors to be on the same device, cuda:0 and cuda:1"
    assert prepare("stuck", f"{noise}\n{line}\n").errors == (line,)
    assert prepare("stuck", f"{line}\n{noise}").errors == (line,)


def test_error_lines_stand_right_behind_the_title() -> None:
    report = prepare("Crash at start", "I did this and that.\n\n" + fenced(TRACEBACK))
    assert report.text.split("\n")[:3] == ["Crash at start", report.errors[0], "I did this and that."]


def test_a_wrappers_own_error_gives_way_to_the_root_cause() -> None:
    wrappers = "\n".join(
        f"subprocess.CalledProcessError: Command {chr(97 + i) * 60} returned non-zero exit status 1." for i in range(12)
    )
    report = prepare("t", f"{wrappers}\nModuleNotFoundError: No module named 'apex'")
    assert "ModuleNotFoundError: No module named 'apex'" in report.errors
    assert prepare("t", wrappers).errors[0].startswith("subprocess.CalledProcessError: Command aaa")


def test_of_a_long_error_line_the_rest_stands_once() -> None:
    message = (
        "RuntimeError: "
        + " ".join(f"part{chr(97 + i)}" for i in range(26))
        + " and "
        + "more of it " * 12
        + "at the end"
    )
    text = prepare("t", f"before\n{message}").text
    assert text.count("RuntimeError") == text.count("partb") == text.count("at the end") == 1


def test_source_code_that_raises_gives_way_to_the_error_that_it_raised() -> None:
    log = """Traceback (most recent call last):
  File "/opt/pkg/loader.py", line 12, in load
    raise RuntimeError(f"{name} is missing")
RuntimeError: layer.7 is missing

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/pkg/run.py", line 3, in main
    raise LoadError("cannot load") from error
LoadError: cannot load"""
    report = prepare("t", fenced(log))
    assert report.errors == ("RuntimeError: layer.7 is missing", "LoadError: cannot load")
    assert report.prose.splitlines()[0].endswith('pkg/loader.py load raise RuntimeError(f"{name} is missing")')
    assert "During handling" not in report.prose


def test_an_error_that_a_log_repeats_behind_another_prefix_is_read_once() -> None:
    report = prepare("t", fenced("ERROR: CUDA error: misaligned address\nx\n[rank1]: CUDA error: misaligned address"))
    assert report.errors == ("CUDA error: misaligned address",)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("engine.py:366] ValueError: heads must divide by 8", "ValueError: heads must divide by 8"),
        (
            "node1:12:34 [0] misc/socket.cc:484 NCCL WARN Connect to 10.0.0.2 failed",
            "NCCL WARN Connect to 10.0.0.2 failed",
        ),
        ("csrc/aio/utils.h:16:10: fatal error: libaio.h: No such file",) * 2,
        ("csrc/adam.cpp:16: error: no member named 'x'",) * 2,
    ],
)
def test_the_place_of_a_log_or_of_a_compiler_is_no_frame(line: str, error: str) -> None:
    assert prepare("t", fenced(line)).errors == (error,)


def test_an_error_at_the_end_of_a_long_log_is_found() -> None:
    body = "step 1 done\n" * 20_000 + "ERROR 01-09 03:11:18 engine.py:366] ValueError: No room for a cache block"
    assert prepare("It stops", body).errors == ("ValueError: No room for a cache block",)


def test_a_log_line_that_only_announces_a_traceback_says_nothing() -> None:
    report = prepare("t", fenced("Scheduler hit an exception: Traceback (most recent call last):\nKeyError: 'w'"))
    assert report.text == "t\nKeyError: 'w'"


def test_error_lines_keep_the_order_of_the_report() -> None:
    report = prepare("t", "KeyError: 'first'\nit failed in between\nValueError: second")
    assert report.errors == ("KeyError: 'first'", "ValueError: second")


def test_prose_is_no_error_but_the_exception_that_it_quotes() -> None:
    report = prepare("t", "I start two nodes.\nThe second one hangs for ever.\nThere is no exception, no warning.")
    assert report.errors == ()
    assert report.prose == "I start two nodes.\nThe second one hangs for ever.\nThere is no exception, no warning."
    quoted = "On the second one I get `ValueError: world size 6`."
    assert prepare("t", f"I start two nodes.\n{quoted}").errors == (quoted,)


def test_chinese_reports_are_read() -> None:
    report = prepare(
        "训练卡住", "多机训练时 all_reduce 卡住\n报错：NCCL 超时\n两个节点，每个 8 张 A100\n有没有人遇到, 服务器"
    )
    assert report.title == "training hangs"
    assert report.prose.split("\n") == [
        "multi-node training 时 all_reduce hangs",
        "error ：NCCL timeout",
        "two node ， each 8 张 A100",
        "has anyone encounter , server",
    ]
    assert report.filed.startswith("训练卡住\n多机训练时")


@pytest.mark.parametrize(("title", "body"), [("", ""), (" \n\t", "<!-- x -->"), ("\u200b", "```\n```")])
def test_a_report_without_content_gives_nothing(title: str, body: str) -> None:
    assert prepare(title, body).text == ""


def test_a_title_is_one_line() -> None:
    assert prepare("  two\nlines <!-- c -->\there ", "").title == "two lines here"
    assert prepare("word " * 200, "").title == "word " * (MAX_TITLE_CHARS // 5)


def test_a_long_log_is_read_at_both_ends() -> None:
    """A job's log begins with its settings and ends with what went wrong."""
    steps = "\n".join(f"step {number} loss 2.31" for number in range(5_000))
    report = prepare("", f"world size 64\n{steps}\nOSError: [Errno 122] Disk quota exceeded")
    assert report.errors == ("OSError: [Errno 122] Disk quota exceeded",)
    assert report.filed.startswith("\nworld size 64\nstep 0 ") and report.filed.endswith("Disk quota exceeded")
    assert "step 2500 " not in report.filed
    assert len(report.filed) <= MAX_TEXT_CHARS


def test_a_body_of_ordinary_length_is_kept_as_filed() -> None:
    body = "a line of a report\n" * 1_000
    assert prepare("title", body).filed == f"title\n{body}".rstrip()
