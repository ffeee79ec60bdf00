"""An issue that cannot be read does not keep `distriage backfill` from those after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from distriage.github import client as distriage_github
from distriage.github.client import Client

from support import faults
from support.command_line import Command, Finished
from support.databases import new_sqlite
from support.faults import Trouble
from support.github import PERSON, GitHub

REPOSITORY, HANG = "owner/repo", "symptom: hang"
TRIES = 20  # more than a request is repeated, in pages of every size
Backfill = Callable[..., Finished]


@pytest.fixture
def run(
    command: Command, keyword_bundle: Path, tmp_path: Path, github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> Backfill:
    """`distriage backfill` on a repository of eight issues, with a client that does not wait between attempts."""
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    monkeypatch.setattr(Client, "pause", lambda *_: True)
    for number in range(1, 9):
        github.open(f"{REPOSITORY}#{number}", "Training hangs", "It hangs.", created_at=f"2024-01-0{number}T00:00:00Z")
    github.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: true}\n"
    database = new_sqlite(tmp_path / "a.db")
    return lambda *options: command("backfill", REPOSITORY, "--database", database, "--model", keyword_bundle, *options)


def labelled(double: GitHub) -> list[int]:
    return [number for number in range(1, 9) if double.labels(f"{REPOSITORY}#{number}") == [HANG]]


def test_one_with_more_events_than_are_read(github: GitHub, run: Backfill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distriage_github, "MAX_ITEMS", 20)
    github.page_items = 10
    for number in range(31):
        github.comment(f"{REPOSITORY}#2", f"Same here, {number}", PERSON)
    done = run()
    assert done.code == 0 and "7 issues changed, 0 left alone; 0 were done before, 1 failed" in done.out
    assert "failed: #2: GET /repos/owner/repo/issues/2/timeline: more than 20 entries" in done.out
    assert labelled(github) == [1, 3, 4, 5, 6, 7, 8]
    assert "0 issues changed, 0 left alone; 7 were done before, 1 failed" in run().out


def test_one_for_which_github_fails_time_and_again(github: GitHub, run: Backfill) -> None:
    github.troubles.append(Trouble("GET .*/issues/2/timeline", faults.status(502), times=TRIES))
    done = run()
    assert done.code == 0 and "failed: #2: " in done.out and labelled(github) == [1, 3, 4, 5, 6, 7, 8]
    assert run().code == 0 and labelled(github) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_github_that_fails_for_all_ends_the_run(github: GitHub, run: Backfill) -> None:
    github.troubles.append(Trouble("GET .*/timeline", faults.status(502), times=99))
    done = run()
    assert done.code == 2 and "owner/repo: 5 issues in a row failed, last #5: " in done.err
    assert done.out.count("failed: #") == 5 and labelled(github) == []


def test_a_repository_that_takes_no_suggestions_is_a_remark_and_no_failure(github: GitHub, run: Backfill) -> None:
    github.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: true}\nsuggestions: perhaps\n"
    for number in range(1, 9):
        github.issues[f"{REPOSITORY}#{number}"] |= {"title": "It stops", "body": "It ends with a timeout."}
    done = run()
    assert done.code == 0 and "0 issues changed, 8 left alone; 0 were done before, 0 failed" in done.out
    assert "#1: GitHub takes no suggestions in this repository" in done.out and "failed: " not in done.out


@pytest.mark.parametrize("trouble", ["GET .*/issues/{}/timeline", "POST .*/issues/{}/labels"])
def test_troubles_that_are_not_in_a_row_end_no_run(github: GitHub, run: Backfill, trouble: str) -> None:
    for number in (1, 2, 3, 4, 6):
        fault = faults.status(502) if trouble.startswith("GET") else faults.integration()
        github.troubles.append(Trouble(trouble.format(number), fault, times=TRIES))
    done = run()
    assert done.code == 0 and done.out.count("failed: #") == 5 and labelled(github) == [5, 7, 8]
