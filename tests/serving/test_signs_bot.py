# ruff: noqa: F401, F811  # fixtures
"""The App sets labels of signs."""

from __future__ import annotations

import pytest

from distriage.github import releases as releases_of_day

from support.bot import HANG, ISSUE, Bot, bot, make, store
from support.bot import github as with_issue
from support.github import PERSON, GitHub
from support.signs import BODY, SIGNS, asked, with_releases


@pytest.fixture
def github(with_issue: GitHub) -> GitHub:
    releases_of_day._kept._values.clear()
    with_releases(with_issue)
    with_issue.open(ISSUE, "It hangs", BODY)
    with_issue.files["owner/repo/.github/distriage.yml"] = SIGNS
    return with_issue


def test_the_app_sets_labels_of_signs_and_asks_for_releases_once_a_day(bot: Bot) -> None:
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG, "kind/regression", "affects-latest"]
    stored = bot.store.latest_verdict("owner/repo", 1)
    assert stored is not None and [one.says for one in stored.verdict.signs or ()] == [
        "Worked in 1.2.3, fails in 1.3.0.",
        "States 1.3.0, the newest release.",
    ]
    bot.issue("edited")
    assert asked(bot.github) == 1
    bot.github.unlabel(ISSUE, "kind/regression", PERSON)
    bot.issue("unlabeled")
    assert bot.github.labels(ISSUE) == [HANG, "affects-latest"]


def test_without_a_gate_nobody_asks_for_releases(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = "signs: {regression: true}\n"
    bot.issue("opened")
    assert "regression" in bot.github.labels(ISSUE) and asked(bot.github) == 0


def test_a_dry_run_sets_no_label_of_a_sign(bot: Bot) -> None:
    bot.github.files["owner/repo/.github/distriage.yml"] = f"{SIGNS}dry-run: true\n"
    bot.issue("opened")
    stored = bot.store.latest_verdict("owner/repo", 1)
    assert bot.github.labels(ISSUE) == [] and stored is not None
    assert ["label", "kind/regression"] in [list(change) for change in (stored.plan or {})["changes"]]
