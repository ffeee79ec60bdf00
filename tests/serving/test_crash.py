"""Killed at any step, and at many: nothing is lost, nothing done twice.

`python -m support.crash` in tests/ does the same at length and prints the figures.
"""

from __future__ import annotations

import copy
import json
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from distriage.base.references import IssueReference
from distriage.classifier import Classifier
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.store import Act, CommandArgument, Delivery, Job, Store, ask_job, close_job, command_job

from support import crash
from support.app_key import APP_ID, app_key, app_key_pem
from support.crash_worker import Mother
from support.databases import emptied
from support.github import INSTALLATION, PERSON, GitHub
from support.github_shapes import issue_field

pytestmark = pytest.mark.slow

ISSUE = "owner/repo#1"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
REMEMBERED = ("issues", "timelines", "repository_labels", "suggestions")  # by the double of GitHub


@pytest.fixture
def github(app_github: GitHub) -> GitHub:
    app_github.open(ISSUE, "It hangs", "hangs hangs hangs")
    app_github.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true}\ncomment: true\n"
    return app_github


def a_worker(store: Store, github: GitHub, classifier: Classifier) -> Worker:
    return Worker(store, App(APP_ID, app_key(), github.url), LocalJudge(classifier), threading.Event(), Timing(0.0))


@contextmanager
def a_store(empty: Path) -> Iterator[Store]:
    """A store in memory with nothing in it; other processes may open its URL."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        shutil.copyfile(empty, f"{folder}/store.db")
        with Store.open(f"sqlite:///{folder}/store.db") as store:
            yield store


class Beginning:
    """GitHub and the store before each death, made once: to label an issue takes as long as all that follows."""

    def __init__(self, github: GitHub, classifier: Classifier, empty: Path, file: Path) -> None:
        self._github, self._file = github, file
        shutil.copyfile(empty, file)
        with Store.open(f"sqlite:///{file}") as store:
            deliver(store, github, "opened", "issues")
            work_off(a_worker(store, github, classifier))
        self._known = copy.deepcopy({name: getattr(github, name) for name in REMEMBERED})

    @contextmanager
    def again(self) -> Iterator[Store]:
        """Put both back; the store."""
        for name, value in copy.deepcopy(self._known).items():
            setattr(self._github, name, value)
        with a_store(self._file) as store:
            yield store


def work_off(worker: Worker) -> None:
    """Until nothing is due."""
    while worker.step():
        pass


@pytest.fixture(scope="module")
def mother(keyword_bundle: Path, empty_store: Path) -> Iterator[Mother]:
    """Where the processes come from that die; it has done the work once."""
    double = GitHub(app=True)
    double.open(ISSUE, "It hangs", "hangs hangs hangs")
    started = Mother(keyword_bundle, app_key_pem())
    with a_store(empty_store) as store:
        deliver(store, double, "opened", "issues")
        assert started.work(str(store._engine.url), double.url) == 0
    double.close()
    yield started
    started.close()


def deliver(store: Store, github: GitHub, action: str, event_name: str, **more: Any) -> None:
    payload = github.payload(action, ISSUE, **more)
    text = json.dumps(payload)
    delivery = Delivery(
        id=f"guid-{action}",
        event=event_name,
        action=action,
        payload=text,
        received_at=store.clock(),
        repository="owner/repo",
        issue=1,
    )
    assert store.add_delivery(delivery)


def test_sigkill_at_any_step_loses_nothing_and_does_nothing_twice(
    github: GitHub, keyword_classifier: Classifier, mother: Mother, empty_store: Path
) -> None:
    step, died = 0, 0
    survived = False
    while not survived:
        step += 1
        github.open(ISSUE, "It hangs", "hangs hangs hangs")
        github.timelines.clear()
        github.repository_labels.clear()
        github.tokens.clear()
        with a_store(empty_store) as store:
            deliver(store, github, "opened", "issues")
            exit_code = mother.work(str(store._engine.url), github.url, step)
            survived = exit_code == 0
            died += exit_code == -signal.SIGKILL
            assert survived or exit_code == -signal.SIGKILL
            later = store.clock() + 10
            store.clock = lambda: later  # noqa: B023
            work_off(a_worker(store, github, keyword_classifier))
            assert github.labels(ISSUE) == ["symptom: hang"] and len(github.comments(ISSUE)) == 1, step
            assert {job.state for job in store.list_work(Job)} == {"done"}
            assert [delivery.state for delivery in store.list_work(Delivery)] == ["done"]
    assert died == step - 1 > 20


@pytest.mark.parametrize("undo", [False, True])
def test_a_command_killed_in_the_middle_counts_once(
    github: GitHub, keyword_classifier: Classifier, mother: Mother, empty_store: Path, undo: bool
) -> None:
    for step in range(9, 18, 2):
        github.open(ISSUE, "It hangs", "hangs hangs hangs")
        github.timelines.clear()
        with a_store(empty_store) as store:
            worker = a_worker(store, github, keyword_classifier)
            deliver(store, github, "opened", "issues")
            work_off(worker)
            for number, label in enumerate(("oom", "leak") if undo else ()):
                lines, at = [f"/triage wrong symptom={label}"], 1_714_557_600.0 + number
                argument = CommandArgument(comment=number, who="maintainer", at=at, lines=lines)
                store.put_job(command_job(IssueReference("owner/repo", 1), INSTALLATION, argument))
                work_off(worker)
            deliver(
                store,
                github,
                "created",
                "issue_comment",
                comment=github.comment(ISSUE, "/triage undo" if undo else "/triage wrong symptom=oom", PERSON),
            )
            exit_code = mother.work(str(store._engine.url), github.url, step)
            assert exit_code == -signal.SIGKILL
            later = store.clock() + 10
            store.clock = lambda: later  # noqa: B023
            work_off(worker)
            assert [verdict.label for verdict in store.reviews(issue=IssueReference("owner/repo", 1))] == ["oom"], step
            assert github.labels(ISSUE) == ["symptom: oom"]


@pytest.mark.parametrize(
    ("store_url", "suggestions"),
    [("sqlite", False), pytest.param("postgresql", True, marks=pytest.mark.database)],
    indirect=["store_url"],
)
def test_many_deliveries_many_kills(store_url: str, tmp_path: Path, suggestions: bool) -> None:
    """Where suggestions are on, half of the issues are labelled as they are where suggestions are off."""
    check(crash.crash(store_url, tmp_path, number=60, kills=3, suggestions=suggestions))


def test_a_second_reader_that_fails_in_a_fifth_of_the_calls_sets_each_label_once(
    sqlite_store: Store, tmp_path: Path
) -> None:
    figures = crash.crash(str(sqlite_store._engine.url), tmp_path, number=60, kills=3, second_reader=True)
    check(figures)
    assert sum(sqlite_store.reader_results().values()) >= 5 and sqlite_store.reader_results()["answered"] > 0


def check(figures: crash.Figures) -> None:
    assert (figures.issues, figures.labels_right, figures.comments_right, figures.most_comments) == (12, 12, 12, 1)
    assert figures.states_right == 12
    assert (figures.lost, figures.duplicates, figures.dead, figures.kills) == (0, 0, 0, 3)
    assert figures.accepted > 60 and figures.refused == 4 and figures.faults > 0


PERHAPS = "It ends with a timeout after ten minutes of training."  # the toy model hears: perhaps a hang


@pytest.mark.parametrize(("body", "stride"), [("hangs hangs hangs", 1), (PERHAPS, 4)])
def test_sigkill_at_any_step_makes_each_suggestion_once(
    github: GitHub, keyword_classifier: Classifier, mother: Mother, empty_store: Path, body: str, stride: int
) -> None:
    """With `all`, so that the sure one is suggested too; GitHub would take the same suggestion twice.

    One that is not sure goes the same way, so that a few steps show it.
    """
    github.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: {field: Failure}}\nsuggestions: all\n"
    github.suggesting.add("owner/repo")
    github.issue_fields = [issue_field(5, "Failure", "hang", "oom")]
    step, survived, least = 0, False, 1 if body == PERHAPS else 2  # a second request waits for a later look
    while not survived:
        step += stride
        github.open(ISSUE, "It stops", body)
        for known in (github.timelines, github.repository_labels, github.tokens, github.suggestions):
            known.clear()
        with a_store(empty_store) as store:
            deliver(store, github, "opened", "issues")
            exit_code = mother.work(str(store._engine.url), github.url, step)
            survived = exit_code == 0
            assert survived or exit_code == -signal.SIGKILL
            later = store.clock() + 10
            store.clock = lambda: later  # noqa: B023
            work_off(a_worker(store, github, keyword_classifier))
            made = [(one["action"], one["state"]) for one in github.suggestions[ISSUE]]
            both = [("add_label", "pending"), ("add_field", "pending")]
            assert made in (both, both[:least]), step
            assert github.labels(ISSUE) == [], step
            rows = store.suggestions(IssueReference("owner/repo", 1))
            assert [row.state for row in rows] == ["pending"] * len(made), step
    assert step > 20


@pytest.mark.parametrize("approve", [True, False])
def test_sigkill_at_any_step_keeps_a_decision_once(
    github: GitHub, keyword_classifier: Classifier, mother: Mother, empty_store: Path, tmp_path: Path, approve: bool
) -> None:
    github.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true}\nsuggestions: perhaps\n"
    github.suggesting.add("owner/repo")
    github.open(ISSUE, "It stops", PERHAPS)
    beginning = Beginning(github, keyword_classifier, empty_store, tmp_path / "store.db")
    for step in range(1, 30, 2):
        with beginning.again() as store:
            github.decide(ISSUE, github.pending(ISSUE)[0]["id"], PERSON, approve=approve)
            deliver(store, github, "labeled", "issues")
            exit_code = mother.work(str(store._engine.url), github.url, step)
            assert exit_code in {0, -signal.SIGKILL}
            later = store.clock() + 10
            store.clock = lambda: later  # noqa: B023
            work_off(a_worker(store, github, keyword_classifier))
            (review,) = store.reviews(issue=IssueReference("owner/repo", 1))
            assert (review.how, review.who) == ("approve" if approve else "dismiss", "maintainer"), step
            assert len(github.suggestions[ISSUE]) == 1 and github.labels(ISSUE) == ["symptom: hang"][: int(approve)]


# How GitHub and a person take to the question that was put; `undone`: after the worker died.
CASES = ("stands", "undone", "refused")


@pytest.mark.parametrize(("case", "stride"), [("stands", 1), ("undone", 4), ("refused", 4)])
def test_sigkill_at_any_step_does_each_act_once(
    github: GitHub,
    keyword_classifier: Classifier,
    mother: Mother,
    empty_store: Path,
    tmp_path: Path,
    case: str,
    stride: int,
) -> None:
    """Asked, snoozed, assigned, closed as completed."""
    github.roles["mia"] = "write"
    github.open(ISSUE, "It hangs", "hangs hangs hangs", locked=case == "refused")
    beginning = Beginning(github, keyword_classifier, empty_store, tmp_path / "store.db")
    for step in count(stride, stride):
        with beginning.again() as store:
            if each_act_is_done_once(store, github, keyword_classifier, mother, step, case):
                break
    assert step > 10


@pytest.mark.database
def test_sigkill_at_any_step_does_each_act_once_on_postgresql(
    github: GitHub, keyword_classifier: Classifier, mother: Mother, postgresql_tables: str
) -> None:
    """At every third step, each with another of the cases."""
    github.roles["mia"] = "write"
    for step, case in zip(count(3, 3), cycle(CASES)):
        github.open(ISSUE, "It hangs", "hangs hangs hangs", locked=case == "refused")
        for known in (github.timelines, github.repository_labels, github.tokens):
            known.clear()
        with Store.open(emptied(postgresql_tables)) as store:
            deliver(store, github, "opened", "issues")
            work_off(a_worker(store, github, keyword_classifier))
            survived = each_act_is_done_once(store, github, keyword_classifier, mother, step, case)
            if survived and case == "stands":
                break
    assert step > 10


def each_act_is_done_once(
    store: Store, github: GitHub, classifier: Classifier, mother: Mother, step: int, case: str
) -> bool:
    """Whether the worker outlived its work, since it has fewer steps."""
    issue, now = IssueReference("owner/repo", 1), store.clock()
    made: tuple[tuple[str, dict[str, Any]], ...] = (
        ("ask", {"text": "Which version?"}),
        ("snooze", {"until": now + 86400}),
        ("assign", {"assignee": "mia"}),
        ("completed", {}),
    )
    for what, more in made:
        store.add_act(Act(repository="owner/repo", number=1, what=what, who="mia", at=now, **more))
    store.put_job(ask_job(issue, INSTALLATION))
    store.put_job(close_job(issue, INSTALLATION))
    exit_code = mother.work(str(store._engine.url), github.url, step)
    assert exit_code in {0, -signal.SIGKILL}
    later = store.clock() + 10
    store.clock = lambda: later
    if case == "undone":
        store.undo_act(store.acts(issue)[-1])
        store.put_job(ask_job(issue, INSTALLATION))
    work_off(a_worker(store, github, classifier))
    acts = {act.what: act for act in store.acts(issue)}
    asked = [text for text in github.comments(ISSUE) if "distriage:ask" in text]
    assert len(asked) == acts["ask"].carried_out == (case == "stands"), step
    assert (acts["ask"].refused is not None) == (case == "refused"), step
    closed = [event for event in github.timelines[ISSUE] if event["event"] == "closed"]
    assert github.issues[ISSUE]["state"] == "closed" and len(closed) == 1, step
    assert [person["login"] for person in github.issues[ISSUE]["assignees"]] == ["mia"], step
    assert acts["completed"].carried_out and acts["assign"].carried_out, step
    assert [acts[what].refused for what in ("completed", "assign", "snooze")] == [None] * 3, step
    known_issue = store.get_issue("owner/repo", 1)
    assert known_issue is not None and (known_issue.state, known_issue.assignee) == ("closed", "mia"), step
    return exit_code == 0
