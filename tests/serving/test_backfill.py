from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from distriage.github.client import Client
from distriage_serving.backfill.proposals import estimate
from distriage_serving.backfill.run import BackfillResult, paced
from distriage_serving.bot import triage
from distriage_serving.github.execution import Execution
from distriage_serving.planning.types import Plan
from distriage_serving.store import Store

from support import faults
from support.command_line import Command, Finished, assert_one_line
from support.databases import Clock, new_sqlite
from support.faults import Trouble
from support.github import PERSON, GitHub

REPOSITORY = "Owner/Repo"
HANG = "Training hangs"
Backfill = Callable[..., Finished]


@pytest.fixture
def double(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    for number, (title, day) in enumerate(
        [(HANG, "01-05"), ("Memory exhausted", "02-05"), ("How does it work?", "03-05"), (HANG, "04-05")], 1
    ):
        github.open(
            f"{REPOSITORY}#{number}",
            title,
            f"{title} {title}",
            created_at=f"2024-{day}T10:00:00Z",
            updated_at=f"2024-{day}T10:00:00Z",
        )
    github.open(f"{REPOSITORY}#5", HANG, HANG, pull_request={"url": "https://api.github.com/repos/Owner/Repo/pulls/5"})
    github.open(f"{REPOSITORY}#6", HANG, HANG, state="closed")
    return github


@pytest.fixture
def run(command: Command, keyword_bundle: Path, tmp_path: Path, double: GitHub) -> Backfill:
    """`distriage backfill` with the toy model on a database of the test's own."""
    double.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: true}\n"
    database = new_sqlite(tmp_path / "a.db")
    return lambda *options: command("backfill", REPOSITORY, "--database", database, "--model", keyword_bundle, *options)


def labels(double: GitHub) -> list[list[str]]:
    return [double.labels(f"{REPOSITORY}#{number}") for number in range(1, 7)]


def test_open_issues_are_labelled_as_the_bot_would(double: GitHub, run: Backfill) -> None:
    done = run()
    assert done.code == 0 and done.err == ""
    assert labels(double) == [["symptom: hang"], ["symptom: oom"], [], ["symptom: hang"], [], []]
    assert done.out.splitlines() == [
        "#1  symptom: hang",
        "#2  symptom: oom",
        "#4  symptom: hang",
        "toy: 3 issues changed, 1 left alone; 0 were done before, 0 failed",
        "     2  symptom: hang",
        "     1  symptom: oom",
    ]


def test_pages_are_walked_by_cursor_and_each_issue_is_read_once(double: GitHub, run: Backfill) -> None:
    double.page_items = 2
    assert run().code == 0
    assert labels(double)[3] == ["symptom: hang"]
    assert sum(request.path == f"/repos/{REPOSITORY}/issues/1" for request in double.requests) == 1
    assert [request.path for request in double.requests if "after=" in request.path] != []


def test_a_dry_run_writes_nothing_and_the_run_after_it_does_everything(double: GitHub, run: Backfill) -> None:
    done = run("--dry-run")
    assert double.written == [] and "3 issues would be changed, 1 left alone" in done.out
    assert "4 were done before" in run("--dry-run").out
    assert "3 issues changed" in run().out
    assert labels(double)[0] == ["symptom: hang"]


def test_a_dry_run_is_a_table_to_review_with_an_estimate(double: GitHub, run: Backfill, tmp_path: Path) -> None:
    double.open(f"{REPOSITORY}#7", '=HYPERLINK("x") hangs <b>\u202e', "It hangs")
    page, table = tmp_path / "review.html", tmp_path / "review.csv"
    for _ in range(2):  # the second run reads no issue anew, and shows the same
        done = run("--dry-run", "--html", page, "--csv", table)
        assert done.code == 0 and double.written == []
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        assert [(row["number"], row["change"]) for row in rows] == [
            ("1", "symptom: hang"),
            ("2", "symptom: oom"),
            ("4", "symptom: hang"),
            ("7", "symptom: hang"),
        ]
        assert all(0.5 < float(row["probability"]) <= 1 for row in rows) and rows[3]["title"].startswith("'=HYPERLINK")
        assert rows[0]["url"] == f"https://github.com/{REPOSITORY}/issues/1"
        shown = page.read_text(encoding="utf-8")
        assert shown.count("symptom: hang") == 3 and "hangs &lt;b&gt;" in shown and "<script" not in shown
        assert "\u202e" not in shown  # it would turn round what follows
    assert "for 5,000" in run("--dry-run", "--again").out
    assert_one_line(run("--html", page), "--config, --html and --csv belong to a dry run; expected --dry-run")
    assert "cannot be written: Is a directory" in run("--dry-run", "--csv", tmp_path).err


