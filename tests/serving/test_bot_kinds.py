# ruff: noqa: F401, F811  # fixtures
"""A kind of job is a function and a row: a new one is stored, worked on and finished like the others."""

from __future__ import annotations

import pytest

from distriage.base.references import IssueReference
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.kinds import KINDS, Kind, Tools
from distriage_serving.store import CheckArgument, CommandArgument, Job, NewJob
from distriage_serving.store.work import jobs

from support.bot import Bot, bot, github, make, store
from support.github import INSTALLATION


@pytest.fixture
def greeted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What jobs of a kind of our own did."""
    done: list[str] = []

    def greet(tools: Tools, job: Job) -> Done:
        done.append(f"{job.argument['word']} {tools.client.json(f'/repos/{job.repository}')['full_name']}")
        return Done()

    monkeypatch.setitem(KINDS, "greet", Kind(greet))  # type: ignore[arg-type] # nobody else changes it
    return done


def greeting(installation_id: int | None) -> NewJob:
    return NewJob("greet:owner/repo", "greet", "owner/repo", None, installation_id, {"word": "hello"})


def test_a_new_kind_is_a_function_and_a_row(bot: Bot, greeted: list[str]) -> None:
    bot.store.put_job(greeting(INSTALLATION))
    bot.settle()
    assert greeted == ["hello owner/repo"]
    assert (bot.job().kind, bot.job().state) == ("greet", "done")


def test_a_kind_that_works_on_github_needs_an_installation(bot: Bot, greeted: list[str]) -> None:
    bot.store.put_job(greeting(None))
    bot.settle()
    assert (bot.job().state, greeted) == ("ignored", [])


def test_every_job_that_is_put_has_a_row() -> None:
    issue = IssueReference("owner/repo", 1)
    asked = CommandArgument(comment=1, who="x", at=1.0, lines=["/triage"])
    made = [
        *(make(issue, 1) for make in (jobs.triage_job, jobs.decide_job, jobs.second_read_job, jobs.close_job)),
        *(jobs.configure_job("owner/repo", 1), jobs.reconcile_job("owner/repo", 1), jobs.access_job(1)),
        *(jobs.poll_job("owner/repo", 1), jobs.ask_job(issue, 1)),
        *(
            jobs.sweep_job(),
            jobs.command_job(issue, 1, asked),
            jobs.check_job(issue, 1, CheckArgument(head="a", base="b")),
        ),
    ]
    assert {job.kind for job in made} <= KINDS.keys()
    assert {*jobs.OF_PEOPLE, jobs.SECOND_READ} <= KINDS.keys()
