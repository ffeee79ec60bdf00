# ruff: noqa: F401, F811  # fixtures
"""Reading an issue, and carrying out a plan once."""

from __future__ import annotations

import pytest

from distriage.base.errors import ConfigError, GitHubError, NotFoundError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.configuration.problems import RepositoryConfigError
from distriage_serving.github.execution import Execution
from distriage_serving.github.executor import execute
from distriage_serving.github.files import read_config
from distriage_serving.github.issue import read_issue
from distriage_serving.planning.types import Plan

from support import faults
from support.execution import (
    CONFIG,
    ISSUE,
    TAXONOMY,
    TYPED,
    WANTED,
    assert_done_once,
    client,
    clock,
    double,
    planned,
    run,
)
from support.faults import Trouble
from support.github import BOT, PERSON, GitHub


def test_the_state_knows_who_set_and_removed_what(double: GitHub, client: Client) -> None:
    double.page_items = 2
    double.label(ISSUE, "theirs", PERSON)
    double.label(ISSUE, "ours", BOT)
    double.label(ISSUE, "gone", BOT)
    double.unlabel(ISSUE, "gone", PERSON)
    double.label(ISSUE, "ghost", None)
    double.unlabel(ISSUE, "ghost", None)
    double.label(ISSUE, "cleaned", PERSON)
    double.unlabel(ISSUE, "cleaned", BOT)
    state = read_issue(client, IssueReference("owner/repo", 1)).state
    assert state.labels == {"theirs", "ours"} and state.labels_by_us == {"ours"}
    assert state.removed == {"gone", "ghost"}
    assert state.repository_labels == {"theirs", "ours", "gone", "ghost", "cleaned"}


def test_a_marker_in_a_person_s_comment_is_not_ours(double: GitHub, client: Client) -> None:
    marker = "<!-- distriage:v1 0123456789abcdef -->\nhello"
    double.comment(ISSUE, marker, PERSON)
    double.comment(ISSUE, f"quoted: {marker}", BOT)
    assert read_issue(client, IssueReference("owner/repo", 1)).state.own_comment is None
    ours = double.comment(ISSUE, marker, BOT)
    own = read_issue(client, IssueReference("owner/repo", 1)).state.own_comment
    assert own is not None and (own.id, own.digest) == (ours["id"], "0123456789abcdef")


@pytest.mark.parametrize(
    ("change", "word"), [("gone", "deleted"), ("absent", "does not exist"), ("moved", "transferred")]
)
def test_issues_that_are_not_there(double: GitHub, client: Client, change: str, word: str) -> None:
    if change == "gone":
        double.gone.add(ISSUE)
    elif change == "absent":
        del double.issues[ISSUE]
    else:
        double.open("owner/other#9", "A hang")
        double.moved[ISSUE] = "owner/other#9"
    with pytest.raises(NotFoundError, match=word):
        read_issue(client, IssueReference("owner/repo", 1))
    assert double.written == []


def test_configuration_of_organization_and_repository(double: GitHub, client: Client) -> None:
    assert read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY).mode == "balanced"
    double.files["owner/.github/.github/distriage.yml"] = "mode: precise\ndry-run: true\n"
    assert read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY).dry_run
    double.files["owner/repo/.github/distriage.yml"] = "dry-run: false\n"
    config = read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY)
    assert (config.mode, config.dry_run) == ("precise", False)
    double.files["owner/.github/.github/distriage.yml"] = "\nmod: x\n"
    with pytest.raises(RepositoryConfigError, match=r"owner/\.github/\.github/distriage\.yml:2: unknown key `mod`"):
        read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.yml", "a/../../b", "a\nb", " "])
def test_a_path_outside_of_the_repository_is_refused(double: GitHub, client: Client, path: str) -> None:
    with pytest.raises(ConfigError, match="inside the repository"):
        read_config(client, "owner/repo", path, TAXONOMY)
    assert double.requests == []


