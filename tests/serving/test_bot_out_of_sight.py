# ruff: noqa: F401, F811  # fixtures
"""Repositories and issues that GitHub does not show, for a while or for good; what another worker did meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from distriage.taxonomy import default_taxonomy
from distriage_serving.bot import reconcile, triage
from distriage_serving.bot.repositories import CurrentConfig
from distriage_serving.github.app_auth import App
from distriage_serving.store import Issue, Job

from support import faults
from support.app_key import APP_ID, app_key
from support.bot import CONFIG, HANG, ISSUE, OTHER_BOT, Bot, bot, github, make, store
from support.faults import Trouble
from support.github import INSTALLATION

FILE = "owner/repo/.github/distriage.yml"


def out_of_sight(bot: Bot) -> None:
    """The repository is not shown to the App."""
    bot.github.troubles.append(Trouble("^GET /repos/owner/repo$", faults.status(404), times=99))


def test_an_issue_of_a_repository_that_is_out_of_sight_stays_open(bot: Bot) -> None:
    bot.issue("opened")
    bot.deliver("issues", bot.github.payload("reopened", ISSUE))
    del bot.github.issues[ISSUE]
    out_of_sight(bot)
    bot.settle()
    assert bot.stored().state == "open" and bot.job().state == "ignored"


@pytest.mark.parametrize("shown", [True, False])
def test_a_comparison_that_settles_nothing_is_not_asked_for_again(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, shown: bool
) -> None:
    monkeypatch.setattr(reconcile, "MAX_LOOKED_AT", 1)
    for number in range(1, 4):
        filed: dict[str, Any] = {"created_at": 1.0, "updated_at": 1.0}
        bot.store.save_issue(
            Issue(repository="owner/repo", number=number, title="", body="", author="a", url="", **filed)
        )
        if shown:
            bot.github.open(f"owner/repo#{number}", "", user=OTHER_BOT)
    if not shown:
        bot.github.issues.clear()
        out_of_sight(bot)
    client = App(APP_ID, app_key(), bot.github.url).installation_client(INSTALLATION)
    done = reconcile.reconcile(client, bot.store, default_taxonomy(), "owner/repo", INSTALLATION)
    assert done.jobs == () and len(bot.store.open_issues("owner/repo")) == 3
    asked = [request.path for request in bot.github.requests if request.path.startswith("/repos/owner/repo/issues/")]
    assert len(asked) == (0 if shown else 1)


def test_work_that_waits_does_not_bring_a_repository_back_that_the_app_was_taken_off(bot: Bot) -> None:
    bot.issue("opened")
    bot.deliver("issues", bot.github.payload("reopened", ISSUE))
    bot.worker.step()
    bot.store.disable_repositories(INSTALLATION, ["owner/repo"])
    bot.settle()
    assert bot.store.list_repositories(enabled=True) == []
    assert (bot.job().state, bot.job().last_error) == ("ignored", "the App was taken off the repository")


def test_an_issue_that_read_the_broken_configuration_does_not_wait_for_a_repair_that_was(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = triage.current_config

    def read_and_repair(*where: Any) -> CurrentConfig:
        monkeypatch.setattr(triage, "current_config", read)
        found = read(*where)
        bot.github.files[FILE] = CONFIG
        read(*where)  # by another worker, which lets go what waits
        return found

    bot.github.files[FILE] = "axes:\n  symtom: true\n"
    monkeypatch.setattr(triage, "current_config", read_and_repair)
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG] and bot.store.held_issues("owner/repo") == []
