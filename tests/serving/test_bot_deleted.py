# ruff: noqa: F401, F811  # fixtures
"""A repository that is deleted, and one that is made anew under its name."""

from __future__ import annotations

from distriage_serving.bot.reconcile import EVERY_S
from distriage_serving.store import IssueFilter, Job, Review, reconcile_job

from support.bot import HANG, ISSUE, OOM, Bot, Make, bot, github, make, store
from support.github import INSTALLATION

NEW_TITLE, NEW_BODY = "Memory", "It is out of memory, exhausted memory, memory exhausted."


def happens(bot: Bot, action: str) -> None:
    """An event of the repository, and all that follows from it."""
    payload = {"action": action, "repository": {"full_name": "Owner/Repo"}, "installation": {"id": INSTALLATION}}
    bot.deliver("repository", payload)
    bot.settle()


def test_a_repository_made_anew_under_a_deleted_one_s_name_inherits_no_decision(bot: Bot) -> None:
    bot.github.repositories = {"Owner/Repo"}
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG]
    for axis in ("kind", "stage", "symptom"):
        dismissed = {"label": None, "who": "admin:default", "how": "queue", "at": bot.clock()}
        bot.store.add_reviews(Review(repository="owner/repo", number=1, axis=axis, **dismissed))
    assert bot.stored().status == "dismissed"
    bot.github.repositories = set()
    bot.github.issues.clear()
    bot.github.timelines.clear()
    happens(bot, "deleted")
    assert bot.stored().state == "deleted" and bot.store.list_repositories(enabled=True) == []
    bot.clock.now += 10
    at = "2999-01-01T00:00:00Z"
    bot.github.open(ISSUE, NEW_TITLE, NEW_BODY, created_at=at, updated_at=at)
    bot.github.repositories = {"Owner/Repo"}
    happens(bot, "created")
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [OOM]
    (item,) = bot.store.list_issues(IssueFilter()).items
    assert (item[0].title, item[0].status) == (NEW_TITLE, "open")


def test_a_deletion_that_is_heard_of_late_leaves_the_app_on_the_new_repository(bot: Bot) -> None:
    bot.github.repositories = {"Owner/Repo"}
    bot.issue("opened")
    happens(bot, "deleted")
    assert [row.name for row in bot.store.list_repositories(enabled=True)] == ["owner/repo"]


def test_a_deletion_that_is_heard_of_late_does_not_bury_the_new_repository_s_issues(bot: Bot) -> None:
    bot.github.repositories = {"Owner/Repo"}
    bot.issue("opened")
    happens(bot, "deleted")
    assert bot.stored().state == "deleted"
    bot.clock.now += EVERY_S + 1
    bot.store.put_job(reconcile_job("owner/repo", INSTALLATION))
    bot.settle()
    assert bot.stored().state == "open" and bot.github.labels(ISSUE) == [HANG]
    assert [item.number for item, _ in bot.store.list_issues(IssueFilter()).items] == [1]


def test_a_deletion_of_what_nobody_knows_asks_for_nothing(bot: Bot) -> None:
    happens(bot, "deleted")
    assert bot.store.list_work(Job) == [] and bot.store.list_repositories() == []
