"""Every command of ours in README and docs exists with these options; those that need no network run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from distriage.commands.app import build_app
from distriage_research.commands import build_app as research

from support.checkout import REPOSITORY
from support.command_line import Command

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "training" / "corpus" / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
]
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`((?:distriage|python training/research(?= [a-z])) [^`\n]+)`")
OFFLINE = [("classify",), ("taxonomy",), ("config",)]


def commands_in(line: str) -> list[list[str]]:
    """The arguments of each call of `distriage` in a line of shell; `python training/research` is `research`."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # not shell, such as a page's text in a block
        return []
    found: list[list[str]] = []
    begun = False
    for before, word in zip(["", *words], words, strict=False):
        if word in {"|", "&&", ">", ">>", ";"}:
            begun = False
        elif begun:
            found[-1].append(word)
        elif (before, word) == ("python", "training/research"):
            found.append(["research"])
            begun = True
        elif word == "distriage" and (not before or before in {"|", "&&", "-m", "run:"} or "=" in before):
            found.append([])
            begun = True
    return found


def calls() -> list[tuple[str, tuple[str, ...]]]:
    """Page and arguments of every call in a block or in running text."""
    found = set()
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        lines = [line for block in FENCED.findall(text) for line in block.replace("\\\n", " ").splitlines()]
        lines += INLINE.findall(FENCED.sub("", text))
        found |= {(path.name, tuple(call)) for line in lines for call in commands_in(line.strip().removeprefix("- "))}
    return sorted(found)


CALLS = calls()


def test_commands_are_found_in_the_docs() -> None:
    assert commands_in("A=1 distriage x -y 'a b' | tee z && distriage --q > f # distriage no") == [
        ["x", "-y", "a b"],
        ["--q"],
    ]
    names = {call[0] for _, call in CALLS if call}
    assert {"classify", "serve", "train", "backtest", "inbox", "config", "research"} <= names and len(CALLS) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_shows_the_marks_of_a_merge(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if line.startswith(("<<<<<<< ", ">>>>>>> "))]


def test_the_table_of_findings_lists_each_script() -> None:
    table = (REPOSITORY / "findings" / "README.md").read_text(encoding="utf-8")
    scripts = sorted(path.name for path in (REPOSITORY / "findings").glob("*.sh"))
    assert re.findall(r"^\| \[`([^`]+)`\]\(\1\)", table, re.M) == scripts


@cache
def application(build: Callable[[], typer.Typer]) -> Any:
    """A whole command line, which takes a moment to build."""
    return typer.main.get_command(build())


@pytest.mark.parametrize(("page", "arguments"), CALLS, ids=[f"{page}: {' '.join(call)[:60]}" for page, call in CALLS])
def test_a_command_of_the_docs_exists_with_its_options(page: str, arguments: tuple[str, ...]) -> None:
    experiment = arguments[:1] == ("research",)
    command, rest = application(research if experiment else build_app), list(arguments[experiment:])
    while (known := getattr(command, "commands", None)) and rest and not rest[0].startswith("-"):
        assert rest[0] in known, f"{page}: no command {' '.join(arguments)}"
        command = known[rest.pop(0)]
    # An unknown option is an error. Typer has a Click of its own, so `click.Context` is another class.
    _, left, _ = command.make_parser(command.context_class(command)).parse_args(rest)
    assert left == [], f"{page}: too many arguments: {' '.join(arguments)}"


@pytest.mark.usefixtures("kept_graphs")
@pytest.mark.parametrize(
    "arguments",
    [
        call
        for page, call in CALLS
        if page == "README.md" and call[:1] in OFFLINE and not {"--issue", "OWNER/REPO"} & {*call}
    ],
    ids=" ".join,
)
def test_a_command_of_the_readme_runs(
    command: Command, arguments: tuple[str, ...], shipped_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del shipped_bundle  # the default model, which must be there
    report = (REPOSITORY / "examples" / "report.md").read_bytes()
    (tmp_path / "examples").mkdir()
    for name in ("report.md", "examples/report.md"):
        (tmp_path / name).write_bytes(report)
    rows = '{"title": "NCCL timeout", "body": ""}\n{"title": "Out of memory", "body": null}\n'
    (tmp_path / "issues.jsonl").write_text(rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = command(*arguments, stdin=b'{"title": "NCCL timeout", "body": "It hangs."}')
    summary = "2 answers\n" if "issues.jsonl" in arguments and "classify" in arguments else ""
    assert (done.code, done.err) == (0, summary)


def test_the_picture_of_a_verdict_is_the_released_model_s() -> None:
    model = (REPOSITORY / "models" / "DEFAULT").read_text(encoding="utf-8").strip()
    assert f"{model}," in (REPOSITORY / "docs" / "images" / "verdict.svg").read_text(encoding="utf-8")
