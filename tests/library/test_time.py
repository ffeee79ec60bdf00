"""Work on a hostile report takes time linear in its length: no pattern backtracks without bound."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pkgutil import walk_packages

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distriage.facts
from distriage.answer.findings import Findings
from distriage.base.texts import MAX_INPUT_CHARS, regex
from distriage.base.types import AxisScores, IssueReport, Prediction
from distriage.facts.environment import find_facts
from distriage.facts.projects import projects
from distriage.facts.versions import VERSION
from distriage.model.bundle import Bundle
from distriage.model.shipped import find_bundle
from distriage.reading.report import read
from distriage.recipe.features import all_features
from distriage.recipe.text import prepare
from distriage.segments import split
from distriage.segments.forms import known_forms
from distriage.segments.listings import is_listed

from support.linear_time import in_time


def test_a_pattern_that_backtracks_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.linear_time.LIMIT_S", 0.1)  # it uses all that it may
    assert not in_time(partial(re.match, "(?:a+)+$"), "a" * 40 + "b")


# More than GitHub stores; time that grows with the square of the length is far beyond its limit there.
CHARACTERS = MAX_INPUT_CHARS // 2
LINE_BREAKS = ["\n", ">\n", "- \n", "```\n", "|  |\n", "\r\n", "* * *\n", "#\n\n"]


@pytest.mark.parametrize("unit", LINE_BREAKS, ids=ascii)
def test_facts_of_empty_lines_take_linear_time(unit: str) -> None:
    body = "x\n" + unit * (CHARACTERS // len(unit)) + "y"

    assert in_time(partial(find_facts, ""), body), "the launcher's pattern read on past its line"


@pytest.mark.parametrize("name", ["torch", "python", "deepspeed", "vllm"])
@pytest.mark.parametrize("filler", ["." * 100, "ver." * 50, "ver..." * 50, "v" * 200, "version" * 30, " " * 500])
def test_facts_of_endless_fillers_before_a_version_take_linear_time(name: str, filler: str) -> None:
    body = f"{name} {filler}x"

    assert in_time(partial(find_facts, ""), body), "the filler between a name and its version was read in many ways"


@pytest.mark.parametrize(
    "unit", ["main ", "main of at ", "1.2.3 ", "1.1", "a1", "abcdef1 ", "1", "```\nversion x\n0.5 1.5\n"]
)
def test_a_version_without_a_name_is_looked_for_in_linear_time(unit: str) -> None:
    body = unit * (CHARACTERS // len(unit))

    assert in_time(lambda text: find_facts("", text, "acme/wizard#1"), body)


@pytest.mark.parametrize(
    "unit",
    [
        *("4 workers with 8 ranks each\n", "on 4 of 8 GPUs\n", "works on 2 GPUs, butt\n", "works on another H100, \n"),
        *("works on 1 head and 4 workers\n", "mpirun -np 2 -N H100\n", "GPU #  Rank  0 on a device  0 [\n"),
    ],
)
def test_counts_and_cards_are_looked_for_in_linear_time(unit: str) -> None:
    """Four times the usual length, so that a search of the whole text for each count takes too long."""
    assert in_time(partial(find_facts, ""), unit * (4 * CHARACTERS // len(unit)))


PART = re.compile(r"(?P<part>\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|[^\\\[{}*+?])(?P<unbounded>[*+]|\{\d*,\})?", re.S)
# Tried once on one line or one value, or what they repeat cannot be read in two ways.
MAY_REPEAT = {
    *("environment._OF_A_MAC", "release.names._NO_LETTERS", "release.places._MACHINE", "release.places._NO_PART"),
    *("scanning._COMMAND", "scanning._ENVIRONMENT", "situation._VERSION_FIELD", "systems._SYSTEM"),
    *("compatibility.misfits._LISTED", "gpus._GPU", "gpus._LESSER", "several._RELEASE"),
}


def reads_on(pattern: str) -> list[str]:
    """What a pattern repeats without bound that is a group, or that matches a line break, or letters and blanks."""
    parts = [found["part"] for found in PART.finditer(pattern.replace(VERSION, "")) if found["unbounded"]]
    return [part for part in parts if part == ")" or re.match(part, "\n") or all(re.match(part, it) for it in "a ")]


def patterns_in(value: object) -> Iterator[str]:
    """A pattern, or those of nested tuples and tables."""
    if isinstance(value, (re.Pattern, type(regex("")))):
        yield value.pattern
    elif isinstance(value, (tuple, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(one)


def patterns_of_facts() -> Iterator[tuple[str, str]]:
    """Name and text of each pattern in the modules of the facts and in `frameworks.toml`."""
    for module in walk_packages(distriage.facts.__path__, "distriage.facts."):
        for name, value in vars(import_module(module.name)).items():
            for pattern in patterns_in(value):
                yield f"{module.name.removeprefix('distriage.facts.')}.{name}", pattern
    for project in projects().all.values():
        for listed in (*project.stamps, *project.launchers.values()):
            yield project.name, listed.expression.pattern


def test_a_pattern_of_the_facts_repeats_only_parts_of_a_word_without_bound() -> None:
    """Else it may read on to the end of the text from each place where it begins: time grows with the square."""
    assert reads_on(r"\bflockrun[^\n]*--never") == ["[^\\n]"] and reads_on(r"(?:a|b )+\s*\d+\w{2,}") == [")", r"\s"]
    found = {name for name, pattern in patterns_of_facts() if reads_on(pattern)}
    assert found - MAY_REPEAT == set(), "bound it, as {0,80} does"
    assert MAY_REPEAT - found == set()


# ---------------------------------------------------------------- the whole class, over everything that reads a report

UNITS = [
    *(
        "\n",
        "\r",
        " ",
        "\t",
        "```",
        "~~~",
        "[",
        "]",
        "(",
        ")",
        "[a](",
        "![",
        "](",
        "<",
        "</",
        "<a ",
        ">",
        "<!--",
        "-->",
    ),
    *(
        "-->",
        "1.",
        '"',
        "'",
        "0",
        "9",
        "0x",
        "deadbeef",
        "0AA00AA0-",
        "a",
        "A",
        "é",
        "\u0301",
        "中",
        "😀",
        "\x00",
        "\x1b[",
    ),
    "[0m",
    "attached a ",
    "log attached ",
    "github.com/a/files/1",
    *(
        "|",
        "-",
        "=",
        "*",
        "#",
        "_",
        ".",
        ",",
        ":",
        "/",
        "http://",
        "~",
        "^",
        "$ ",
        "E.",
        "A=",
        "- [ ] ",
        "1.",
        ":1",
        ";",
    ),
]
# Words that patterns begin or go on with: a pattern may be slow only behind one of them.
WORDS = [
    *(
        "torch ",
        "python ",
        "deepspeed ",
        "CUDA Version",
        "NCCL",
        "driver",
        "GPU 0: ",
        "vllm.entrypoints",
        "8 x ",
        "ver",
    ),
    *(
        "Error",
        "Exception:",
        "File ",
        "Traceback",
        "pid=",
        "tensorflow installed from",
        "tensorflow ",
        "npu-smi cann ",
        "gaudi 8",
        "how installed",
        "vulnerability ",
        "works in ",
        "downgrade to ",
        "after upgrading from ",
        "0.8.4 ",
    ),
    *(
        "cannot",
        "not ",
        "assert",
        "nvidia ",
        "3090 ",
        "single ",
        "Ubuntu ",
        "https://",
        "rank0: ",
        "2024-01-01",
        "RTX ",
        "on a m",
        "cuda version, if used (",
        "\n- **gpu memory** : not used (",
    ),
]


def answer(body: str) -> None:
    """Everything that is done about a report but the model's own pass."""
    if not body.strip():
        prepare("", body)
        find_facts("", body)
        return
    known = read(IssueReport(body[:2000], body))
    all_features(known.input)
    Findings(BUNDLE, known, PREDICTION).verdict()