def test_the_estimate_knows_how_many_calls_github_answers_in_an_hour() -> None:
    said = estimate(BackfillResult(changed=3, nothing=297, writes=3), 10.0, 638)
    assert said == (
        "For real: about 641 API calls, 1 min for these 300 issues; at this rate 10,683 calls, 2.1 hours for 5,000."
    )


def test_a_dry_run_tries_a_configuration_that_is_not_committed(double: GitHub, run: Backfill, tmp_path: Path) -> None:
    committed, tried = run("--dry-run", "--again").out, tmp_path / "tried.yml"
    tried.write_text("axes: {symptom: {labels: {oom: Tried}}, kind: false}\n", encoding="utf-8")
    said = run("--dry-run", "--again", "--config", tried).out
    assert "Tried" in said and "Tried" not in committed and double.written == []
    assert_one_line(run("--config", tried), "--config, --html and --csv belong to a dry run; expected --dry-run")


def test_a_label_that_is_missing_and_not_created_is_named(double: GitHub, run: Backfill) -> None:
    text = "create-labels: false\naxes: {symptom: {labels: {hang: stuck}}}\n"
    double.files[f"{REPOSITORY}/.github/distriage.yml"] = text
    assert run().out.startswith("warning: the repository has no label 'stuck', and `create-labels` is off")


def test_the_configuration_s_dry_run_holds(double: GitHub, run: Backfill) -> None:
    double.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: true}\ndry-run: true\n"
    done = run()
    assert done.code == 0 and double.written == [] and "3 issues would be changed" in done.out


def test_since_and_state(double: GitHub, run: Backfill) -> None:
    run("--since", "2024-04-05")
    assert labels(double) == [[], [], [], ["symptom: hang"], [], []]
    run("--state", "all")
    assert labels(double)[5] == ["symptom: hang"] and labels(double)[4] == []


def test_an_interrupted_run_says_what_it_did_and_goes_on_where_it_stopped(
    double: GitHub, run: Backfill, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = triage.execute

    def interrupt(plan: Plan, client: Client) -> Execution:
        if plan.issue.number == 2:
            raise KeyboardInterrupt
        return execute(plan, client)

    with monkeypatch.context() as patch:
        patch.setattr(triage, "execute", interrupt)
        stopped = run()
    assert stopped.code == 130 and "1 issue changed" in stopped.out
    assert labels(double) == [["symptom: hang"], [], [], [], [], []]
    before = len(double.requests)
    done = run()
    assert "2 issues changed, 1 left alone; 1 were done before" in done.out
    assert not any(request.path == f"/repos/{REPOSITORY}/issues/1" for request in double.requests[before:])
    assert labels(double)[:4] == [["symptom: hang"], ["symptom: oom"], [], ["symptom: hang"]]


def test_an_edited_report_and_again_are_read_anew(double: GitHub, run: Backfill) -> None:
    run()
    double.issues[f"{REPOSITORY}#3"].update(title=HANG, body=HANG, updated_at="2024-06-01T10:00:00Z")
    assert "1 issue changed, 0 left alone; 3 were done before" in run().out
    assert "0 issues changed, 4 left alone; 0 were done before" in run("--again").out


@pytest.mark.parametrize("other", ["--past", "--comments"])
def test_taking_off_goes_with_nothing_else(run: Backfill, other: str) -> None:
    assert_one_line(run("--take-off", other), "--take-off")


def test_comments_need_to_be_asked_for(double: GitHub, run: Backfill) -> None:
    double.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: true}\ncomment: true\n"
    run()
    assert double.comments(f"{REPOSITORY}#1") == []
    run("--comments", "--again")
    assert len(double.comments(f"{REPOSITORY}#1")) == 1


