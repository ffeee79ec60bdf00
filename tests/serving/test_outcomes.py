# ruff: noqa: F401, F811  # fixtures
"""Nothing is shown as done that GitHub refused, and nothing is done that was not shown before."""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import App
from distriage_serving.github.executor import execute
from distriage_serving.github.issue import read_issue
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.store import MAX_ATTEMPTS, Act, IssueFilter, close_job, triage_job

from support import faults
from support.action import Act as RunAction
from support.action import act, runner
from support.app_key import APP_ID, app_key
from support.bot import BODY, CONFIG, HANG, ISSUE, OOM, TITLE, Bot, bot, github, make, store
from support.command_line import Command, Finished
from support.databases import new_sqlite
from support.execution import WANTED, planned
from support.faults import Fault, Trouble
from support.github import PERSON, GitHub
from support.queue_server import Queue, csrf, log_in, queue, visitor

REPOSITORY = "owner/repo"
TYPED = "axes: {symptom: {labels: {hang: {enabled: false, type: Bug}}}}\n"
REFERENCE = IssueReference("owner/repo", 1)
UNKNOWN_REASON = faults.message("Invalid request: duplicate is not a member of completed, not_planned, reopened", 422)
ARCHIVED = faults.message("Repository was archived so is read-only.", 403)


# ---------------------------------------------------------------- all that a plan holds is counted and shown


@pytest.fixture
def double(github: GitHub) -> GitHub:
    """A GitHub that knows a person's token too."""
    github.tokens[github.token] = float("inf")
    return github


Backfill = Callable[..., Finished]


@pytest.fixture
def backfill(
    command: Command, keyword_bundle: Path, tmp_path: Path, double: GitHub, monkeypatch: pytest.MonkeyPatch
) -> Backfill:
    monkeypatch.setenv("GITHUB_TOKEN", double.token)
    monkeypatch.setenv("GITHUB_API_URL", double.url)
    database = new_sqlite(tmp_path / "a.db")
    return lambda *options: command("backfill", REPOSITORY, "--database", database, "--model", keyword_bundle, *options)


@pytest.mark.parametrize(
    ("text", "options", "change", "written"),
    [
        (TYPED, (), "issue type: Bug", "PATCH"),
        (CONFIG.replace("true", "{labels: {hang: false}}") + "comment: true\n", ("--comments",), "comment", "POST"),
    ],
)
def test_a_dry_run_lists_what_the_run_after_it_writes(
    double: GitHub, backfill: Backfill, tmp_path: Path, text: str, options: tuple[str, ...], change: str, written: str
) -> None:
    double.files["owner/repo/.github/distriage.yml"] = text
    table, page = tmp_path / "a.csv", tmp_path / "a.html"
    would = backfill("--dry-run", "--csv", table, "--html", page, *options).out
    assert double.written == [] and f"#1  {change}\ntoy: 1 issue would be changed, 0 left alone" in would
    assert [row["change"] for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())] == [change]
    assert f"<td>{change}</td>" in page.read_text(encoding="utf-8")
    done = backfill(*options).out
    assert [write.method for write in double.written] == [written]
    assert f"1 issue changed, 0 left alone; 0 were done before, 0 failed\n     1  {change}\n" in done


@pytest.mark.usefixtures("runner")
def test_the_actions_notice_counts_all_that_was_done(
    double: GitHub, act: RunAction, capsys: pytest.CaptureFixture[str]
) -> None:
    double.files["owner/repo/.github/distriage.yml"] = TYPED + "comment: true\n"
    assert act(dry_run="true") == 0
    assert "would be done (dry run): 1 issue type set, 1 comment written; see" in capsys.readouterr().out
    assert act() == 0 and "done: 1 issue type set, 1 comment written; see" in capsys.readouterr().out
    assert double.issues[ISSUE]["type"]["name"] == "Bug"
    assert act() == 0 and "done: nothing; see" in capsys.readouterr().out