BUNDLE = Bundle(find_bundle(None), whole=False)  # nothing here runs it
PREDICTION = Prediction(
    BUNDLE.manifest.name,
    {
        axis: AxisScores(axis, {label: 1 / len(calibration.labels) for label in calibration.labels})
        for axis, calibration in BUNDLE.manifest.axes.items()
    },
)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_one_unit_repeated_takes_linear_time(unit: str) -> None:
    assert in_time(answer, unit * (CHARACTERS // len(unit)))


def test_units_in_pairs_take_linear_time() -> None:
    """A hundredth of all pairs, drawn; `HOSTILE_INPUTS` runs of the next test see the others."""
    pairs = random.Random(7).sample([(one, other) for one in UNITS for other in UNITS if one != other], 30)
    for one, other in pairs:
        half = 32_768
        for body in (
            (one + other) * (2 * half // len(one + other)),
            one * (half // len(one)) + other * (half // len(other)),
        ):
            assert in_time(answer, body), f"{one!r} and {other!r}"


@st.composite
def hostile(draw: st.DrawFn) -> tuple[str, int]:
    """A line of units and words, some of them repeated, and the length in bytes up to which the line is repeated."""
    parts = draw(st.lists(st.tuples(st.sampled_from(UNITS + WORDS), st.sampled_from([1, 1, 5, 50, 300])), max_size=5))
    line = "".join(part * times for part, times in parts) + draw(st.sampled_from(["", "\n", "!\n"]))
    length = draw(st.sampled_from([2_000, 65_536, 200_000, 1_000_000]))
    return line or "x", length


@pytest.mark.slow
@given(hostile())
@settings(max_examples=int(os.environ.get("HOSTILE_INPUTS", "20")))
def test_hostile_reports_take_linear_time(drawn: tuple[str, int]) -> None:
    """`HOSTILE_INPUTS=2000` is the whole measurement; every run draws the same inputs."""
    line, length = drawn
    unit = line.encode()
    body = (unit * (length // len(unit) + 1))[:length].decode("utf-8", "ignore")
    assert in_time(answer, body)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_one_line_takes_linear_time(unit: str) -> None:
    """No line is cut before it is sorted."""
    line = unit * (CHARACTERS // len(unit))
    assert in_time(is_listed, line) and in_time(known_forms().read, line)
    assert in_time(partial(split, ""), f"```\n{line}\n```")
