# ruff: noqa: F401, F811  # fixtures
from __future__ import annotations

from typing import Any

import pytest

from distriage.references import IssueReference
from distriage_serving.bot import worker as worker_module
from distriage_serving.logs import JsonFormatter
from distriage_serving.store import Delivery, Job, Review, pace, triage_job

from support import faults
from support.bot import (
    BODY,
    COMMENTED,
    CONFIG,
    HANG,
    ISSUE,
    LEAK,
    OOM,
    OTHER_BOT,
    STRANGER,
    TITLE,
    Bot,
    Make,
    bot,
    github,
    make,
    store,
)
from support.faults import Fault, Trouble
from support.github import INSTALLATION, PERSON

# ---------------------------------------------------------------- labels and comment


def test_a_new_issue_is_labelled_and_what_was_said_is_kept(bot: Bot) -> None:
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG]
    kept = bot.store.get_issue("owner/repo", 1)
    said = bot.store.latest_verdict("owner/repo", 1)
    assert kept is not None and (kept.title, kept.body, kept.state) == (TITLE, BODY, "open")
    assert (
        said is not None
        and said.verdict.axes["symptom"].label == "hang"
        and said.plan["labels"] == [HANG]
        and said.carried_out_at is not None
    )
    assert bot.store.counts()["deliveries"]["done"] == 1
    repository = bot.store.get_repository("owner/repo")
    assert (
        repository is not None
        and repository.installation_id == INSTALLATION
        and repository.config == {"axes": {"symptom": {"enabled": True}}}
    )


