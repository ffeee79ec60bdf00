"""A GitHub with an issue, a client whose time passes only by waiting, and a plan to carry out."""

from __future__ import annotations

import pytest

from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.names import resolve
from distriage_serving.github.execution import Execution
from distriage_serving.github.executor import execute
from distriage_serving.github.issue import read_issue
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.types import Plan

from support.github import GitHub
from support.verdicts import make_verdict
from support.waiting import WAIT_S

TAXONOMY = default_taxonomy()
ISSUE = "owner/repo#1"
WANTED = ["stage: training-evaluation", "symptom: runtime-hang"]
CONFIG = "comment: true\n"
TYPED = "axes: {kind: {only-listed: true, labels: {bug: {enabled: false, type: Bug}}}}"
VERDICT = make_verdict(missing=("torch",))


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Note it, and let so much time pass."""
        self.waits.append(seconds)
        self.now_s += seconds


@pytest.fixture
def double(github: GitHub) -> GitHub:
    """A GitHub with an issue."""
    github.open(ISSUE, "A hang", "It hangs.")
    return github


@pytest.fixture
def clock() -> Clock:
    """That of `client`."""
    return Clock()


@pytest.fixture
def client(double: GitHub, clock: Clock) -> Client:
    """A patient one."""
    return client_of(double, clock)


def client_of(double: GitHub, clock: Clock, timeout_s: float = WAIT_S) -> Client:
    """A client that waits by the clock.

    Args:
        timeout_s: How long it waits for an answer.
    """
    return Client(double.token, double.url, timeout_s=timeout_s, sleep=clock.sleep, now=lambda: clock.now_s)


def planned(client: Client, text: str = CONFIG) -> Plan:
    """The plan for the issue as it is now."""
    return make_plan(
        VERDICT,
        read_issue(client, IssueReference("owner/repo", 1)).state,
        resolve(parse_config(text, "distriage.yml", TAXONOMY), TAXONOMY),
    )


def run(client: Client, text: str = CONFIG) -> Execution:
    """Plan, and carry it out."""
    return execute(planned(client, text), client)


def assert_done_once(double: GitHub) -> None:
    """Each label and the comment are there, once."""
    assert sorted(double.labels(ISSUE)) == WANTED
    assert len(double.comments(ISSUE)) == 1
