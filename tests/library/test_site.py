"""README and docs/: what exists is named, links lead somewhere, listings are valid, the site builds."""

from __future__ import annotations

import importlib.util
import logging
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from distriage.commands.app import build_app

from support.checkout import REPOSITORY
from support.command_line import Command

PAGES = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")])
_LISTING = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def listed_commands(page: Path) -> Iterator[list[str]]:
    """The words of each call of `distriage` in the listings of a page."""
    for listing in _LISTING.findall(page.read_text(encoding="utf-8")):
        for line in listing.replace("\\\n", " ").splitlines():
            for part in _parts(line):
                words = [word for word in part if not re.match(r"[A-Z_]+=", word)]
                if words[:1] == ["distriage"] and len(words) > 1:
                    yield words[1:]


def _parts(line: str) -> Iterator[list[str]]:
    """The words of each command of a line of shell."""
    part: list[str] = []
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    words.whitespace_split = True
    for word in words:
        if word and set(word) <= set("|&;"):
            yield part
            part = []
        else:
            part.append(word)
    yield part


@cache
def commands() -> dict[str, Any]:
    """`corpus stats` -> its command, for each that there is."""
    found: dict[str, Any] = {}

    def walk(name: str, command: Any) -> None:
        inner = getattr(command, "commands", {})
        if name and not inner:
            found[name] = command
        for key, value in inner.items():
            walk(f"{name} {key}".strip(), value)

    walk("", typer.main.get_command(build_app()))
    return found


def called(words: list[str]) -> str:
    """The name of the command that these words call."""
    known = commands()
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in known), None)
    assert name is not None, f"no such command: distriage {' '.join(words)}"
    return name


@pytest.mark.slow
def test_every_command_is_named_in_a_listing() -> None:
    named = {called(words) for page in PAGES for words in listed_commands(page)}
    assert sorted(set(commands()) - named) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path = target.partition("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            assert (page.parent / path).resolve().exists(), f"{page.name}: {target}"


def test_the_model_card_that_is_linked_is_that_of_the_default_model() -> None:
    default = (REPOSITORY / "models" / "DEFAULT").read_text(encoding="utf-8").strip()
    linked = {name for page in PAGES for name in re.findall(r"models/([\w.-]+)/README\.md", page.read_text("utf-8"))}
    assert linked == {default}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_at_most_120_characters(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    long = [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")]
    assert long == []


@pytest.mark.slow
@pytest.mark.usefixtures("kept_graphs")
def test_the_commands_of_the_quick_start_run(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text((REPOSITORY / "examples/report.md").read_text(encoding="utf-8"), "utf-8")
    monkeypatch.chdir(tmp_path)
    ran = 0
    for words in listed_commands(REPOSITORY / "docs" / "quick-start.md"):
        if "--issue" in words or words[-1] == "-" or words[:2] == ["classify", "examples/report.md"]:
            continue  # GitHub, standard input, and the same once more
        done = command(*words)
        assert done.code == 0 and done.out, (words, done.err)
        ran += 1
    assert ran >= 5


def test_the_listings_of_toml_are_valid() -> None:
    found = 0
    for page in PAGES:
        for listing in re.findall(r"^```toml[^\n]*\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            tomllib.loads(listing)
            found += 1
    assert found >= 2


def test_the_python_of_the_quick_start_runs() -> None:
    text = (REPOSITORY / "docs" / "quick-start.md").read_text(encoding="utf-8")
    (listing,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr


# ---------------------------------------------------------------- the site


@pytest.fixture(scope="module")
def reference() -> Any:
    """The generator of the reference pages."""
    for name in ("griffe", "fastapi", "torch"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'distriage[serve,train,docs]'")
    sys.path.insert(0, str(REPOSITORY / "docs" / "generator"))
    try:
        import reference

        yield reference
    finally:
        sys.path.pop(0)


def test_every_key_in_the_reference_has_its_meaning(reference: Any) -> None:
    text = reference.reference_pages()["reference/training.md"]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows
    assert [row for row in rows if row.rstrip().endswith("|  |")] == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning(
    reference: Any,  # noqa: ARG001 for its skips
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As `mkdocs build --strict`, here, where the packages that it describes are imported."""
    pytest.importorskip("mkdocstrings", reason="needs mkdocstrings: pip install 'distriage[docs]'")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MkDocs' and its plugins' own
        config = load_config(str(REPOSITORY / "mkdocs.yml"), strict=True, site_dir=str(tmp_path / "site"))
        config.plugins.on_startup(command="build", dirty=False)
        try:
            build(config)
        finally:
            config.plugins.on_shutdown()
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    pages = {str(file.relative_to(tmp_path / "site")) for file in (tmp_path / "site").rglob("index.html")}
    assert {"index.html", "labels/symptoms/index.html", "reference/cli/index.html"} <= pages
    for file in (tmp_path / "site").rglob("*.html"):  # it opens offline
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|img)[^>]+src=\"?https?:|<link[^>]+rel=\"?stylesheet\"?[^>]+https?:", text)
