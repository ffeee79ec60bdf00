from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.recipe.features import all_features
from distriage.recipe.normalize import MAX_INPUT_CHARS, MAX_LINE_CHARS, normalize
from distriage.recipe.text import (
    MAX_CODE_LINES,
    MAX_ERROR_CHARS,
    MAX_ERROR_LINES,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    RECIPE_VERSION,
    ModelInput,
    prepare,
)

# Pieces that hostile or broken mark-up is made of; joined at random they meet where no report lets them meet.
FRAGMENTS = [
    *(
        "<!--",
        "-->",
        "![",
        "](",
        ")",
        "[",
        "](http://a.b/c)",
        "<p>",
        "</details>",
        "<",
        ">",
        "https://x.y/z?q#f",
        "://",
        "0x",
        "deadbeef1234",
        "1234567890ab",
    ),
    *(
        "\x1b[31m",
        "[0;31m",
        "31m",
        "\x1b",
        "\r\n",
        "\r",
        "\n",
        "\t",
        " ",
        "\u200b",
        "\u2028",
        "\x85",
        "\x00",
        "=====",
        "=",
        "-",
        "*",
        "|",
        "#",
        "0",
    ),
    *(
        "```",
        "~~~",
        "A" * 130,
        "x" * 450,
        "RuntimeError: x",
        "[rank0]:",
        "2024-01-01 10:00:00 ",
        "- [ ] ",
        '  File "/a/b.py", line 3, in f',
    ),
    *("Traceback (most recent call last):", "### Environment", "OS: Linux", "错误", "卡", "é", "😀", "^^^"),
]
MARKUP = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join)
ANY_TEXT = st.one_of(st.text(st.characters(exclude_categories=()), max_size=400), MARKUP)  # lone surrogates included

TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3.10/runpy.py", line 196, in _run_module_as_main
    return _run_code(code, main_globals, None,
  File "/home/u/project/train.py", line 10, in main
    engine.step()
  File "/opt/site-packages/deepspeed/runtime/engine.py", line 2100, in step
    self._take_model_step(lr_kwargs)
  File "/opt/site-packages/deepspeed/runtime/zero/stage3.py", line 2001, in step
    self.check_overflow()
RuntimeError: CUDA error: an illegal memory access was encountered
"""


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


# ---------------------------------------------------------------- what holds for every text


@given(ANY_TEXT, ANY_TEXT)
def test_prepare_never_raises_and_its_output_is_bounded_and_clean(title: str, body: str) -> None:
    report = prepare(title, body)
    assert len(report.title) <= MAX_TITLE_CHARS and "\n" not in report.title
    assert len(report.errors) <= MAX_ERROR_LINES
    assert sum(map(len, report.errors)) <= MAX_ERROR_CHARS
    assert len(report.text) <= MAX_TEXT_CHARS
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\ufeff]", report.text)
    report.text.encode("utf-8")


@given(MARKUP)
def test_normalize_is_idempotent(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert all(len(line) <= MAX_LINE_CHARS for line in once.split("\n"))


@given(st.text(st.characters(exclude_categories=()), max_size=400))
def test_normalize_is_idempotent_on_any_characters(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


def test_normalize_is_idempotent_where_removed_markup_stood_before_a_combining_mark() -> None:
    once = normalize("a\x1b[1m\u0300")
    assert normalize(once) == once


def test_normalize_is_bounded_where_characters_grow_under_nfc() -> None:
    assert len(normalize(("\ufb2c" * 133 + "\n") * 1400)) <= MAX_INPUT_CHARS


MEGABYTE = 1 << 20


def _random_markup(seed: int) -> str:
    rng = random.Random(seed)
    return "".join(rng.choices(FRAGMENTS, k=MEGABYTE // 8))[:MEGABYTE]


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "<!--",
            "-->",
            "<p ",
            "<p>",
            "![a](b",
            "[a](",
            "[",
            "(",
            "\x1b[",
            "[1;",
            "=",
            "=-",
            "-",
            "| ",
            ">>> ",
            "\n",
            " \n",
            "0x1",
            "f0",
            "a",
            "卡",
            "\u0301",
        ),
        *(
            "https://",
            "/",
            "```\n",
            "1 2 3 ",
            '  File "a.py", line 1',
            "RuntimeError: ",
            "\u0301\u0316",
            "RuntimeError: x\n",
            "[rank1]: ",
            "x: Traceback ",
            "OS: Linux\n",
            "- [ ] x\n",
        ),
    ],
)
def test_a_hostile_megabyte_comes_out_bounded(piece: str) -> None:
    text = (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]
    assert len(normalize(text)) <= MAX_INPUT_CHARS
    report = prepare(text, text)
    assert len(report.title) <= MAX_TITLE_CHARS
    assert sum(map(len, report.errors)) <= MAX_ERROR_CHARS
    assert len(report.text) <= MAX_TEXT_CHARS


def test_a_megabyte_of_random_markup_comes_out_bounded() -> None:
    text = _random_markup(7)
    assert len(text) == MEGABYTE
    assert len(normalize(text)) <= MAX_INPUT_CHARS
    assert 0 < len(prepare("t", text).text) <= MAX_TEXT_CHARS


# ---------------------------------------------------------------- mark-up


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a <!-- Thanks for filing! --> b", "a b"),
        ("a\n<!-- two\nlines -->\nb", "a\n\nb"),
        ("a <!-- never closed\nb", "a"),
        ("see ![build](https://img.shields.io/badge.svg) now", "see now"),
        ("[![CI](https://ci.io/x.svg)](https://ci.io/run) done", "done"),
        ("the [docs](https://www.deepspeed.ai/docs/config-json) say", "the docs say"),
        ("at https://github.com/microsoft/DeepSpeed/blob/main/engine.py?raw=1#L3", "at L3"),
        ("at https://github.com/microsoft/DeepSpeed", "at DeepSpeed"),
        ("at https://github.com", "at"),
        ("<details><summary>Logs</summary>\nx\n</details>", "Logs\nx"),
        ("List<int> and a < b > c", "List<int> and a < b > c"),
        ("ptr 0x7f3a2b1c4d5e and 0x1f", "ptr 0x and 0x1f"),
        ("commit 8f14e45fceea167a5a36dedd4bea2543 here", "commit here"),
        ("id 123e4567-e89b-12d3-a456-426614174000 here", "id here"),
        ("defaced facade are words", "defaced facade are words"),
        ("blob " + "QUJD" * 60 + " end", "blob end"),
        ("\x1b[1;31mred\x1b[0m plain", "red plain"),
        ("[1;31mred[0m plain", "red plain"),
        ("index a[12] stays", "index a[12] stays"),
        ("==========\n.........", "===\n..."),
        ("a\r\nb\rc", "a\nb\nc"),
        ("zero\u200bwidth\ufeff \x07bell\x00", "zero width bell"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("cafe\u0301", "café"),
        ("half \ud83d pair", "half pair"),
    ],
)
def test_markup_and_noise_go(text: str, cleaned: str) -> None:
    assert normalize(text) == cleaned


def test_a_long_line_keeps_its_start_and_its_end() -> None:
    line = normalize("start " + "word " * 400 + "end")
    assert line.startswith("start word") and line.endswith("word end")
    assert len(line) <= MAX_LINE_CHARS


def test_of_a_text_that_is_too_long_the_middle_goes() -> None:
    text = normalize("first line\n" + "filler words here\n" * 40_000 + "last line")
    assert text.startswith("first line\n") and text.endswith("\nlast line")
    assert len(text) <= MAX_INPUT_CHARS


# ---------------------------------------------------------------- templates, environments, fences


def test_template_headings_and_instructions_go_and_the_report_stays() -> None:
    body = """### Describe the bug
**Describe the bug**
A clear and concise description of what the bug is.
Saving takes an hour on Lustre.
- [x] I have searched the issues
### Expected behavior
_No response_
"""
    assert prepare("slow save", body) == ModelInput(
        "slow save", (), "Saving takes an hour on Lustre.", f"slow save\n{body}"
    )


def test_a_template_heading_inside_a_fence_is_code() -> None:
    assert "environment" in prepare("t", fenced("environment", "yaml")).prose
    assert prepare("t", "environment").prose == ""


def test_environment_listings_go_but_a_failing_value_stays() -> None:
    body = """I call initialize.
- OS: Ubuntu 20.04
- Python version: 3.10
- CUDA: version mismatch, 11.8 against 12.1
[pip3] torch==2.1.2
GPU 0: NVIDIA A100-SXM4-80GB
numpy==1.26.3
"""
    report = prepare("t", body)
    assert report.errors == ("CUDA: version mismatch, 11.8 against 12.1",)
    assert report.prose == "I call initialize."


def test_the_op_table_of_ds_report_goes() -> None:
    assert (
        prepare("t", "I call initialize.\nasync_io ............... [NO] ....... [OKAY]").prose == "I call initialize."
    )
    table = """op name ................ installed .. compatible
\x1b[92mninja\x1b[0m .................. \x1b[92m[OKAY]\x1b[0m
transformer_inference .. [NO] ....... [OKAY]
stochastic_transformer . [YES] ...... [OKAY]"""
    assert prepare("t", f"I call initialize.\n{table}").prose == "I call initialize."
    assert "[FAIL]" in prepare("t", f"{table}\nninja .................. [FAIL]").text


def test_fence_markers_go_and_what_follows_an_unclosed_fence_stays() -> None:
    report = prepare("t", "before\n```python\nx = 1\n~~~\nafter\n```\nlast words")
    assert report.prose.split("\n") == ["before", "x = 1", "after", "last words"]


def test_of_a_long_example_only_the_first_lines_stay() -> None:
    code = "\n".join(f"layer_{chr(97 + i // 26)}{chr(97 + i % 26)} = make()" for i in range(100))
    lines = prepare("t", f"before\n{fenced(code, 'python')}\nafter").prose.split("\n")
    assert lines[0] == "before" and lines[-1] == "after"
    assert len(lines) == MAX_CODE_LINES + 2
    assert lines[-2] == "layer_ay = make()"


def test_every_fenced_block_has_a_limit_of_its_own() -> None:
    first, second = ("\n".join(f"{name}_{chr(97 + i)} = make()" for i in range(20)) for name in ("first", "second"))
    prose = prepare("t", f"{fenced(first)}\n{fenced(second)}").prose
    assert "first_t" in prose and "second_t" in prose


# ---------------------------------------------------------------- logs


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


def test_error_lines_keep_the_order_of_the_report() -> None:
    report = prepare("t", "KeyError: 'first'\nit failed in between\nValueError: second")
    assert report.errors == ("KeyError: 'first'", "ValueError: second")


def test_without_a_log_the_failing_sentence_of_the_prose_is_the_error() -> None:
    report = prepare("t", "I start two nodes.\nThe second one hangs for ever.\nThanks.")
    assert report.errors == ("The second one hangs for ever.",)
    assert report.prose == "I start two nodes.\nThanks."


def test_chinese_reports_are_read() -> None:
    report = prepare("训练卡住", "多机训练时 all_reduce 卡住\n报错：NCCL 超时\n两个节点，每个 8 张 A100")
    assert report.title == "训练卡住"
    assert report.errors == ("多机训练时 all_reduce 卡住", "报错：NCCL 超时")
    assert report.prose == "两个节点，每个 8 张 A100"


@pytest.mark.parametrize(("title", "body"), [("", ""), (" \n\t", "<!-- x -->"), ("\u200b", "```\n```")])
def test_a_report_without_content_gives_nothing(title: str, body: str) -> None:
    assert prepare(title, body).text == ""


def test_a_title_is_one_line() -> None:
    assert prepare("  two\nlines <!-- c -->\there ", "").title == "two lines here"
    assert prepare("word " * 200, "").title == "word " * (MAX_TITLE_CHARS // 5)


# ---------------------------------------------------------------- the version of the recipe

SAMPLES = [
    ("[BUG] NCCL timeout <!-- x -->", "### Environment\n- OS: Ubuntu 20.04\n### Logs\n" + fenced(TRACEBACK)),
    ("训练卡住 NCCL 超时", "多机训练时 all_reduce 卡住，两个节点，每个 8 张 A100"),
    ("x" * 500, "RuntimeError: CUDA error\n" * 300),
    ("", "The job is slow: 3.2 s/it instead of 1.1.\n\n" + fenced("for i in range(3):\n    engine.step()", "python")),
    ("red \x1b[31mtitle", "".join(FRAGMENTS)),
    ("log", "\n".join(f"node{i}:12:34 [{i}] NCCL WARN socket {i} connection refused" for i in range(30))),
]
DIGESTS = {2: "d74200ffb916506d"}


def test_the_recipe_gives_what_its_version_gave() -> None:
    """A bundle needs the recipe it was trained with: any other output is a new RECIPE_VERSION and an entry here."""
    outputs = [
        [report.title, report.errors, report.prose, report.filed, all_features(report)]
        for report in (prepare(*sample) for sample in SAMPLES)
    ]
    assert hashlib.sha256(json.dumps(outputs).encode()).hexdigest()[:16] == DIGESTS[RECIPE_VERSION]
