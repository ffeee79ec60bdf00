# ruff: noqa: F401, F811  # fixtures
"""An event only names an issue, which may have changed since: a re-run gets the first run's event."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.action import Act, act, double, runner
from support.github import PERSON, GitHub
from support.github_shapes import issue_field

ISSUE = "owner/repo#1"


@pytest.fixture
def told(double: GitHub, runner: Path) -> GitHub:
    """An issue with a label of its form, and the event of its opening in the runner's file."""
    double.label(ISSUE, "seen", PERSON)
    (runner / "event.json").write_text(json.dumps(double.payload("opened", ISSUE)), encoding="utf-8")
    return double


def test_the_text_of_now_is_read(told: GitHub, act: Act) -> None:
    told.issues[ISSUE] |= {"title": "Out of memory", "body": "memory exhausted exhausted"}
    assert act() == 0
    assert told.labels(ISSUE) == ["seen", "symptom: oom"]


@pytest.mark.parametrize("more", ["", "  fix: true\nsuggestions: perhaps\n"])
def test_a_field_that_somebody_has_filled_in_since_stays(told: GitHub, act: Act, more: str) -> None:
    told.suggesting.add("owner/repo")
    told.issues[ISSUE]["body"] = "It hangs and hangs."  # the toy model hears no fix for sure
    told.issue_fields.append(issue_field(5, "Failure", "Hang", "Crash"))
    text = f"axes:\n  symptom: {{field: Failure, labels: {{hang: {{enabled: false}}}}}}\n{more}"
    told.files["owner/repo/.github/distriage.yml"] = text
    told.fill_in(ISSUE, 5, "Crash")
    assert act() == 0
    assert [one["value"] for one in told.issues[ISSUE]["issue_field_values"]] == ["Crash"]
    assert [one["action"] for one in told.pending(ISSUE)] == (["add_label"] if more else [])


def test_an_issue_that_has_moved_is_not_written_to(told: GitHub, act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    told.open("owner/other#9", "It stops", "It hangs and hangs.")
    told.happened("owner/other#9", "transferred", PERSON)
    told.moved[ISSUE] = "owner/other#9"
    assert act() == 0
    assert "was transferred to owner/other#9" in capsys.readouterr().out and told.written == []
