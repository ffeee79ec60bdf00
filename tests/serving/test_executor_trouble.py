# ruff: noqa: F401, F811  # fixtures
"""Carrying out a plan while GitHub fails, limits, refuses or changes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from distriage.base.errors import GitHubError, RateLimitError, TransferredError
from distriage.github.client import Client
from distriage_serving.github.execution import Execution
from distriage_serving.github.executor import execute

from support import faults
from support.execution import ISSUE, WANTED, Clock, assert_done_once, client, client_of, clock, double, planned, run
from support.faults import Fault, Trouble
from support.github import GitHub

TROUBLES: dict[str, Trouble] = {
    "500": Trouble("", faults.server_error()),
    "502 after success": Trouble("", faults.server_error(502), after=True),
    "reset": Trouble("", reset=True),
    "reset after success": Trouble("", after=True, reset=True),
    "slow": Trouble("", slow_s=0.3),
    "secondary limit": Trouble("", faults.secondary_limit(7, 403)),
    "secondary limit without a time": Trouble("", faults.secondary_limit(None, 429)),
    "primary limit": Trouble("", faults.rate_limit(1_000_050)),
}


@pytest.mark.parametrize(
    "request_",
    ["POST .*repo/labels$", "POST .*1/labels$", "POST .*comments$", "GET .*timeline", "GET .*issues/1$", "GET .*user"],
)
@pytest.mark.parametrize("name", TROUBLES)
def test_after_trouble_everything_is_done_exactly_once(double: GitHub, clock: Clock, name: str, request_: str) -> None:
    trouble = TROUBLES[name]
    client = client_of(double, clock, **({"timeout_s": 0.2} if trouble.slow_s else {}))
    double.troubles.append(Trouble(request_, trouble.fault, trouble.after, trouble.reset, trouble.slow_s, times=2))
    done = run(client)
    assert done.warnings == []
    assert done.labels_added == WANTED
    assert_done_once(double)


def test_a_patch_whose_answer_is_lost_is_sent_again(double: GitHub, client: Client) -> None:
    run(client)
    double.troubles.append(Trouble("PATCH", faults.server_error(502), after=True, times=2))
    assert run(client, "comment: Other words.\n").comment == "edited"
    assert_done_once(double)


def test_the_wait_is_the_one_that_github_asks_for(double: GitHub, client: Client, clock: Clock) -> None:
    double.troubles.append(Trouble("POST .*1/labels$", faults.secondary_limit(7, 403)))
    run(client)
    assert [7 <= wait <= 7.5 for wait in clock.waits] == [True]


def test_unstated_waits_are_a_minute_and_grow(double: GitHub, client: Client, clock: Clock) -> None:
    double.troubles.append(Trouble("POST .*1/labels$", faults.secondary_limit(None), times=2))
    run(client)
    assert [round(wait / 60) for wait in clock.waits] == [1, 2]


def test_a_limit_that_ends_too_late_is_an_error_and_the_rest_can_be_done_later(double: GitHub, client: Client) -> None:
    an_hour_on = int(time.time()) + 3600  # by the double's clock, which is not the client's
    double.troubles.append(Trouble("POST .*comments$", faults.rate_limit(an_hour_on)))
    done = Execution()
    with pytest.raises(RateLimitError):
        execute(planned(client), client, done)
    assert done.labels_added == WANTED
    assert run(client).comment == "written"
    assert_done_once(double)


def test_github_that_fails_for_good_is_an_error(double: GitHub, client: Client, clock: Clock) -> None:
    plan = planned(client)
    double.troubles.append(Trouble("POST", faults.server_error(), times=99))
    with pytest.raises(GitHubError, match="GitHub fails"):
        execute(plan, client)
    assert len(clock.waits) == 4 and clock.waits == sorted(clock.waits)


REFUSALS: dict[str, Fault] = {
    "404": faults.status(404),
    "410": faults.status(410),
    "403 locked": faults.locked(),
    "403 permission": faults.integration(),
    "401": faults.bad_credentials(),
    "422": faults.status(422),
}
WRITES = [("POST .*repo/labels$", "comment"), ("POST .*1/labels$", "comment"), ("POST .*comments$", "labels")]


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize(("request_", "rest"), WRITES)
def test_a_refusal_is_a_warning_and_the_rest_goes_on(
    double: GitHub, client: Client, clock: Clock, name: str, request_: str, rest: str
) -> None:
    double.troubles.append(Trouble(request_, REFUSALS[name], times=99))
    done = run(client)
    assert done.warnings and clock.waits == []
    done_rest: dict[str, Any] = {"comment": done.comment == "written", "labels": sorted(double.labels(ISSUE)) == WANTED}
    assert done_rest[rest]


@pytest.mark.parametrize("request_", [request for request, _ in WRITES])
@pytest.mark.parametrize("status", [301, 307])
def test_what_moved_while_it_was_written_to_is_said_to_have_moved(
    double: GitHub, client: Client, request_: str, status: int
) -> None:
    double.troubles.append(Trouble(request_, Fault(status, "{}", {"Location": "/elsewhere"}), times=99))
    with pytest.raises(TransferredError, match="moved to another place"):
        run(client)


def test_a_label_that_somebody_created_meanwhile_is_fine(double: GitHub, client: Client) -> None:
    plan = planned(client)
    double.define("owner/repo", *WANTED)
    done = execute(plan, client)
    assert (done.labels_created, done.labels_added, done.warnings) == ([], WANTED, [])


def test_an_issue_deleted_or_locked_after_the_plan_was_made(double: GitHub, client: Client) -> None:
    plan = planned(client)
    double.issues[ISSUE]["locked"] = True
    done = execute(plan, client)
    assert done.labels_added == WANTED and len(done.warnings) == 1 and "locked" in done.warnings[0]
    double.gone.add(ISSUE)
    assert len(execute(plan, client).warnings) == 2