def test_a_label_that_a_person_took_off_stays_off(double: GitHub, run: Backfill) -> None:
    double.label(f"{REPOSITORY}#1", "symptom: hang", PERSON)
    double.unlabel(f"{REPOSITORY}#1", "symptom: hang", PERSON)
    run()
    assert labels(double)[0] == []


def test_a_token_that_may_not_write_ends_the_run(double: GitHub, run: Backfill) -> None:
    for number in range(10, 17):
        double.open(f"{REPOSITORY}#{number}", HANG, HANG)
    double.define(REPOSITORY, "symptom: hang", "symptom: oom")
    double.troubles.append(Trouble("POST .*/labels", faults.integration(), times=100))
    done = run()
    assert done.code == 2 and "5 issues in a row failed" in done.err
    assert done.out.count("failed: #") == 5


def test_an_issue_whose_labels_were_refused_is_not_done(double: GitHub, run: Backfill) -> None:
    double.define(REPOSITORY, "symptom: hang", "symptom: oom")
    double.troubles.append(Trouble("POST .*/issues/1/labels", faults.integration()))
    assert "2 issues changed, 1 left alone; 0 were done before, 1 failed" in run().out
    assert "1 issue changed, 0 left alone; 3 were done before, 0 failed" in run().out
    assert labels(double)[0] == ["symptom: hang"]


def test_issue_types_that_cannot_be_set_do_not_end_the_run(double: GitHub, run: Backfill) -> None:
    double.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: {labels: {hang: {type: Bug}}}}\n"
    double.issue_types.clear()
    for number in range(10, 16):
        double.open(f"{REPOSITORY}#{number}", HANG, HANG)
    done = run()
    assert done.code == 0 and "9 issues changed, 1 left alone; 0 were done before, 8 failed" in done.out


def test_a_dry_run_shows_the_plan_of_now_and_nothing_that_is_done(
    double: GitHub, run: Backfill, tmp_path: Path
) -> None:
    table = tmp_path / "review.csv"

    def proposed(*options: str) -> list[str]:
        run("--dry-run", "--csv", table, *options)
        return [row["change"] for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())]

    assert proposed() == ["symptom: hang", "symptom: oom", "symptom: hang"]
    double.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: {labels: {hang: stuck}}}\n"
    for _ in range(2):  # without --again, as the run after it needs none
        assert proposed() == ["stuck", "symptom: oom", "stuck"]
    run()
    assert labels(double)[0] == ["stuck"] and proposed() == []