def test_a_named_configuration_must_exist(client: Client) -> None:
    with pytest.raises(ConfigError, match="not on the default branch"):
        read_config(client, "owner/repo", "other.yml", TAXONOMY)


def test_labels_are_created_added_and_the_comment_written(double: GitHub, client: Client) -> None:
    done = run(client)
    assert (done.labels_created, done.labels_added, done.comment, done.warnings) == (WANTED, WANTED, "written", [])
    assert_done_once(double)
    assert [write.method for write in double.written] == ["POST"] * 4


def test_a_second_run_writes_nothing(double: GitHub, client: Client) -> None:
    run(client)
    before = len(double.written)
    run(client)
    assert len(double.written) == before
    assert_done_once(double)


def test_carrying_out_the_same_plan_twice_is_carrying_it_out_once(double: GitHub, client: Client) -> None:
    plan = planned(client, "")
    execute(plan, client)
    again = execute(plan, client)
    assert again.labels_created == [] and again.warnings == []
    assert sorted(double.labels(ISSUE)) == WANTED


def test_the_comment_is_edited_later(double: GitHub, client: Client) -> None:
    run(client)
    done = run(client, "comment: Other words.\n")
    assert done.comment == "edited"
    assert_done_once(double)
    assert double.comments(ISSUE)[0].endswith("Other words.")


def test_an_issue_type_is_set_once(double: GitHub, client: Client) -> None:
    done = run(client, TYPED)
    assert (done.issue_type, done.labels_added, done.warnings) == ("Bug", [], [])
    assert double.issues[ISSUE]["type"]["name"] == "Bug"
    assert run(client, TYPED) == Execution() and len(double.written) == 1


def test_an_issue_type_that_github_drops_in_silence_is_a_warning(double: GitHub, client: Client) -> None:
    double.issue_types = set()
    done = run(client, TYPED)
    assert done.issue_type is None and ["'Bug' was not set" in warning for warning in done.warnings] == [True]


def test_an_issue_type_or_a_take_off_that_is_refused_is_a_warning(double: GitHub, client: Client) -> None:
    double.troubles.append(Trouble("PATCH", faults.locked(), times=99))
    done = run(client, TYPED)
    assert done.issue_type is None and ["'Bug' could not be set" in warning for warning in done.warnings] == [True]
    double.troubles[:] = [Trouble("DELETE", faults.locked()), Trouble("DELETE", faults.status(404))]
    plan = Plan(IssueReference("owner/repo", 1), take_off=("one", "two"))
    done = execute(plan, client)
    assert done.labels_taken_off == ["two"]  # it was off already
    assert ["'one' could not be taken off" in warning for warning in done.warnings] == [True]


@pytest.mark.parametrize("name", [".", ".."])
def test_a_label_that_no_address_can_name_is_not_asked_for(double: GitHub, client: Client, name: str) -> None:
    done = execute(Plan(IssueReference("owner/repo", 1), take_off=(name,)), client)
    assert double.written == [] and done.labels_taken_off == [] and len(done.warnings) == 1


def test_people_s_labels_stay(double: GitHub, client: Client) -> None:
    double.label(ISSUE, "symptom: native-crash", PERSON)
    double.label(ISSUE, "bug", PERSON)
    double.label(ISSUE, WANTED[0], BOT)
    double.unlabel(ISSUE, WANTED[0], PERSON)
    run(client)
    assert sorted(double.labels(ISSUE)) == ["bug", "symptom: native-crash"]


def test_a_dry_run_makes_no_write(double: GitHub, client: Client) -> None:
    plan = planned(client, CONFIG + "dry-run: true\nneeds-triage: true\n")
    asked = len(double.requests)
    done = execute(plan, client)
    assert plan.labels and plan.comment is not None
    assert (len(double.requests), double.written, done) == (asked, [], Execution())


def test_a_token_that_cannot_be_sent_is_refused_unseen() -> None:
    with pytest.raises(GitHubError) as caught:
        Client("sécret")
    assert "cret" not in str(caught.value)
