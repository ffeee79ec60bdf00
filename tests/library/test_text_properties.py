"""What holds for every text, hostile ones too, and what the version of the recipe stands for."""

from __future__ import annotations

import hashlib
import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.base.texts import MAX_INPUT_CHARS, packaged_table
from distriage.recipe.features import all_features
from distriage.recipe.normalize import MAX_LINE_CHARS, normalize
from distriage.recipe.text import (
    MAX_ERROR_CHARS,
    MAX_ERROR_LINES,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    RECIPE_VERSION,
    prepare,
)
from distriage.segments import prefixes

from support.fences import TRACEBACK, fenced

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


@given(ANY_TEXT, ANY_TEXT)
def test_prepare_never_raises_and_its_output_is_bounded_and_clean(title: str, body: str) -> None:
    report = prepare(title, body)
    assert len(report.title) <= MAX_TITLE_CHARS and "\n" not in report.title
    assert len(report.errors) <= MAX_ERROR_LINES
    assert sum(map(len, report.errors)) <= MAX_ERROR_CHARS
    assert len(report.text) <= MAX_TEXT_CHARS
    assert len(report.filed) <= MAX_TEXT_CHARS
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
            "~~~\n",
            "<!--",
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
    assert max(len(report.text), len(report.filed)) <= MAX_TEXT_CHARS


def test_a_megabyte_of_random_markup_comes_out_bounded() -> None:
    text = _random_markup(7)
    assert len(text) == MEGABYTE
    assert len(normalize(text)) <= MAX_INPUT_CHARS
    assert 0 < len(prepare("t", text).text) <= MAX_TEXT_CHARS


SAMPLES = [
    ("[BUG] NCCL timeout <!-- x -->", "### Environment\n- OS: Ubuntu 20.04\n### Logs\n" + fenced(TRACEBACK)),
    ("训练卡住 NCCL 超时", "多机训练时 all_reduce 卡住，两个节点，每个 8 张 A100"),
    ("x" * 500, "RuntimeError: CUDA error\n" * 300),
    ("", "The job is slow: 3.2 s/it instead of 1.1.\n\n" + fenced("for i in range(3):\n    engine.step()", "python")),
    ("red \x1b[31mtitle", "".join(FRAGMENTS)),
    ("log", "\n".join(f"node{i}:12:34 [{i}] NCCL WARN socket {i} connection refused" for i in range(30))),
    ("fences", "```pip install x```\n    ~~~~^^^\nRuntimeError: " + "long " * 60 + "\n<!-- a page\n" + "prose\n" * 30),
    ("long", "a line of a log\n" * 3_000 + "the end"),
]
DIGESTS = {7: "4888ee1bc711e643"}
# Each entry alters what the model reads of some report; so does each pattern of `prefixes.toml`.
TABLES = (
    ("distriage.segments", "roles.toml"),
    ("distriage.segments", "listings.toml"),
    ("distriage.segments", "forms.toml"),
    ("distriage.recipe", "chinese.toml"),
    ("distriage.recipe", "field.toml"),
)


def test_the_recipe_gives_what_its_version_gave() -> None:
    """A bundle needs the recipe that it names: any other output is a new RECIPE_VERSION and an entry here."""
    outputs = [
        [report.title, report.errors, report.prose, report.filed, all_features(report)]
        for report in (prepare(*sample) for sample in SAMPLES)
    ]
    patterns = [[row["pattern"] for row in rows] for rows in prefixes.table().values()]
    tables = [patterns, *(packaged_table(*table) for table in TABLES)]
    digest = hashlib.sha256(json.dumps([outputs, tables]).encode()).hexdigest()[:16]
    assert DIGESTS.get(RECIPE_VERSION) == digest, "of another recipe: see `A new recipe` in CONTRIBUTING.md"
