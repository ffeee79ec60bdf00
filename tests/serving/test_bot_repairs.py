# ruff: noqa: F401, F811  # fixtures
"""A configuration that is repaired while another worker still reads the broken one; on both databases."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from distriage.model.taxonomy import default_taxonomy
from distriage_serving.bot import repositories
from distriage_serving.bot.repositories import current_config
from distriage_serving.github.app_auth import App
from distriage_serving.store import Store

from support.app_key import APP_ID, app_key
from support.bot import CONFIG, HANG, ISSUE, Bot, bot, github, make
from support.github import INSTALLATION
from support.waiting import WAIT_S

FILE = "owner/repo/.github/distriage.yml"
BROKEN = "axes: {symtom: true}\n"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store.open(store_url) as opened:
        yield opened


def repair(bot: Bot) -> None:
    """Another worker reads the file, which is repaired by now."""
    bot.github.files[FILE] = CONFIG
    client = App(APP_ID, app_key(), bot.github.url).installation_client(INSTALLATION)
    assert current_config(client, bot.store, default_taxonomy(), "owner/repo", INSTALLATION).error is None


def test_an_issue_that_is_about_to_be_held_is_let_go_by_the_repair(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    hold, about_to, repaired = bot.store.hold, threading.Event(), threading.Event()

    def slowly(*issue: Any, held: bool) -> None:
        about_to.set()
        repaired.wait(1.0)  # unless it waits for us
        hold(*issue, held=held)

    bot.github.files[FILE] = BROKEN
    monkeypatch.setattr(bot.store, "hold", slowly)
    bot.deliver("issues", bot.github.payload("opened", ISSUE))
    working = threading.Thread(target=bot.settle, args=(0.0,))
    working.start()
    assert about_to.wait(WAIT_S)
    repair(bot)
    repaired.set()
    working.join()
    monkeypatch.undo()
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG] and bot.store.held_issues("owner/repo") == []


def test_an_issue_that_was_held_while_the_repaired_file_was_read_is_let_go(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = repositories.read_config

    def read_slowly(*where: Any) -> Any:
        monkeypatch.setattr(repositories, "read_config", read)
        found = read(*where)
        bot.github.files[FILE] = BROKEN
        bot.issue("opened")
        return found

    monkeypatch.setattr(repositories, "read_config", read_slowly)
    repair(bot)
    bot.github.files[FILE] = CONFIG
    bot.settle()
    assert bot.github.labels(ISSUE) == [HANG] and bot.store.held_issues("owner/repo") == []