def test_the_back_test_counts_types_and_compares_them_with_those_that_people_set(
    double: GitHub, command: Command, keyword_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", double.token)
    monkeypatch.setenv("GITHUB_API_URL", double.url)
    double.files["owner/repo/.github/distriage.yml"] = TYPED
    double.give_type(ISSUE, "Bug", PERSON)
    done = command(
        "backtest",
        REPOSITORY,
        "--model",
        keyword_bundle,
        "--output",
        tmp_path / "a.html",
        "--cache",
        tmp_path / "a.jsonl",
    )
    assert "symptom: labels or types of 1 of 1 issues, right in 100% of 1 (mode balanced)" in done.out


@pytest.mark.parametrize("comment", ["comment: true", "ask-for-environment: true", "name-duplicates: true"])
def test_config_check_names_all_that_may_be_written(command: Command, tmp_path: Path, comment: str) -> None:
    file = tmp_path / "distriage.yml"
    axes = "axes: {kind: {only-listed: true, field: Sort, labels: {bug: {enabled: false, type: Bug}}}}\n"
    file.write_text(f"{axes}needs-triage: look\nsuggestions: all\n{comment}\n", encoding="utf-8")
    assert [line.split("; it mails")[0] for line in command("config", "check", file).out.splitlines()[1:]] == [
        "kind: 0 labels may be set, 0 of them named here; issue types: Bug; issue field: Sort",
        "needs-triage: look, where no axis is sure",
        "comment: one on each issue where there is something to say",
        "suggestions: all is suggested on GitHub, for a person to approve or dismiss",
    ]


# ---------------------------------------------------------------- an act is done once GitHub says so


@pytest.fixture
def site(keyword_classifier: Classifier, tmp_path: Path) -> Iterator[Queue]:
    with queue(keyword_classifier, tmp_path) as opened:
        opened.add(1, "hangs")
        yield opened


def work(site: Queue, double: GitHub, classifier: Classifier, within_s: float = 60.0) -> None:
    """What the bot has to do within this time."""
    double.installations.add(7)
    site.store.clock = lambda: time.time() + within_s
    app, timing = App(APP_ID, app_key(), double.url), Timing(debounce_s=0, retry_s=0.1)
    worker = Worker(site.store, app, LocalJudge(classifier), threading.Event(), timing)
    while worker.step():
        pass
    site.store.clock = time.time


@pytest.mark.parametrize(
    ("what", "refusals", "why"),
    [
        ("completed", [ARCHIVED], "the repository is archived ("),
        ("duplicate", [UNKNOWN_REASON, faults.status(422)], "GitHub found it not valid ("),
        ("completed", [faults.status(410)], "the issue was deleted, or issues are switched off ("),
        ("completed", [faults.integration()], "the token lacks the permission"),
        ("completed", [faults.status(301)], "the issue is in another repository now ("),
    ],
)
def test_an_issue_that_github_does_not_close_comes_back_with_githubs_reason(
    site: Queue, double: GitHub, keyword_classifier: Classifier, what: str, refusals: list[faults.Fault], why: str
) -> None:
    double.troubles += [Trouble("PATCH .*/issues/1$", refusal) for refusal in refusals]
    with visitor(site) as person:
        log_in(person)
        sent = {"csrf": csrf(person.get("/queue")), "what": what, "of": "12"}
        assert person.post("/queue/owner/repo/1/act", data=sent).status_code == 303
        assert "/queue/owner/repo/1?" not in (listed := person.get("/queue").text) and "To be closed as" in listed
        page = person.get("/queue/owner/repo/1").text
        assert "GitHub has not answered yet" in page and "closed on GitHub" not in page
        assert person.post("/queue/owner/repo/1/act", data=sent).status_code == 409
        work(site, double, keyword_classifier)
        assert double.issues[ISSUE]["state"] == "open"
        assert double.comments(ISSUE) == [] == double.labels(ISSUE)  # nothing says that it is closed
        listed = person.get("/queue").text
        assert "refused by GitHub" in listed and 'Refused <span class="count">1</span>' in listed
        assert 'data-count="1"' in person.get("/queue?status=refused").text
        page = person.get("/queue/owner/repo/1").text
        assert why in page and "Not closed as" in page
        double.troubles.clear()
        assert person.post("/queue/owner/repo/1/act", data=sent).status_code == 303
        work(site, double, keyword_classifier)
        assert double.issues[ISSUE]["state"] == "closed"
        assert "Refused <span" not in person.get("/queue").text
        page = person.get("/queue/owner/repo/1").text
        assert "Closed as" in page and "closed on GitHub" in page and "Not closed as" in page
        person.post("/queue/undo", data={"csrf": sent["csrf"]})
        work(site, double, keyword_classifier)
        assert double.issues[ISSUE]["state"] == "open"  # what was refused before is not done now


def test_where_the_reason_duplicate_is_unknown_it_is_closed_as_not_planned(
    site: Queue, double: GitHub, keyword_classifier: Classifier
) -> None:
    double.troubles.append(Trouble("PATCH .*/issues/1$", UNKNOWN_REASON))
    site.store.add_act(
        Act(repository="owner/repo", number=1, what="duplicate", who="mara", at=time.time(), duplicate_of=12)
    )
    site.store.put_job(close_job(REFERENCE, 7))
    work(site, double, keyword_classifier)
    issue = double.issues[ISSUE]
    assert (issue["state"], issue["state_reason"], double.labels(ISSUE)) == ("closed", "not_planned", ["duplicate"])
    (done,) = site.store.acts(REFERENCE)
    assert done.carried_out and done.refused is None


def test_an_act_for_which_github_is_away_too_long_is_given_back(
    site: Queue, double: GitHub, keyword_classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "pause", lambda *_: True)
    double.troubles.append(Trouble("PATCH .*/issues/1$", faults.server_error(502), times=99))
    site.store.add_act(Act(repository="owner/repo", number=1, what="completed", who="mara", at=time.time()))
    site.store.put_job(close_job(REFERENCE, 7))
    for attempt in range(MAX_ATTEMPTS):
        work(site, double, keyword_classifier, 60 + 7200 * attempt)
    (given_back,) = site.store.acts(REFERENCE)
    assert not given_back.carried_out and "GitHub fails (502)" in str(given_back.refused)


def test_undo_of_what_github_does_not_open_again_says_so(
    site: Queue, double: GitHub, keyword_classifier: Classifier
) -> None:
    with visitor(site) as person:
        log_in(person)
        token = csrf(person.get("/queue"))
        person.post("/queue/owner/repo/1/act", data={"csrf": token, "what": "completed"})
        work(site, double, keyword_classifier)
        person.post("/queue/undo", data={"csrf": token})
        page = person.get("/queue/owner/repo/1").text
        assert "closed on GitHub" in page and "undone here, but not on GitHub: GitHub has not answered yet" in page
        double.troubles.append(Trouble("PATCH .*/issues/1$", ARCHIVED))
        work(site, double, keyword_classifier)
        assert "undone here, but not on GitHub: the repository is archived" in person.get("/queue/owner/repo/1").text


def test_after_a_refused_new_label_the_old_one_stays_and_the_queue_says_why(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.define("owner/repo", OOM)
    bot.github.troubles.append(Trouble("POST .*/issues/1/labels", faults.status(422)))
    bot.say("/triage wrong symptom oom")
    assert bot.github.labels(ISSUE) == [HANG]
    said = bot.store.latest_verdict("owner/repo", 1)
    assert said is not None and "could not be added" in said.plan["refused"][0]
    refused = IssueFilter(status=None, refused=True)
    assert bot.store.count_issues(refused) == 1
    bot.say("/triage")
    assert bot.github.labels(ISSUE) == [OOM]
    said = bot.store.latest_verdict("owner/repo", 1)
    assert said is not None and said.plan["refused"] == [] and bot.stored().labels == [OOM]
    assert bot.store.count_issues(refused) == 0


def test_needs_triage_stays_where_the_label_that_ends_the_need_is_refused(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = CONFIG + "needs-triage: true\n"
    bot.github.issues[ISSUE] |= {"title": "It", "body": "something"}
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == ["needs-triage"]
    bot.github.issues[ISSUE] |= {"title": TITLE, "body": BODY}
    bot.github.define("owner/repo", HANG)
    bot.github.troubles.append(Trouble("POST .*/issues/1/labels", faults.status(422)))
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == ["needs-triage"]
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [HANG]


def test_the_queue_shows_types_and_what_a_dry_run_holds_back(
    site: Queue, double: GitHub, keyword_classifier: Classifier
) -> None:
    double.files["owner/repo/.github/distriage.yml"] = TYPED + "dry-run: true\n"
    site.store.put_job(triage_job(REFERENCE, 7))
    work(site, double, keyword_classifier)
    with visitor(site) as person:
        log_in(person)
        assert "Planned, not written to GitHub: issue type: Bug" in person.get("/queue/owner/repo/1").text
        double.files["owner/repo/.github/distriage.yml"] = TYPED
        site.store.put_job(triage_job(REFERENCE, 7))
        work(site, double, keyword_classifier)
        page = person.get("/queue/owner/repo/1").text
        assert "<li>Type: <bdi>Bug</bdi></li>" in page and "Planned" not in page


# ---------------------------------------------------------------- a label is known by its id


def delete(bot: Bot, label: str) -> None:
    bot.github.delete_label("owner/repo", label, PERSON)
    bot.issue("unlabeled", PERSON)


def test_a_label_deleted_from_the_repository_is_nobodys_judgement(bot: Bot) -> None:
    bot.issue("opened")
    delete(bot, HANG)
    assert bot.reviews() == [] and bot.github.labels(ISSUE) == []
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [] and HANG not in bot.github.repository_labels["owner/repo"]
    bot.github.define("owner/repo", HANG)
    bot.issue("edited")
    assert bot.reviews() == [] and bot.github.labels(ISSUE) == [HANG]


def test_a_label_that_a_person_took_off_before_it_was_deleted_stays_off(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, PERSON)
    bot.issue("unlabeled", PERSON)
    delete(bot, HANG)
    bot.github.define("owner/repo", HANG)
    bot.issue("edited")
    assert bot.reviews() == [("unlabel", None, "maintainer", "hang")] and bot.github.labels(ISSUE) == []


def rename_everywhere(bot: Bot) -> None:
    """As docs/configuration.md asks for."""
    bot.github.rename_label("owner/repo", "C-hang", "failure: hang")
    bot.github.files["owner/repo/.github/distriage.yml"] = CONFIG.replace("true", "{labels: {hang: 'failure: hang'}}")


def test_a_label_renamed_on_github_and_in_the_file_is_still_ours(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = CONFIG.replace("true", "{labels: {hang: C-hang}}")
    bot.issue("opened")
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == ["C-hang"]
    rename_everywhere(bot)
    bot.say("/triage wrong symptom oom")
    assert bot.github.labels(ISSUE) == [OOM]


def test_a_label_taken_off_stays_off_under_its_new_name_too(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = CONFIG.replace("true", "{labels: {hang: C-hang}}")
    bot.issue("opened")
    bot.github.unlabel(ISSUE, "C-hang", PERSON)
    bot.issue("unlabeled", PERSON)
    rename_everywhere(bot)
    bot.say("/triage")
    assert bot.github.labels(ISSUE) == []


# ---------------------------------------------------------------- the comment, and the labels that fit


@pytest.fixture
def client(double: GitHub) -> Client:
    return Client(double.token, double.url)


NAMED = "comment: 'I have set {{ labels }}.'\n"


def test_the_comment_names_the_labels_that_are_on_the_issue(double: GitHub, client: Client) -> None:
    double.define("owner/repo", *WANTED)
    double.troubles += [
        Trouble("POST .*/issues/1/labels", faults.status(422)),
        Trouble("POST .*/issues/1/labels", faults.status(422)),
    ]
    done = execute(planned(client, NAMED), client)
    assert done.labels_added == double.labels(ISSUE) == WANTED[1:]
    assert [text.splitlines()[1] for text in double.comments(ISSUE)] == [f"I have set `{WANTED[1]}`."]


def test_no_comment_is_written_where_no_label_was_set_that_it_could_name(double: GitHub, client: Client) -> None:
    double.troubles.append(Trouble("POST .*/labels", faults.integration(), times=9))
    assert execute(planned(client, NAMED), client).changes == () and double.comments(ISSUE) == []


@pytest.mark.parametrize("fault", [faults.integration(), faults.status(404)])
def test_a_token_that_may_not_create_labels_names_only_the_one_that_was_there(
    double: GitHub, client: Client, fault: Fault
) -> None:
    double.define("owner/repo", WANTED[1])
    double.troubles.append(Trouble("POST /repos/owner/repo/labels", fault))
    done = execute(planned(client, NAMED), client)
    assert done.labels_added == [WANTED[1]] and f"`{WANTED[1]}`" in double.comments(ISSUE)[0]
    assert WANTED[0] not in double.comments(ISSUE)[0]
    (warning,) = done.warnings
    assert f"{WANTED[0]!r} could not be created: the token lacks the permission `issues: write`, or " in warning


def test_of_two_labels_the_one_that_fits_is_added_and_no_other_is_created(double: GitHub, client: Client) -> None:
    double.define("owner/repo", *(f"l{number}" for number in range(99)))
    labels = [double.repository_labels["owner/repo"][f"l{number}"] for number in range(99)]
    double.issues[ISSUE]["labels"] = labels
    plan = planned(client, NAMED)
    assert plan.labels == (WANTED[0],) and any("100 labels" in item.why for item in plan.left_out)
    execute(plan, client)
    assert len(double.labels(ISSUE)) == 100 and WANTED[0] in double.labels(ISSUE)
    assert WANTED[1] not in double.repository_labels["owner/repo"]
    assert f"I have set `{WANTED[0]}`." in double.comments(ISSUE)[0]


# ---------------------------------------------------------------- smaller rules


def test_labels_may_be_texts(double: GitHub, client: Client) -> None:
    double.issues[ISSUE]["labels"] = ["bug"]
    assert read_issue(client, REFERENCE).state.labels == {"bug"}


def test_a_repository_may_have_more_than_5000_labels(double: GitHub, client: Client) -> None:
    double.define("owner/repo", *(f"label {number}" for number in range(5_100)))
    assert len(read_issue(client, REFERENCE).labels_there) == 5_100


def test_a_run_for_which_everything_was_refused_has_exit_code_2(double: GitHub, backfill: Backfill) -> None:
    double.troubles.append(Trouble("POST .*/labels", ARCHIVED, times=9))
    done = backfill()
    assert done.code == 2 and "0 issues changed, 0 left alone; 0 were done before, 1 failed" in done.out
    assert "archived" in done.out
