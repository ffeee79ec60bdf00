"""What becomes of mark-up, templates, environments and fences."""

from __future__ import annotations

from string import ascii_letters

import pytest

from distriage.base.texts import MAX_INPUT_CHARS
from distriage.recipe.normalize import MAX_LINE_CHARS, normalize
from distriage.recipe.text import (
    MAX_CODE_LINES,
    ModelInput,
    prepare,
)

from support.fences import fenced


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a <!-- Thanks for filing! --> b", "a b"),
        ("a\n<!-- two\nlines -->\nb", "a\n\nb"),
        ("a <!-- never closed\nb", "a <!-- never closed\nb"),
        ("a <!-- x --> b <!-- never closed\nc", "a b <!-- never closed\nc"),
        ("--> a <!-- b", "--> a <!-- b"),
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
        "slow save",
        (),
        "Saving takes an hour on Lustre.",
        "slow save\nDescribe the bug\nSaving takes an hour on Lustre.",
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
    assert report.prose == "I call initialize.\nCUDA: version mismatch, 11.8 against 12.1"


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
    report = prepare("t", "before\n```python\nx = 1\n```\nafter\n```\nlast words")
    assert report.prose.split("\n") == ["before", "x = 1", "after", "last words"]


@pytest.mark.parametrize(
    "line",
    [
        "    ~~~~^^^",  # Python 3.11 and later, below a frame
        "    ~~~~~~~~~~~~^^^^^^^^",
        "```pip install deepspeed```",
        "~~~no longer needed~~~",
    ],
)
def test_what_is_no_fence_opens_none(line: str) -> None:
    letters = ascii_letters[: MAX_CODE_LINES + 1]
    prose = "\n".join(f"sentence {letter} of the prose behind it" for letter in letters)
    assert prose in prepare("t", f"{line}\n{prose}").prose


@pytest.mark.parametrize(("opened", "inside"), [("```", "~~~"), ("~~~", "```"), ("````", "```"), ("```", "```bash")])
def test_a_fence_is_closed_by_its_own_kind(opened: str, inside: str) -> None:
    heading = "### Steps to reproduce"  # template, but not in a fence
    assert "Steps to reproduce" in prepare("t", f"{opened}\nx = 1\n{inside}\n{heading}\n{opened}").prose
    assert "Steps to reproduce" not in prepare("t", f"{opened}\nx = 1\n{opened}\n{heading}\ny").prose


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
