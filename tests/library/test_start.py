"""A plain call of `classify` starts without the packages that it does not need, and answers as any other."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import distriage
from distriage.base.shapes import UnusualError, shaped
from distriage.base.texts import regex
from distriage.base.validation import Strict, adapter, field
from distriage.commands import classify as face
from distriage.commands.app import build_app
from distriage.commands.asked import Asked, plainly_asked
from distriage.model.bundle import Manifest
from distriage.model.shipped import MANIFEST, find_bundle


def test_a_plain_call_loads_no_package_that_it_does_not_need(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    report.write_text("NCCL timeout\n\nAll ranks wait in all_reduce. torch 2.3.1, CUDA 12.1\n", encoding="utf-8")
    code = (
        "import atexit, sys\n"
        "from distriage.commands.main import main\n"
        "heavy = {'typer', 'pydantic', 'rich', 'httpx', 'logging', 'importlib.metadata', 'importlib.resources'}\n"
        "loaded = lambda: heavy & set(sys.modules)\n"
        "atexit.register(lambda: sys.stderr.write(' '.join(loaded())))\n"
        "main()\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-c", code, "classify", report]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "NCCL timeout" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["classify"],
        ["classify", "a.md", "-"],
        ["classify", "a.md", "--json"],
        ["classify", "--jsonl", "a.md", "--explain", "b.md", "--similar"],
    ],
)
def test_a_plain_call_is_read_as_the_parser_of_options_reads_it(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Asked] = []
    monkeypatch.setattr(face, "answer", read.append)
    build_app("classify")(words, standalone_mode=False)
    plain = plainly_asked(words)
    assert plain is not None
    assert [plain.files or None, plain] == [read[0].files or None, Asked(**{**_options(read[0]), "files": plain.files})]


def _options(asked: Asked) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Asked.__slots__}


@pytest.mark.parametrize("words", [[], ["taxonomy"], ["classify", "--help"], ["classify", "--", "-x"]])
def test_any_other_call_goes_to_the_parser(words: list[str]) -> None:
    assert plainly_asked(words) is None
    assert plainly_asked(["classify", "a.md", "--mode", "best"]) is None


class Part(Strict):
    share: float = field(default=0.5, ge=0, le=1)
    colour: str | None = field(default=None, pattern="^[0-9a-f]{6}$")


class Whole(Strict):
    name: str
    parts: tuple[Part, ...] = ()
    on: bool = False


@pytest.mark.parametrize(
    "value",
    [
        {"name": "x"},
        {"name": "x", "on": True, "parts": [{"share": 1}, {"colour": "00ff00"}, {"colour": None}]},
        {"name": 5},
        {"name": "x", "zebra": 1},
        {"on": True},
        {"name": "x", "on": 1},
        {"name": "x", "on": "yes"},
        {"name": "x", "parts": [{"share": "0.5"}]},
        {"name": "x", "parts": [{"share": 1.5}]},
        {"name": "x", "parts": [{"share": True}]},
        {"name": "x", "parts": [{"share": float("nan")}]},
        {"name": "x", "parts": [{"colour": "red"}]},
        {"name": "x", "parts": [{"colour": "00ff00\n"}]},
        {"name": "x", "parts": {"share": 1}},
        ["name"],
        None,
    ],
)
def test_data_of_the_usual_shape_is_read_as_pydantic_reads_it(value: Any) -> None:
    try:
        read = shaped(Whole, value)
    except UnusualError:
        return
    assert read == adapter(Whole).validate_python(value)


def test_what_has_another_shape_is_refused_by_pydantic_or_converted() -> None:
    assert Whole.read({"name": "x", "on": "yes"}) == Whole(name="x", on=True)
    with pytest.raises(ValidationError):
        Whole.read({"name": "x", "parts": [{"share": 1.5}]})


def test_the_shipped_bundle_has_the_usual_shape() -> None:
    data = json.loads((find_bundle() / MANIFEST).read_bytes())
    assert shaped(Manifest, data) == adapter(Manifest).validate_python(data)


def test_each_pattern_of_the_library_compiles() -> None:
    """They are compiled at their first use, so that a mistake would wait for it."""
    library = Path(distriage.__file__).parent
    modules = [
        ".".join(["distriage", *file.relative_to(library).with_suffix("").parts])
        for file in library.rglob("*.py")
        if " = regex(" in file.read_text(encoding="utf-8")
    ]
    code = (
        "import importlib, re, sys\n"
        "from distriage.base import texts\n"
        "texts.regex = re.compile\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
    )
    subprocess.run([sys.executable, "-c", code, *modules], check=True)
    assert len(modules) > 30


def test_a_pattern_is_compiled_when_it_is_first_used() -> None:
    pattern = regex(r"(?P<rank>rank)\d+", re.I)
    copy = pickle.loads(pickle.dumps(pattern))
    assert "search" not in vars(pattern)
    for one in (pattern, copy, pickle.loads(pickle.dumps(copy))):
        assert [found["rank"] for found in one.finditer("Rank7 rank8")] == ["Rank", "rank"]
        assert one.groups == 1 and "search" in vars(one)
    with pytest.raises(re.error):
        regex("(").search("")