def test_there_is_one_comment_that_is_edited_later(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED
    bot.issue("opened")
    (first,) = bot.github.comments(ISSUE)
    assert "`hang`" in first
    bot.github.issues[ISSUE]["body"] = "segfault segfault segfault timeout"
    bot.github.issues[ISSUE]["title"] = "A segfault"
    bot.issue("edited")
    (second,) = bot.github.comments(ISSUE)
    assert "`crash`" in second and "`hang`" not in second
    bot.issue("reopened")
    assert bot.github.comments(ISSUE) == [second]
    assert [method for method, path in bot.writes() if "/comments" in path] == ["POST", "PATCH"]


def test_edits_are_looked_at_once_when_they_are_over(bot: Bot) -> None:
    for _ in range(5):
        bot.deliver("issues", bot.github.payload("edited", ISSUE))
        while bot.worker.step():
            pass
        bot.clock.now += 20
    assert bot.github.labels(ISSUE) == []
    bot.settle(10.5)
    assert bot.github.labels(ISSUE) == [HANG]
    assert len([job for job in bot.store.list_work(Job) if job.kind == "triage"]) == 1


@pytest.mark.parametrize("who", ["sender", "author"])
def test_bots_are_ignored(bot: Bot, who: str) -> None:
    if who == "author":
        bot.github.issues[ISSUE]["user"] = OTHER_BOT
    bot.issue("opened", OTHER_BOT if who == "sender" else PERSON)
    assert bot.writes() == [] and bot.store.list_work(Job) == []
    assert [delivery.state for delivery in bot.store.list_work(Delivery)] == ["ignored"]


def test_a_dry_run_writes_nothing(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED + "dry-run: true\n"
    bot.issue("opened")
    said = bot.store.latest_verdict("owner/repo", 1)
    assert bot.writes() == [] and said is not None and said.plan["dry_run"] and said.carried_out_at is None


# ---------------------------------------------------------------- what people do


def test_a_label_that_a_person_took_off_is_never_set_again_and_is_a_verdict(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, PERSON)
    for action in ("unlabeled", "edited", "reopened"):
        bot.issue(action)
        assert bot.github.labels(ISSUE) == []
    assert bot.reviews() == [("unlabel", None, "maintainer", "hang")]
    kept = bot.store.get_issue("owner/repo", 1)
    assert kept is not None and kept.status == "dismissed"


def test_a_label_that_a_person_set_is_kept_and_is_a_verdict(bot: Bot) -> None:
    bot.github.label(ISSUE, OOM, PERSON)
    bot.issue("opened")
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [OOM]
    assert bot.reviews() == [("label", "oom", "maintainer", "hang")]


def test_a_person_s_label_in_place_of_ours_makes_two_verdicts_and_a_change_of_mind_undoes_them(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.unlabel(ISSUE, HANG, PERSON)
    bot.github.label(ISSUE, OOM, PERSON)
    bot.issue("labeled")
    assert bot.reviews() == [("unlabel", None, "maintainer", "hang"), ("label", "oom", "maintainer", "hang")]
    bot.github.unlabel(ISSUE, OOM, PERSON)
    bot.github.label(ISSUE, HANG, PERSON)
    bot.issue("labeled")
    assert bot.reviews() == [("label", "hang", "maintainer", "hang")]
    assert bot.github.labels(ISSUE) == [HANG]


def test_labels_of_other_bots_and_of_an_issue_form_are_nobody_s_verdict(bot: Bot) -> None:
    bot.github.issues[ISSUE]["created_at"] = "2024-05-01T10:01:41Z"  # the double's first event is of this second
    bot.github.label(ISSUE, OOM, bot.github.issues[ISSUE]["user"])
    bot.github.label(ISSUE, "bug", PERSON)
    bot.github.label(ISSUE, LEAK, OTHER_BOT)
    bot.github.unlabel(ISSUE, LEAK, OTHER_BOT)
    bot.issue("opened")
    assert bot.reviews(undone=True) == [] and sorted(bot.github.labels(ISSUE)) == ["bug", OOM]


# ---------------------------------------------------------------- commands


def test_wrong_with_the_right_label_replaces_ours_and_undo_brings_it_back(bot: Bot) -> None:
    bot.issue("opened")
    first = bot.say("Hm.\n/triage wrong symptom=oom")
    assert bot.github.labels(ISSUE) == [OOM]
    assert bot.reviews() == [("command", "oom", "maintainer", "hang")]
    second = bot.say("/triage undo")
    assert bot.github.labels(ISSUE) == [HANG] and bot.reviews() == []
    assert bot.reviews(undone=True) == [("command", "oom", "maintainer", "hang")]
    assert bot.github.reactions == {first["id"]: ["+1"], second["id"]: ["+1"]}
    assert bot.github.comments(ISSUE) == ["Hm.\n/triage wrong symptom=oom", "/triage undo"]


def test_wrong_without_a_label_takes_ours_off_for_good_but_nobody_else_s(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom")
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == []
    bot.github.label(ISSUE, LEAK, PERSON)
    bot.say("/triage wrong")
    assert bot.github.labels(ISSUE) == [LEAK]
    assert ("command", None, "maintainer", "hang") in bot.reviews()


def test_undo_takes_back_one_decision_at_a_time(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom=oom fix=patch")
    bot.say("/triage wrong symptom=leak")
    bot.say("/triage undo")
    assert bot.github.labels(ISSUE) == [OOM]
    assert {verdict.axis for verdict in bot.store.reviews(issue=IssueReference("owner/repo", 1))} == {"symptom", "fix"}
    bot.say("/triage undo")
    assert bot.github.labels(ISSUE) == [HANG] and bot.reviews() == []
    third = bot.say("/triage undo")
    assert bot.github.reactions[third["id"]] == ["confused"]


@pytest.mark.parametrize(
    ("role", "may"),
    [("triage", True), ("write", True), ("maintain", True), ("admin", True), ("read", False), (None, False)],
)
def test_only_people_who_may_label_issues_can_command(bot: Bot, role: str | None, may: bool) -> None:
    bot.issue("opened")
    if role is not None:
        bot.github.roles["stranger"] = role
    bot.say("/triage wrong symptom=oom", STRANGER)
    assert bot.github.labels(ISSUE) == ([OOM] if may else [HANG])
    assert bool(bot.github.reactions) == may and bool(bot.reviews()) == may


def test_triage_looks_again(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = "axes: {fix: true}\n"
    bot.issue("opened")
    bot.github.files["owner/repo/.github/distriage.yml"] = CONFIG
    bot.say("/triage")
    assert sorted(bot.github.labels(ISSUE)) == ["fix: tuning", HANG]


def test_a_command_counts_on_a_locked_issue_too(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.troubles.append(Trouble(r"^POST .*/reactions$", faults.locked()))
    bot.say("/triage wrong symptom=oom")
    assert bot.github.labels(ISSUE) == [OOM]


def test_a_decision_in_the_queue_is_written_back_and_taken_back(bot: Bot) -> None:
    bot.issue("opened")
    decided = Review(
        repository="owner/repo", number=1, axis="symptom", label="leak", who="queue-user", how="queue", at=bot.clock()
    )
    (verdict_id,) = bot.store.add_reviews(decided)
    bot.store.put_job(triage_job(IssueReference("owner/repo", 1), INSTALLATION))
    bot.settle()
    assert bot.github.labels(ISSUE) == [LEAK]
    bot.store.undo_reviews(verdict_id)
    bot.store.put_job(triage_job(IssueReference("owner/repo", 1), INSTALLATION))
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG]


def test_what_a_person_does_by_hand_after_a_command_holds(bot: Bot) -> None:
    bot.issue("opened")
    bot.say("/triage wrong symptom=oom")
    bot.github.unlabel(ISSUE, OOM, PERSON)
    bot.issue("unlabeled")
    assert bot.github.labels(ISSUE) == []


# ---------------------------------------------------------------- issues that go away


@pytest.mark.parametrize(("how", "state"), [("gone", "deleted"), ("moved", "transferred"), ("absent", "deleted")])
def test_an_issue_that_went_away_before_it_was_read_is_left_alone(bot: Bot, how: str, state: str) -> None:
    bot.issue("opened")
    bot.github.written.clear()
    bot.deliver("issues", bot.github.payload("reopened", ISSUE))
    if how == "gone":
        bot.github.gone.add(ISSUE)
    elif how == "moved":
        bot.github.open("owner/elsewhere#7", TITLE, BODY)
        bot.github.moved[ISSUE] = "owner/elsewhere#7"
    else:
        del bot.github.issues[ISSUE]
    bot.settle()
    kept = bot.store.get_issue("owner/repo", 1)
    assert bot.writes() == [] and bot.job().state == "ignored" and kept is not None and kept.state == state


@pytest.mark.parametrize("status", [404, 410])
def test_an_issue_that_goes_away_while_it_is_labelled_ends_quietly(bot: Bot, status: int) -> None:
    bot.github.troubles.append(Trouble(r"^POST .*/issues/1/labels$", faults.status(status)))
    bot.issue("opened")
    assert bot.job().state == "done" and "deleted" in str(bot.job().last_error)


def test_a_locked_issue_is_labelled_without_a_comment(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED
    bot.github.issues[ISSUE]["locked"] = True
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG] and bot.github.comments(ISSUE) == []


@pytest.mark.parametrize(
    ("action", "state"), [("closed", "closed"), ("deleted", "deleted"), ("transferred", "transferred")]
)
def test_events_of_the_end_of_an_issue_are_noted(bot: Bot, action: str, state: str) -> None:
    bot.issue("opened")
    bot.issue(action)
    kept = bot.store.get_issue("owner/repo", 1)
    assert kept is not None and kept.state == state


# ---------------------------------------------------------------- limits and failures


def test_a_rate_limit_defers_visibly_for_as_long_as_github_says_and_the_whole_installation_waits(bot: Bot) -> None:
    bot.github.open("owner/repo#2", TITLE, BODY)
    bot.github.troubles.append(Trouble(r"^POST .*/labels$", faults.secondary_limit(120)))
    for reference in (ISSUE, "owner/repo#2"):
        bot.deliver("issues", bot.github.payload("opened", reference))
    while bot.worker.step():
        pass
    waiting = bot.store.list_work(Job, "waiting")
    for job in waiting:
        assert job.due_at is not None and job.due_at - bot.clock() > 110 and job.attempts == 0
    assert {job.issue: job.last_error for job in waiting} == {
        1: "GitHub's rate limit is reached; it ends in 120 s",
        2: "GitHub asked this installation to wait",
    }
    assert len([path for _, path in bot.writes()]) == 1
    bot.settle(130)
    assert bot.github.labels(ISSUE) == bot.github.labels("owner/repo#2") == [HANG]


def test_writes_are_paced_over_all_workers_and_what_waits_says_so(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pace.LIMITS == ((60, 80), (3600, 500))
    monkeypatch.setattr(pace, "LIMITS", ((60, 4), (3600, 6)))
    assert [bot.store.take_write(installation) for installation in (INSTALLATION, 2)] == [
        None,
        None,
    ]  # by another worker
    start = bot.clock()
    for number in (1, 2, 3):
        bot.github.open(f"owner/repo#{number}", TITLE, BODY)
        bot.deliver("issues", bot.github.payload("opened", f"owner/repo#{number}"))
    bot.settle(0)
    (job,) = (job for job in bot.store.list_work(Job, "waiting") if job.kind == "triage")
    assert "paced" in str(job.last_error) and (job.due_at, job.attempts) == (start + 60, 0)
    bot.settle(60)
    assert bot.github.labels("owner/repo#3") == [HANG]
    bot.github.open("owner/repo#4", TITLE, BODY)
    bot.github.open("owner/repo#5", TITLE, BODY)
    for number in (4, 5):
        bot.deliver("issues", bot.github.payload("opened", f"owner/repo#{number}"))
    bot.settle(100)
    (job,) = (job for job in bot.store.list_work(Job, "waiting") if job.kind == "triage")
    assert job.due_at == start + 3600
    bot.settle(3600)
    assert bot.github.labels("owner/repo#5") == [HANG]


FAULTS = [
    Trouble(r"^GET .*/issues/1$", Fault(500), times=7),
    Trouble(r"^POST .*/issues/1/labels$", Fault(502), after=True, times=7),
    Trouble(r"^POST .*/issues/1/comments$", Fault(502), after=True),
    Trouble(r"^POST .*/issues/1/comments$", reset=True, times=7),
    Trouble(r"^POST .*/issues/1/comments$", after=True, reset=True),
    Trouble(r"^POST .*/access_tokens$", Fault(500), times=7),
    Trouble(r"^GET .*/timeline", Fault(401)),
]


@pytest.mark.parametrize(
    "trouble", FAULTS, ids=lambda trouble: f"{trouble.request}-{trouble.fault.status if trouble.fault else 'reset'}"
)
def test_after_a_failure_it_is_done_later_and_once(
    make: Make, trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distriage_serving.github.app_auth.MAX_WAIT_S", 0.0)  # every failure puts the job off
    bot = make()
    bot.github.files["owner/repo/.github/distriage.yml"] = COMMENTED
    bot.github.troubles.append(
        Trouble(trouble.request, trouble.fault, trouble.after, trouble.reset, times=trouble.times)
    )
    bot.issue("opened")
    for _ in range(9):
        bot.settle(4000)
    assert bot.github.labels(ISSUE) == [HANG] and len(bot.github.comments(ISSUE)) == 1
    assert bot.store.counts()["jobs"]["dead"] == 0


def test_what_fails_again_and_again_becomes_a_dead_letter_that_can_be_replayed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distriage_serving.github.app_auth.MAX_WAIT_S", 0.0)
    bot = make()
    bot.github.troubles.append(Trouble(r"^GET .*/issues/1$", Fault(500), times=1000))
    bot.issue("opened")
    for _ in range(12):
        bot.settle(5000)
    (dead,) = bot.store.dead(Job)
    assert "GitHub fails (500)" in str(dead.last_error) and bot.github.labels(ISSUE) == []
    bot.github.troubles.clear()
    assert bot.store.replay(Job, dead.id)
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG] and bot.store.dead(Job) == []


def test_an_error_that_nobody_foresaw_is_tried_again_and_keeps_the_report_s_text_to_itself(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def choke(*_: object) -> None:
        raise ValueError(f"cannot digest {TITLE}")

    monkeypatch.setattr(worker_module, "triage", choke)
    bot.issue("opened")
    (job,) = (job for job in bot.store.list_work(Job, "waiting") if job.kind == "triage")
    assert str(job.last_error).startswith("ValueError at test_bot_worker.py:") and TITLE not in str(
        job.last_error
    ) + "".join(map(JsonFormatter().format, caplog.records))
    monkeypatch.undo()
    bot.settle(4000)
    assert bot.github.labels(ISSUE) == [HANG]


def test_a_worker_that_lost_its_lease_writes_nothing_more(make: Make) -> None:
    bot = make(lease_s=30)
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    bot.worker.step()
    (job,) = bot.store.lease(Job, "dead worker", 30)
    bot.clock.now += 31
    bot.settle()  # another one took over
    assert bot.github.labels(ISSUE) == [HANG]
    with pytest.raises(Exception, match="not leased"):
        bot.store.finish(job)


# ---------------------------------------------------------------- installations


def test_an_app_that_was_uninstalled_leaves_nothing_to_do(bot: Bot) -> None:
    repositories = [{"full_name": "Owner/Repo"}, {"full_name": "owner/other"}]
    bot.deliver(
        "installation", {"action": "created", "installation": {"id": INSTALLATION}, "repositories": repositories}
    )
    bot.settle()
    assert [repository.name for repository in bot.store.list_repositories(enabled=True)] == [
        "owner/other",
        "owner/repo",
    ]
    removed = {
        "action": "removed",
        "installation": {"id": INSTALLATION},
        "repositories_removed": [{"full_name": "Owner/Other"}],
    }
    bot.deliver("installation_repositories", removed)
    bot.settle()
    assert [repository.name for repository in bot.store.list_repositories(enabled=True)] == ["owner/repo"]
    bot.github.installations.clear()
    bot.deliver("installation", {"action": "deleted", "installation": {"id": INSTALLATION}})
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    bot.settle()
    assert bot.store.list_repositories(enabled=True) == [] and bot.writes() == []
    assert bot.store.counts()["jobs"]["dead"] == 0


# ---------------------------------------------------------------- check runs


def pull_request(action: str = "opened", head: str = "b" * 40) -> dict[str, Any]:
    return {
        "action": action,
        "pull_request": {"number": 5, "head": {"sha": head}, "base": {"sha": "a" * 40}},
        "repository": {"full_name": "owner/repo"},
        "installation": {"id": INSTALLATION},
        "sender": PERSON,
    }


def test_a_pull_request_that_edits_the_configuration_gets_one_check_with_the_error_s_line(bot: Bot) -> None:
    bot.github.versions = {"a" * 40: CONFIG, "b" * 40: "# new\naxes: {symtom: true}\n"}
    for _ in range(2):
        bot.deliver("pull_request", pull_request())
        bot.settle()
    (run,) = bot.github.check_runs["b" * 40]
    assert (run["conclusion"], run["output"]["annotations"][0]["start_line"]) == ("failure", 2)
    assert "did you mean `symptom`" in run["output"]["annotations"][0]["message"]


@pytest.mark.parametrize(
    ("head", "conclusion"), [(CONFIG, None), (None, None), (COMMENTED, "success"), ("axes: [\n", "failure")]
)
def test_checks_say_what_is_so(bot: Bot, head: str | None, conclusion: str | None) -> None:
    bot.github.versions = {"a" * 40: CONFIG, **({"b" * 40: head} if head is not None else {})}
    bot.deliver("pull_request", pull_request("synchronize"))
    bot.settle()
    assert [run["conclusion"] for run in bot.github.check_runs.get("b" * 40, [])] == (
        [conclusion] if conclusion else []
    )


def test_without_the_permission_the_check_is_left_out_quietly(bot: Bot) -> None:
    bot.github.versions = {"a" * 40: CONFIG, "b" * 40: COMMENTED}
    bot.github.troubles.append(Trouble("check-runs", faults.integration(), times=9))
    bot.deliver("pull_request", pull_request())
    bot.settle()
    assert bot.job().state == "ignored" and bot.github.check_runs == {}
