"""Issue forms and templates of a repository, read from GitHub."""

from __future__ import annotations

from pathlib import Path

import pytest

from distriage.base.types import FormLines
from distriage.github import forms
from distriage.github.client import Client
from distriage.github.forms import FOLDER, KEPT_S, form_lines
from distriage.github.history import forms_of, load_history, read_history
from distriage.past.issue import read_issues
from distriage.segments import Kind, split

from support import faults
from support.faults import Trouble
from support.github import GitHub

FORM = """
name: Bug
description: A failure
body:
  - type: markdown
    attributes: {value: Thank you for the report.}
  - type: dropdown
    attributes: {label: "Which cluster is it on?", options: [Blue, Green]}
  - type: textarea
    attributes: {label: Story, description: In your words., value: "1. First I did this\\n2. Then that"}
  - type: checkboxes
    attributes: {label: Promises, options: [{label: I have read the manual}]}
"""
TEMPLATE = """---
name: Question
labels: question
---
<!-- Be kind. -->
## Situation of the crew
Tell us all of it.
- Captain's version:
"""


@pytest.fixture
def client(github: GitHub) -> Client:
    return Client(github.token, github.url, sleep=lambda _: None)


def asked(github: GitHub) -> list[str]:
    """The paths of the requests for forms."""
    return [request.path for request in github.requests if FOLDER in request.path]


def test_a_form_tells_its_lines_from_the_reporters(github: GitHub, client: Client) -> None:
    github.files |= {
        f"owner/repo/{FOLDER}/bug.yml": FORM,
        f"owner/repo/{FOLDER}/config.yml": "blank_issues_enabled: no",
    }
    lines = form_lines(client, "owner/repo")
    body = (
        "### Which cluster is it on?\n\nGreen\n\n### Story\n\n1. First I did this\n2. It hangs\n\n"
        "### Promises\n\n- [x] I have read the manual"
    )
    report = split("Odd", body, lines)
    assert report.answers == {"Which cluster is it on": "Green", "Story": "2. It hangs", "Promises": ""}
    assert [line.text for segment in report.of(Kind.FORM) for line in segment.lines] == ["Green", "2. It hangs"]
    assert not report.is_unfilled_form and len(asked(github)) == 2
    assert split("Odd", "### Story\n\n1. First I did this\n2. Then that\n", lines).is_unfilled_form


def test_a_template_of_the_owner_is_read_where_the_repository_has_none(github: GitHub, client: Client) -> None:
    github.files[f"owner/.github/{FOLDER}/question.md"] = TEMPLATE
    lines = form_lines(client, "owner/repo")
    assert lines == FormLines(
        frozenset({"Situation of the crew"}), frozenset({"Tell us all of it.", "- Captain's version:"})
    )
    filled = split("", "## Situation of the crew\nTell us all of it.\n- Captain's version: seven\n", lines)
    assert filled.answers == {"Situation of the crew": "- Captain's version: seven"}


@pytest.mark.parametrize(
    "text",
    ["a: [", "- 1", "body: 7", "body: [1, {attributes: 2}]", FORM + "# " + "[" * 501, "- " * 3000, "x" * 100_000],
)
def test_a_broken_form_is_no_form(github: GitHub, client: Client, text: str) -> None:
    github.files[f"owner/repo/{FOLDER}/bug.yml"] = text
    assert form_lines(client, "owner/repo") is None


def test_forms_are_asked_for_once_an_hour_then_whether_they_changed(
    github: GitHub, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(forms._kept, "clock", lambda: now)
    github.files[f"owner/repo/{FOLDER}/bug.yml"] = FORM
    first = form_lines(client, "owner/repo")
    github.requests.clear()
    assert form_lines(client, "OWNER/repo") == first and asked(github) == []
    now = KEPT_S
    assert form_lines(client, "owner/repo") == first and len(asked(github)) == 2
    assert all("if-none-match" in request.headers for request in github.requests)


@pytest.mark.parametrize("fault", [faults.status(500), faults.status(403), faults.integration(), faults.status(404)])
def test_no_failure_to_read_forms_stops_a_look(github: GitHub, client: Client, fault: faults.Fault) -> None:
    github.troubles.append(Trouble("GET .*/ISSUE_TEMPLATE", fault, times=99))
    assert form_lines(client, "owner/repo") is None


def test_who_fetches_past_issues_is_told_that_their_forms_are_not_to_be_read(
    github: GitHub, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.open("owner/repo#1", "Odd", "It hangs.")
    github.troubles.append(Trouble("GET .*/ISSUE_TEMPLATE", faults.integration(), times=99))
    assert read_history(client, "owner/repo", tmp_path / "h.jsonl", None, lambda _: None).forms is None
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("distriage: owner/repo: its issue forms cannot be read (permission `contents: read`): ")


@pytest.mark.parametrize(("fault", "is_asked_again"), [(faults.status(500), True), (faults.status(403), False)])
def test_a_passing_failure_is_not_kept_and_says_nothing_of_permissions(
    github: GitHub, client: Client, fault: faults.Fault, is_asked_again: bool
) -> None:
    github.files[f"owner/repo/{FOLDER}/bug.yml"] = FORM
    github.troubles.append(Trouble("GET .*/ISSUE_TEMPLATE", fault, times=99))
    said: list[str] = []
    assert form_lines(client, "owner/repo", said.append) is None
    assert ("contents: read" not in said[0]) == is_asked_again
    github.troubles.clear()
    assert (form_lines(client, "owner/repo") is not None) == is_asked_again


def test_past_issues_are_kept_with_the_forms_of_their_time(github: GitHub, client: Client, tmp_path: Path) -> None:
    github.files[f"owner/repo/{FOLDER}/question.md"] = TEMPLATE
    github.open("owner/repo#1", "Odd", "Tell us all of it.\nIt hangs.")
    file = tmp_path / "owner.history.jsonl"
    fetched = read_history(client, "owner/repo", file, None, lambda _: None)
    assert fetched.forms == form_lines(client, "owner/repo")
    assert load_history(file)[1].forms == fetched.forms
    assert [report.forms for _, report in read_issues(str(file))] == [fetched.forms]


@pytest.mark.parametrize("kept", [None, 7, {"headings": "Story", "lines": []}, {"headings": [7], "lines": []}])
def test_what_is_not_a_list_of_lines_is_no_form(kept: object) -> None:
    assert forms_of({"forms": kept}) is None
