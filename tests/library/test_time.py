"""Work on a hostile report takes time linear in its length: no pattern backtracks without bound."""

from __future__ import annotations

import ast
import os
import random
import re
from collections import deque
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distriage.answer.findings import Findings
from distriage.base.texts import MAX_INPUT_CHARS
from distriage.base.types import AxisScores, IssueReport, Prediction
from distriage.facts.environment import find_facts
from distriage.facts.projects import projects
from distriage.facts.scanning import matches_at, places
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


FACTS = Path(import_module("distriage.facts").__path__[0])
TRIED_BY = {"at", "first_at", "matches_at", "versions_at", "_stands"}


def parts(value: object) -> Iterator[object]:
    """A value, or those of nested tuples."""
    if isinstance(value, tuple):
        for one in value:
            yield from parts(one)
    else:
        yield value


def tried_behind_words() -> Iterator[tuple[str, re.Pattern[str], list[str]]]:
    """Each pattern that is tried behind words: its name, the pattern, the words."""
    of_projects = [(*project.stamps, *project.launchers.values()) for project in projects().all.values()]
    for listed in chain.from_iterable(of_projects):
        yield listed.pattern, listed.expression, [*listed.starts]
    for path in sorted(FACTS.rglob("[!_]*.py")):
        known = vars(import_module(".".join(("distriage.facts", *path.relative_to(FACTS).with_suffix("").parts))))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TRIED_BY:
                inside = [*ast.walk(call)]
                found = [*parts(tuple(known.get(one.id) for one in inside if isinstance(one, ast.Name)))]
                found += [one.value for one in inside if isinstance(one, ast.Constant)]
                words = [one for one in found if isinstance(one, str)]
                for pattern in found:
                    if hasattr(pattern, "fullmatch"):
                        yield f"{path.stem} {ast.unparse(call.args[0])}", cast(re.Pattern[str], pattern), words


@pytest.mark.parametrize(("pattern", "words"), [pytest.param(*it, id=name) for name, *it in tried_behind_words()])
def test_a_pattern_behind_its_words_takes_linear_time(pattern: re.Pattern[str], words: list[str]) -> None:
    for word in words:
        text = f"{word}\n" * (2 * CHARACTERS // len(word))
        assert in_time(lambda text: deque(matches_at(pattern, text, places(words, text)), 0), text), repr(word)


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
