"""Reports for the command line, and what it says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.checkout import REPOSITORY
from support.command_line import Command, Finished

REPORT = "Training hangs\n\nIt hangs with a timeout on 8 A100, torch 2.3.0.\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report in a file."""
    file = tmp_path / "report.md"
    file.write_text(REPORT, encoding="utf-8")
    return file


@pytest.fixture
def classify(command: Command, keyword_bundle: Path) -> Command:
    """Calls `distriage classify` with the toy model."""

    def run(*arguments: object, stdin: bytes = b"") -> Finished:
        return command("classify", *arguments, "--model", keyword_bundle, stdin=stdin)

    return run


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The published one of verdicts."""
    return dict(json.loads((REPOSITORY / "schemas" / "verdict.schema.json").read_text(encoding="utf-8")))


def document(finished: Finished, schema: dict[str, Any]) -> Any:
    """The JSON on standard output, valid by the published schema, after a silent success."""
    assert (finished.code, finished.err) == (0, "")
    parsed = json.loads(finished.out)
    jsonschema.Draft202012Validator(schema).validate(parsed)  # `validate` checks the schema too, each time
    return parsed


def lines(finished: Finished, schema: dict[str, Any], summary: str | None = None) -> list[Any]:
    """The same of JSON lines; `summary`: the line on standard error that a batch ends with."""
    assert (finished.code, finished.err) == (0, "" if summary is None else f"{summary}\n")
    return [document(Finished(0, line, ""), schema) for line in finished.out.splitlines()]
