# ruff: noqa: F401, F811  # fixtures
"""The event's own issue in place of one that is read, while the timeline shows no change since."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.action.event import told_issue
from distriage_serving.github.issue import read_issue

from support import faults
from support.action import Act, act, double, outputs, runner, summary
from support.faults import Trouble
from support.github import PERSON, GitHub
from support.github_shapes import issue_field

ISSUE = "owner/repo#1"
REFERENCE = IssueReference("owner/repo", 1)
HANG = "symptom: hang"


@pytest.fixture
def told(double: GitHub, runner: Path) -> GitHub:
    """An issue with a label of its form, and the event of its opening in the runner's file."""
    double.label(ISSUE, "seen", PERSON)
    event = double.payload("opened", ISSUE)
    (runner / "event.json").write_text(json.dumps(event), encoding="utf-8")
    return double


def read(github: GitHub) -> int:
    """How often the issue itself was read."""
    return sum(request.method == "GET" and request.path.endswith("/issues/1") for request in github.requests)


def test_the_event_s_issue_is_not_read_again(told: GitHub, act: Act) -> None:
    assert act(attempt="1") == 0
    assert told.labels(ISSUE) == ["seen", HANG] and read(told) == 0


@pytest.mark.parametrize("attempt", ["2", ""])
def test_in_a_later_attempt_the_issue_is_read(told: GitHub, act: Act, attempt: str) -> None:
    told.issues[ISSUE] |= {"title": "Out of memory", "body": "memory exhausted exhausted"}
    assert act(attempt=attempt) == 0
    assert told.labels(ISSUE) == ["seen", "symptom: oom"] and read(told) == 1


SINCE: dict[str, Callable[[GitHub], Any]] = {
    "label set": lambda g: g.label(ISSUE, "stage: other", PERSON),
    "label taken off": lambda g: g.unlabel(ISSUE, "seen", PERSON),
    "closed": lambda g: g.edit(ISSUE, {"state": "closed", "state_reason": "completed"}, PERSON),
    "locked": lambda g: g.happened(ISSUE, "locked", PERSON),
    "an event that nobody knows yet": lambda g: g.happened(ISSUE, "issue_field_added", PERSON),
}
NOTHING: dict[str, Callable[[GitHub], Any]] = {
    "comment": lambda g: g.comment(ISSUE, "Which version?", PERSON),
    "assigned": lambda g: g.happened(ISSUE, "assigned", PERSON),
    "set and taken off": lambda g: (g.label(ISSUE, "x", PERSON), g.unlabel(ISSUE, "x", PERSON)),
    "closed and reopened": lambda g: [
        g.edit(ISSUE, {"state": state, "state_reason": "completed"}, PERSON) for state in ("closed", "open")
    ],
}


@pytest.mark.parametrize("name", [*SINCE, *NOTHING])
def test_a_change_since_is_seen(told: GitHub, runner: Path, name: str) -> None:
    event = json.loads((runner / "event.json").read_text("utf-8"))
    {**SINCE, **NOTHING}[name](told)
    issue = read_issue(Client(told.token, told.url), REFERENCE, told=told_issue(event, REFERENCE, "1"))
    now = read_issue(Client(told.token, told.url), REFERENCE)
    assert (issue.state, issue.as_told) == (now.state, name in NOTHING)


@pytest.mark.parametrize("changed", [True, False])
def test_a_change_within_the_event_s_own_second_counts(told: GitHub, runner: Path, *, changed: bool) -> None:
    event = json.loads((runner / "event.json").read_text("utf-8"))
    if changed:
        told.label(ISSUE, "late", PERSON)
        told.timelines[ISSUE][-1]["created_at"] = event["issue"]["updated_at"]
    issue = read_issue(Client(told.token, told.url), REFERENCE, told=told_issue(event, REFERENCE, "1"))
    assert issue.as_told is not changed and issue.state.labels == set(told.labels(ISSUE))


@pytest.mark.parametrize("more", ["", "  fix: true\nsuggestions: perhaps\n"])
def test_a_field_that_somebody_has_filled_in_since_stays(told: GitHub, runner: Path, act: Act, more: str) -> None:
    told.suggesting.add("owner/repo")
    told.issues[ISSUE]["body"] = "It hangs and hangs."  # the toy model hears no fix for sure
    (runner / "event.json").write_text(json.dumps(told.payload("opened", ISSUE)), encoding="utf-8")
    told.issue_fields.append(issue_field(5, "Failure", "Hang", "Crash"))
    text = f"axes:\n  symptom: {{field: Failure, labels: {{hang: {{enabled: false}}}}}}\n{more}"
    told.files["owner/repo/.github/distriage.yml"] = text
    told.fill_in(ISSUE, 5, "Crash")
    assert act(attempt="1") == 0
    assert [one["value"] for one in told.issues[ISSUE]["issue_field_values"]] == ["Crash"]
    assert [one["action"] for one in told.pending(ISSUE)] == (["add_label"] if more else [])


def test_an_issue_that_has_moved_is_not_written_to(told: GitHub, act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    told.open("owner/other#9", "It stops", "It hangs and hangs.")
    told.happened("owner/other#9", "transferred", PERSON)
    told.moved[ISSUE] = "owner/other#9"
    assert act(attempt="1") == 0
    assert "was transferred to owner/other#9" in capsys.readouterr().out and told.written == []


@pytest.mark.parametrize(
    "change",
    [{"number": 2}, {"repository_url": "https://api.github.com/repos/owner/other"}, {"title": None}, {"updated_at": 3}],
)
def test_an_event_s_issue_that_may_not_be_this_one_is_not_taken(told: GitHub, change: dict[str, Any]) -> None:
    event = told.payload("opened", ISSUE)
    assert told_issue(event, REFERENCE, "1") is not None
    assert told_issue({**event, "issue": {**event["issue"], **change}}, REFERENCE, "1") is None
    assert told_issue({}, REFERENCE, "1") is None


def test_github_s_recorded_events_tell_whole_issues(node_modules: Path) -> None:
    events = json.loads(
        (node_modules / "@octokit/webhooks-examples/api.github.com/index.json").read_text(encoding="utf-8")
    )
    examples = next(event["examples"] for event in events if event["name"] == "issues")
    for event in (example for example in examples if example["action"] in {"opened", "edited", "reopened"}):
        reference = IssueReference(event["repository"]["full_name"], event["issue"]["number"])
        assert told_issue(event, reference, "1") is event["issue"], event["action"]