def test_an_issue_that_vanishes_is_left_out(double: GitHub, run: Backfill) -> None:
    double.troubles.append(Trouble(f"GET /repos/{REPOSITORY}/issues/1$", faults.status(410)))
    done = run()
    assert done.code == 0 and "2 issues changed, 2 left alone" in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--since", "May"), "--since 'May': expected a day such as 2026-01-31"),
        (("--state", "new"), "--state 'new': expected one of open, closed, all"),
        (("--database", "mysql://x"), "mysql is not supported"),
    ],
)
def test_bad_options_end_in_one_line(run: Backfill, options: tuple[str, ...], message: str) -> None:
    done = run(*options)
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_a_wrong_token_is_one_line_and_no_report_of_nothing(run: Backfill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_wrong")
    done = run()
    assert_one_line(done, "GitHub refused (401): Bad credentials")
    assert done.out == ""


def test_a_token_is_needed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    assert_one_line(command("backfill", "owner"), "'owner': expected owner/repo")
    done = command("backfill", REPOSITORY)
    assert done.code == 2 and "GITHUB_TOKEN is not set" in done.err


def test_writes_keep_below_the_limits(tmp_path: Path) -> None:
    clock = Clock()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.now += seconds

    with Store.open(new_sqlite(tmp_path / "pace.db"), clock) as store:
        before_write = paced(store, sleep)
        for _ in range(200):
            before_write()
            clock.now += 0.01
    assert len(waits) == 2 and all(55 < seconds <= 60 for seconds in waits)


def test_what_was_done_without_own_labels_is_done_again_with_them(run: Backfill, own_labels: Path) -> None:
    run()
    assert "0 issues changed, 0 left alone; 4 were done before" in run().out
    assert "0 were done before" in run("--own", own_labels).out
    assert "4 were done before" in run("--own", own_labels).out


def test_own_labels_of_another_repository_are_refused(
    double: GitHub, run: Backfill, own_labels: Path, tmp_path: Path
) -> None:
    manifest = (own_labels / "own.json").read_text()
    other = Path(shutil.copytree(own_labels, tmp_path / "own"))
    (other / "own.json").write_text(manifest.replace('"owner/repo"', '"owner/old"'))
    assert_one_line(run("--own", other), "learned from owner/old; expected those of Owner/Repo")
    double.renamed["owner/old"] = REPOSITORY
    assert run("--own", other).code == 0


def test_model_and_own_labels_are_those_of_the_settings(
    double: GitHub,
    command: Command,
    keyword_bundle: Path,
    own_labels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = Path(shutil.copytree(own_labels, tmp_path / "own" / "acme" / "other"))
    (other / "own.json").write_text((own_labels / "own.json").read_text().replace('"owner/repo"', '"acme/other"'))
    double.files[f"{REPOSITORY}/.github/distriage.yml"] = "axes: {symptom: true}\n"
    for name, value in (
        ("DATABASE", new_sqlite(tmp_path / "a.db")),
        ("MODEL", str(keyword_bundle)),
        ("OWN", str(tmp_path / "own")),
    ):
        monkeypatch.setenv(f"DISTRIAGE_{name}", value)
    assert command("backfill", REPOSITORY).out.count("toy: 3 issues changed") == 1
    assert "4 were done before" in command("backfill", REPOSITORY).out, "it has no own labels"
    shutil.copytree(own_labels, tmp_path / "own" / "owner" / "repo")
    assert "0 were done before" in command("backfill", REPOSITORY).out
    assert "4 were done before" in command("backfill", REPOSITORY, "--own", own_labels).out
    assert "toy: 5 past issues" in command("backfill", REPOSITORY, "--past").out


# ---------------------------------------------------------------- past issues


def past(tmp_path: Path) -> dict[int, tuple[str, str]]:
    with Store.open(f"sqlite:///{tmp_path / 'a.db'}") as store:
        return {
            row.number: (row.state, row.title) for row in store.past_rows(REPOSITORY, 0) if row.fingerprint is not None
        }


def test_past_keeps_all_issues_once_and_writes_nothing(double: GitHub, run: Backfill, tmp_path: Path) -> None:
    double.page_items = 2
    done = run("--past")
    assert (done.code, double.written) == (0, [])
    assert done.out == "Owner/Repo, toy: 5 past issues kept, 5 of them read now\n"
    assert past(tmp_path)[6] == ("closed", HANG) and sorted(past(tmp_path)) == [1, 2, 3, 4, 6]
    double.issues[f"{REPOSITORY}#1"].update(state="closed", updated_at="2025-01-01T00:00:00Z")
    double.issues[f"{REPOSITORY}#2"].update(title="Another title", updated_at="2025-01-01T00:00:00Z")
    third = double.issues.pop(f"{REPOSITORY}#3")
    assert run("--past").out == "Owner/Repo, toy: 4 past issues kept, 1 of them read now\n"
    assert sorted(past(tmp_path)) == [1, 2, 4, 6]
    double.issues[f"{REPOSITORY}#3"] = third  # it was missed while pages shifted
    assert run("--past").out == "Owner/Repo, toy: 5 past issues kept, 1 of them read now\n"
    assert sorted(past(tmp_path)) == [1, 2, 3, 4, 6]
    assert past(tmp_path)[1][0] == "closed" and past(tmp_path)[2][1] == "Another title"
    assert_one_line(run("--past", "--dry-run"), "--past keeps all issues and writes nothing to GitHub")


def test_past_says_that_another_models_readings_go(run: Backfill, tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'a.db'}") as store:
        store.begin_past(REPOSITORY, "minilm-v0")
    assert "toy replaces what minilm-v0 read" in run("--past").err
    assert run("--past").err == "5 issues, 0 of them read\n"
