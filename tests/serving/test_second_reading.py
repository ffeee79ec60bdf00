# ruff: noqa: F401, F811  # fixtures
"""The second reader in the bot: labels first, its answer later, and whatever fails leaves the first verdict."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from distriage.base.errors import ConfigError
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage.github.forms import FOLDER
from distriage_serving.bot.worker import Timing, Worker
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.github.app_auth import App
from distriage_serving.judging.judge import LocalJudge
from distriage_serving.judging.two_readers import AWAITED, StoreBudget, TwoReaders, is_awaited, open_reader
from distriage_serving.settings import Settings, load_settings
from distriage_serving.store import Issue, Job, Store
from distriage_serving.store.work.reader import DAY_S

from support.app_key import APP_ID, app_key
from support.bot import ISSUE, LEAK, OOM, Bot, Make, github, make
from support.databases import Clock
from support.github import GitHub
from support.reader import Double, calibration_file, double, saying

CONFIG = "axes: {symptom: true, fix: true}\n"
TITLE = "Strange behaviour after the upgrade"
BODY = (
    "Since Tuesday one worker ends in a timeout, prints memory and other numbers, and drops its connection; nobody "
    "among eight engineers can tell what it waits for."
)  # the toy model is sure of the fix, and of no symptom
TUNING = "fix: tuning"

Open = Callable[..., Bot]


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    return sqlite_store


@pytest.fixture
def opened(
    make: Make, github: GitHub, double: Double, keyword_classifier: Classifier, tmp_path: Path
) -> Callable[..., Bot]:
    """A bot with a second reader that a calibration allows to give symptoms."""
    github.open(ISSUE, TITLE, BODY)
    github.files["owner/repo/.github/distriage.yml"] = CONFIG
    double.answer = saying("oom")

    def opened(before: Bot | None = None, **settings: Any) -> Bot:
        bot = make()
        bot.clock.now = (bot.clock.now // DAY_S + 1.5) * DAY_S  # far from midnight
        if before is not None:  # it was started anew
            bot.clock.now, bot.ids = before.clock.now, before.ids
        chosen = {
            "second_reader": double.url,
            "second_reader_model": "m",
            "second_reader_calibration": calibration_file(tmp_path),
        }
        reader = open_reader(
            Settings(model=str(keyword_classifier.bundle.path), **(chosen | settings)),  # type: ignore[arg-type]
            bot.store,
        )
        judge = TwoReaders(LocalJudge(keyword_classifier), bot.store, reader)
        app = App(APP_ID, app_key(), github.url)
        bot.worker = Worker(bot.store, app, judge, threading.Event(), Timing(30.0))
        return bot

    return opened


def until_it_is_to_be_asked(bot: Bot) -> None:
    while "second-read" not in [job.kind for job in bot.store.list_work(Job)]:
        assert bot.worker.step()


def said(bot: Bot) -> dict[str, Any]:
    stored = bot.store.latest_verdict("owner/repo", 1)
    assert stored is not None
    return stored.verdict.model_dump()


def test_labels_come_at_once_and_the_second_readers_are_added(opened: Open, double: Double) -> None:
    bot = opened()
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    until_it_is_to_be_asked(bot)
    assert bot.github.labels(ISSUE) == [TUNING] and double.bodies == []
    assert said(bot)["second_reading"] == {"reader": "m", "axes": [], "note": AWAITED}
    bot.settle()
    assert bot.github.labels(ISSUE) == [TUNING, OOM]
    verdict = said(bot)
    assert verdict["second_reading"] == {"reader": "m", "axes": ["symptom"], "note": None}
    assert {axis: told["read_by"] for axis, told in verdict["axes"].items()} == {
        "kind": "model",
        "symptom": "second-reader",
        "fix": "model",
    }
    assert len(double.bodies) == 2  # a label that would be given is asked about twice
    assert {job.state for job in bot.store.list_work(Job) if job.kind != "sweep"} == {"done"}


def test_the_question_leaves_out_the_lines_of_the_repositorys_forms(opened: Open, double: Double) -> None:
    bot = opened()
    bot.github.files[f"owner/repo/{FOLDER}/bug.md"] = "Name the captain of the ship."
    bot.github.issues[ISSUE]["body"] = f"Name the captain of the ship.\n{BODY}"
    bot.issue("opened")
    assert double.bodies and not any("captain" in str(body) for body in double.bodies)


def test_an_answer_is_kept_and_joined_anew(opened: Open, double: Double) -> None:
    bot = opened()
    for action in ("opened", "reopened", "labeled"):
        bot.issue(action)
    asked = len(double.bodies)
    assert asked == 2 and said(bot)["axes"]["symptom"]["outcome"] == "apply"
    bot.github.files["owner/repo/.github/distriage.yml"] = CONFIG + "mode: precise\n"
    bot.issue("reopened")
    assert len(double.bodies) == asked
    assert said(bot)["axes"]["symptom"]["outcome"] == "suggest"  # it is calibrated for `balanced` only
    assert bot.github.labels(ISSUE) == [TUNING, OOM]
    bot.github.issues[ISSUE]["body"] = BODY + " It is another report now."
    bot.issue("edited")
    assert len(double.bodies) > asked


def test_an_answer_counts_for_the_calibration_and_the_axes_that_it_was_asked_for(
    opened: Open, double: Double, tmp_path: Path
) -> None:
    """With a calibration one answer would count as the mean of two."""
    double.answer = lambda body: saying(("leak", "oom")[len(double.bodies) % 2])(body)
    bot = opened(second_reader_calibration=None)
    bot.issue("opened")
    assert len(double.bodies) == 1 and said(bot)["axes"]["symptom"]["outcome"] == "suggest"
    for more in ({}, {"second_reader_axes": "symptom"}, {"second_reader_axes": "symptom,kind"}):
        asked = len(double.bodies)
        bot = opened(bot, second_reader_calibration=calibration_file(tmp_path, 0.6), **more)
        bot.issue("reopened")
        assert len(double.bodies) > asked
        assert said(bot)["axes"]["symptom"]["outcome"] != "apply"
        asked = len(double.bodies)
        bot.issue("reopened")
        assert len(double.bodies) == asked


def test_the_second_reader_may_replace_the_label_of_a_rewritten_report(opened: Open, double: Double) -> None:
    bot = opened()
    bot.issue("opened")
    assert OOM in bot.github.labels(ISSUE)
    double.answer = saying("leak")
    bot.github.issues[ISSUE]["body"] = BODY + " It is another report now."
    bot.issue("edited")
    assert bot.github.labels(ISSUE) == [TUNING, LEAK]


FAILURES: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "429": ((429, b"slow down"), {}, "refused (HTTP 429)", "refused"),
    "500": ((500, b"zebra"), {}, "refused (HTTP 500)", "refused"),
    "nonsense": ((200, b'{"choices": [{"message": {"content": "zebra"}}]}'), {}, "none of the offered", "nonsense"),
    "time-out": (None, {"second_reader_timeout_s": 0.5}, "did not answer within 0.5 s", "time-out"),
    "requests": ((200, b""), {"second_reader_requests_per_day": 0}, "budget for today is used up", "budget"),
    "tokens": ((200, b""), {"second_reader_tokens_per_day": 100}, "budget for today is used up", "budget"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_whatever_fails_the_first_verdict_stands_and_says_so(opened: Open, double: Double, name: str) -> None:
    answer, settings, why, result = FAILURES[name]
    double.answer = lambda _: answer
    bot = opened(**settings)
    bot.issue("opened")
    verdict = said(bot)
    assert bot.github.labels(ISSUE) == [TUNING]
    assert why in verdict["second_reading"]["note"] and "zebra" not in json.dumps(verdict)
    assert {told["read_by"] for told in verdict["axes"].values()} == {"model"}
    assert bot.store.reader_results() == {result: 1}
    asked = len(double.bodies)
    bot.issue("reopened")
    assert len(double.bodies) == asked == (0 if result == "budget" else 1)  # what failed is not tried at every event
    if name == "time-out":
        return  # the next answer might take as long
    double.answer = saying("oom")
    bot.clock.now += 90_000  # a day later it may
    bot.issue("reopened")
    assert (OOM in bot.github.labels(ISSUE)) is (result != "budget")


@pytest.mark.parametrize(("status", "wait"), [(503, "0"), (429, "4000"), (401, "soon")])
def test_a_fault_that_passes_costs_no_report_its_answer(opened: Open, double: Double, status: int, wait: str) -> None:
    double.answer, double.headers = lambda _: (status, b""), {"Retry-After": wait}
    bot = opened()
    bot.issue("opened")
    assert len(double.bodies) == 1 and bot.github.labels(ISSUE) == [TUNING]
    double.answer = saying("oom")
    bot.settle(4000 if status == 429 else 300)
    assert bot.github.labels(ISSUE) == [TUNING, OOM]


def test_a_fault_that_lasts_is_tried_four_times_and_again_after_a_restart(opened: Open, double: Double) -> None:
    double.answer = lambda _: (503, b"")
    bot = opened()
    bot.issue("opened")
    for _ in range(9):
        bot.settle(3600)
    assert len(double.bodies) == 4
    bot = opened(bot)
    bot.issue("reopened")
    assert len(double.bodies) == 5


@pytest.mark.parametrize("later_s", [0, 43_199])  # noon, a second before midnight
def test_what_a_process_with_a_clock_behind_failed_at_is_not_asked_about_at_once(
    opened: Open, double: Double, later_s: float
) -> None:
    double.answer = lambda _: (503, b"")
    bot = opened()
    bot.clock.now += later_s
    bot.issue("opened")
    bot.clock.now += 2
    judge = bot.worker._judge
    assert isinstance(judge, TwoReaders)
    judge._since = bot.clock.now
    report, config = IssueReport(TITLE, BODY), RepositoryConfig()
    assert not is_awaited(judge.look(report, config).verdict)
    bot.clock.now += 600
    assert is_awaited(judge.look(report, config).verdict)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_no_wait_mends_is_sent_once(opened: Open, double: Double, status: int) -> None:
    double.answer = lambda _: (status, b"context length")
    bot = opened()
    bot.issue("opened")
    for _ in range(9):
        bot.settle(3600)
    assert len(double.bodies) == 1


def test_an_issue_that_was_closed_meanwhile_is_not_asked_about_again(opened: Open, double: Double) -> None:
    double.answer = lambda _: (503, b"")
    bot = opened()
    bot.issue("opened")
    bot.github.issues[ISSUE]["state"] = "closed"
    bot.issue("closed")
    for _ in range(9):
        bot.settle(3600)
    assert len(double.bodies) == 1


def test_a_text_that_was_edited_meanwhile_is_not_tried_again(opened: Open, double: Double) -> None:
    bot = opened()

    def edited(_: object) -> tuple[int, bytes]:
        with bot.store._session(writes=True) as session:
            session.execute(update(Issue).values(body="It is another report now."))
        return 503, b""

    double.answer = edited
    bot.issue("opened")
    assert len(double.bodies) == 1 and not [job for job in bot.store.list_work(Job, "waiting", 9) if job.argument]


def test_a_budget_is_spent_until_midnight(opened: Open, double: Double) -> None:
    bot = opened(second_reader_requests_per_day=2)
    bot.issue("opened")
    bot.github.issues[ISSUE]["body"] = BODY + " It is another report now."
    for hours, asked in ((0, 2), (11, 2), (1, 4)):
        bot.clock.now += hours * 3600
        bot.issue("edited")
        assert len(double.bodies) == asked


def test_nothing_in_doubt_is_not_asked_about(opened: Open, double: Double) -> None:
    bot = opened()
    bot.github.issues[ISSUE]["body"] = "exhausted exhausted timeout timeout"
    bot.issue("opened")
    assert double.bodies == [] and said(bot)["second_reading"] is None


def test_waiting_for_the_second_reader_is_a_worker_of_its_own(opened: Open) -> None:
    bot = opened()
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    first, second = (
        Worker(bot.store, App(APP_ID, app_key(), bot.github.url), bot.worker._judge, threading.Event(), Timing(0.0), it)
        for it in (False, True)
    )
    assert not second.step()  # neither a delivery nor any other job
    while first.step():
        pass
    assert [(job.kind, job.state) for job in bot.store.list_work(Job)] == [
        ("second-read", "waiting"),
        ("triage", "done"),
    ]
    assert second.step() and not second.step()
    while first.step():
        pass
    assert bot.github.labels(ISSUE) == [TUNING, OOM]


def test_a_second_reader_that_was_switched_off_leaves_nothing_behind(
    opened: Open, double: Double, keyword_classifier: Classifier
) -> None:
    bot = opened()
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    until_it_is_to_be_asked(bot)
    bot.worker._judge = LocalJudge(keyword_classifier)
    bot.settle()
    job = next(job for job in bot.store.list_work(Job) if job.kind == "second-read")
    assert (job.state, job.last_error) == ("ignored", "the second reader is off") and double.bodies == []


# ---------------------------------------------------------------- budget and settings


def test_the_budget_is_one_for_all_processes_and_begins_anew_each_day(store_of_both: Store) -> None:
    store = store_of_both
    clock = Clock()
    store.clock = clock
    one, other = (StoreBudget(store, 2, 100) for _ in range(2))
    assert one.take(40) and other.take(40) and not one.take(1)  # two requests
    clock.now += 86_400
    assert one.take(90) and not other.take(20)  # tokens
    one.settle(-50)
    assert other.take(20)
    assert StoreBudget(store, None, None).take(10**9)


def test_results_are_counted(store_of_both: Store) -> None:
    for result in ("answered", "refused", "answered"):
        store_of_both.count_reader_result(result)
    assert store_of_both.reader_results() == {"answered": 2, "refused": 1}


@pytest.fixture
def store_of_both(store_url: str) -> Iterator[Store]:
    with Store.open(store_url) as opened:
        yield opened


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"second_reader": "localhost:8000"}, "expected an address such as"),
        ({"second_reader_axes": "distributed"}, "axes of the second reader"),
        ({"second_reader_calibration": "/none"}, "/none: not found or not readable"),
        ({"second_reader_model": "another", "second_reader_calibration": "CAL"}, "made for the reader"),
    ],
)
def test_settings_that_do_not_fit_end_the_start(
    store: Store, keyword_bundle: Path, tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    file = str(calibration_file(tmp_path))
    given = {"second_reader": "http://x/v1", "second_reader_model": "m"} | settings
    given = {name: file if value == "CAL" else value for name, value in given.items()}
    with pytest.raises(ConfigError, match=message):
        open_reader(Settings(model=str(keyword_bundle), **given), store)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"second_reader": "http://x/v1"}, "DISTRIAGE_SECOND_READER needs DISTRIAGE_SECOND_READER_MODEL"),
        ({"second_reader_timeout_s": "0"}, "second_reader_timeout_s"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_settings(settings)


def test_without_a_second_reader_the_server_imports_nothing_of_it() -> None:
    program = (
        "import sys, distriage_serving.app, distriage_serving.action.run, distriage_serving.bot.service; "
        "assert not [name for name in sys.modules if name.startswith('distriage.second_reader.')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
