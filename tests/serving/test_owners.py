# ruff: noqa: F401, F811  # fixtures
"""Owners: whom the configuration names for an issue like this; nobody is assigned unasked."""

from __future__ import annotations

import re

import httpx
import pytest

from distriage.base.times import epoch_s
from distriage.signs.kinds import Sign
from distriage_serving.planning.owners import owners_of
from distriage_serving.queue.issue_view import view_plan

from support.bot import ISSUE, Bot, bot, github, make, store
from support.configurations import parse, problems
from support.queue_server import Queue, queue
from support.queue_site import admin, site, stranger
from support.verdicts import make_verdict

MONDAY = epoch_s("2025-03-03T00:00:00Z")
WEEK_S = 7 * 86400.0
TABLE = {"H100": ["dave"], "Regression": ["carol"], "area/serve": ["a/team"], "rocm": ["rita"], "other": ["nobody"]}


def owners(table: dict[str, list[str]], at: float = MONDAY, labels: tuple[str, ...] = (), **facts: str) -> list[str]:
    signs = [Sign(name="regression", says="Worked in 1.2.3, fails in 1.3.0.", line=1)]
    verdict = make_verdict().model_copy(update={"environment": facts, "signs": signs})
    return [f"{who} ({key})" for who, key in owners_of(verdict, labels, table, at)]


def test_each_key_that_fits_names_an_owner() -> None:
    assert owners(TABLE) == ["carol (Regression)"]
    assert owners(TABLE, gpu_model="NVIDIA H100 80GB", rocm="6.2") == [
        "dave (H100)",
        "carol (Regression)",
        "rita (rocm)",
    ]
    assert owners(TABLE, labels=("Area/Serve",)) == ["carol (Regression)", "a/team (area/serve)"]
    assert owners({"deepspeed": ["erin"]}, framework="DeepSpeed") == ["erin (deepspeed)"]
    sure = [said.label for said in make_verdict().axes.values() if said.outcome == "apply"]
    assert owners({sure[0]: ["alice"]}) == [f"alice ({sure[0]})"]
    unsure = [said.label for said in make_verdict().axes.values() if said.outcome != "apply"]
    assert owners({key: ["alice"] for key in set(unsure) - set(sure)}) == []


def test_several_people_take_turns_from_monday_to_sunday() -> None:
    def who(at: float) -> str:
        return owners({"regression": ["alice", "bob", "carol"]}, at)[0]

    first = who(MONDAY)
    assert who(MONDAY + WEEK_S - 1) == first and who(MONDAY - 1) != first
    assert len({who(MONDAY + turn * WEEK_S) for turn in range(3)}) == 3 and who(MONDAY + 3 * WEEK_S) == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("owners: {hang: alice}", "`owners.hang`: expected a list, such as [one, two], found 'alice'"),
        ("owners: [alice]", "`owners`: expected a table"),
        ("owners: {hang: []}", "`owners.hang`: "),
    ],
)
def test_a_mistake_in_the_table_of_owners_is_one_line(text: str, message: str) -> None:
    (problem,) = problems(text)
    assert str(problem).startswith(f"distriage.yml:1: {message}"), problem
    assert parse("owners: {hang: ['@alice']}").owners == {"hang": ["alice"]}


def test_the_app_keeps_owners_and_assigns_nobody(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = "owners: {hang: ['@alice']}\n"
    bot.issue("opened")
    assert view_plan(bot.store.latest_verdict("owner/repo", 1)).owners == [("alice", "hang")]
    assert not any("assignees" in path for _, path in bot.writes())


def test_the_queue_names_owners_and_assigns_at_a_click(site: Queue, admin: httpx.Client) -> None:
    verdict_id = site.add(71, "It hangs", "hangs")
    site.store.set_plan(verdict_id, {"owners": [["alice", "hang"], ["acme/team", "<b>"]]})
    page = admin.get("/queue/owner/repo/71").text
    assert "Owners: alice (hang), acme/team (&lt;b&gt;)" in re.sub(r"\s+", " ", page)
    assert 'name="to" value="alice"' in page and 'value="acme/team"' not in page
