# ruff: noqa: F401, F811  # fixtures
"""The check on a pull request that edits the configuration."""

from __future__ import annotations

from typing import Any

import pytest

from support import faults
from support.bot import COMMENTED, CONFIG, Bot, bot, github, make, store
from support.faults import Trouble
from support.github import INSTALLATION, PERSON


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


def test_a_pull_request_is_not_blamed_for_what_its_base_has_repaired_since(bot: Bot) -> None:
    old = "axes: {symtom: true}\n"
    bot.github.versions = {"c" * 40: old, "b" * 40: old, "a" * 40: CONFIG}
    bot.github.left_at["b" * 40] = "c" * 40
    for others in (["README.md"], [f"src/{number}" for number in range(400)]):
        bot.github.also_changed = others
        bot.github.requests.clear()
        bot.deliver("pull_request", pull_request())
        bot.settle()
        assert bot.job().state == "ignored" and bot.github.check_runs == {}
        read = [request for request in bot.github.requests if request.path.startswith("/repos/")]
        assert len(read) == (3 if len(others) > 300 else 1)


def test_a_large_pull_request_is_checked_too(bot: Bot) -> None:
    bot.github.also_changed = [f"src/{number}" for number in range(400)]
    bot.github.versions = {"a" * 40: CONFIG, "b" * 40: COMMENTED}
    bot.deliver("pull_request", pull_request())
    bot.settle()
    assert [run["conclusion"] for run in bot.github.check_runs["b" * 40]] == ["success"]
