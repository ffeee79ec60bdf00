"""A run of the GitHub Action in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from distriage_serving.action.run import Inputs, run_action

from support.github import GitHub

TITLE, BODY = "Training hangs", "It hangs and hangs after a timeout.\ntorch 2.3.0"  # the toy model hears: hang, tuning


@pytest.fixture
def double(github: GitHub) -> GitHub:
    """A GitHub with the issue of the run."""
    github.open("owner/repo#1", TITLE, BODY)
    return github


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, double: GitHub) -> Path:
    """A folder with the runner's files; `event.json` is an opened issue."""
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        (tmp_path / name).write_text("", encoding="utf-8")
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("GITHUB_API_URL", double.url)
    write_event(tmp_path, {})
    return tmp_path


def write_event(folder: Path, changes: dict[str, Any]) -> None:
    """A minimal `issues` event."""
    person = {"login": "octocat", "type": "User"}
    issue = {"number": 1, "title": TITLE, "body": BODY, "user": person}
    event = {"action": "opened", "issue": issue, "repository": {"full_name": "owner/repo"}, "sender": person, **changes}
    (folder / "event.json").write_text(json.dumps(event), encoding="utf-8")


Act = Callable[..., int]


@pytest.fixture
def act(runner: Path, keyword_bundle: Path) -> Act:
    """Runs the action in this process."""

    def run(strict: str = "", **changes: Any) -> int:
        values = {
            "token": GitHub.token,
            "event_path": str(runner / "event.json"),
            "model": str(keyword_bundle),
            "max_wait_s": 3.0,
            **changes,
        }
        return run_action(Inputs(**values), strict=strict)

    return run


def outputs(folder: Path) -> dict[str, str]:
    """GITHUB_OUTPUT as the runner reads it."""
    lines = (folder / "GITHUB_OUTPUT").read_text(encoding="utf-8").split("\n")
    found, position = {}, 0
    while position < len(lines) - 1:
        name, delimiter = lines[position].split("<<")
        end = lines.index(delimiter, position + 1)
        found[name] = "\n".join(lines[position + 1 : end])
        position = end + 1
    return found


def summary(folder: Path) -> str:
    """The step summary."""
    return (folder / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8")
