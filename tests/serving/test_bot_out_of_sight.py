# ruff: noqa: F401, F811  # fixtures
"""Repositories and issues that GitHub does not show, for a while or for good; what another worker did meanwhile."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import event

from distriage.model.taxonomy import default_taxonomy
from distriage_serving.bot import kinds, reconcile, triage, worker
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.repositories import CurrentConfig
from distriage_serving.bot.sweep import SWEEP_EVERY_S
from distriage_serving.github.app_auth import App
from distriage_serving.store import Issue, Job, UnavailableError, reconcile_job

from support import faults
from support.app_key import APP_ID, app_key
from support.bot import BODY, CONFIG, HANG, ISSUE, OTHER_BOT, TITLE, Bot, Make, bot, github, make, store
from support.faults import Trouble
from support.github import INSTALLATION
from support.waiting import WAIT_S, until

FILE = "owner/repo/.github/distriage.yml"


def still_open(bot: Bot) -> list[int]:
    return [number for number, (state, *_) in bot.store.issue_states("owner/repo").items() if state == "open"]


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


def test_while_issues_are_switched_off_none_counts_as_deleted(bot: Bot) -> None:
    bot.issue("opened")
    bot.deliver("issues", bot.github.payload("edited", ISSUE))
    bot.github.gone.add(ISSUE)  # GitHub answers 410 for each
    bot.github.without_issues.add("owner/repo")
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
    done = reconcile.reconcile(
        client, bot.store, default_taxonomy(), bot.store.put_job(reconcile_job("owner/repo", INSTALLATION))
    )
    assert done.jobs == () and still_open(bot) == [1, 2, 3]
    asked = [request.path for request in bot.github.requests if request.path.startswith("/repos/owner/repo/issues/")]
    assert len(asked) == (0 if shown else 1)


def test_many_issues_that_were_closed_unseen_are_settled_in_several_comparisons(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "MAX_LOOKED_AT", 2)
    for number in range(2, 7):
        filed: dict[str, Any] = {"created_at": 1.0, "updated_at": 1.0}
        bot.store.save_issue(
            Issue(repository="owner/repo", number=number, title="", body="", author="a", url="", **filed)
        )
        bot.github.open(f"owner/repo#{number}", "", state="closed")
    bot.store.put_job(reconcile_job("owner/repo", INSTALLATION))
    bot.settle()
    assert still_open(bot) == []


def test_a_comparison_reads_the_store_as_often_however_many_issues_it_does_not_know(bot: Bot) -> None:
    bot.issue("opened")
    client = App(APP_ID, app_key(), bot.github.url).installation_client(INSTALLATION)
    statements: list[int] = []
    event.listen(bot.store._read_engine, "before_cursor_execute", lambda *_: statements.append(1))
    counts = []
    for numbers in (range(2, 3), range(3, 40)):
        for number in numbers:
            bot.github.open(f"owner/repo#{number}", "It hangs", "since before the App came")
        statements.clear()
        assert (
            reconcile.reconcile(
                client, bot.store, default_taxonomy(), bot.store.put_job(reconcile_job("owner/repo", INSTALLATION))
            ).jobs
            == ()
        )
        counts.append(len(statements))
    assert counts[0] == counts[1]


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


def installed(bot: Bot, event: str, action: str, **more: Any) -> None:
    """An event of the installation, and all that follows from it."""
    bot.deliver(event, {"action": action, "installation": {"id": INSTALLATION}, **more})
    bot.settle()


def on(bot: Bot) -> list[str]:
    """The repositories that the App is on, as the store has them."""
    return [row.name for row in bot.store.list_repositories(enabled=True)]


def test_the_end_of_a_suspension_brings_back_the_repositories_that_the_app_is_on(bot: Bot) -> None:
    """GitHub does not name them then."""
    bot.github.repositories = {"owner/kept", "owner/left"}
    bot.github.page_items = 1
    installed(bot, "installation", "created", repositories=[{"full_name": "owner/kept"}, {"full_name": "owner/left"}])
    bot.issue("opened")
    installed(bot, "installation", "suspend")
    assert on(bot) == []
    bot.github.repositories = {"owner/kept"}
    bot.github.open("owner/repo#2", TITLE, BODY)
    bot.deliver("installation", {"action": "unsuspend", "installation": {"id": INSTALLATION}})
    bot.deliver("issues", bot.github.payload("opened", "owner/repo#2"))
    bot.settle(0)
    assert on(bot) == ["owner/kept", "owner/repo"] and bot.github.labels("owner/repo#2") == [HANG]


def test_what_an_event_claims_of_the_installation_is_asked_of_github(bot: Bot) -> None:
    bot.github.repositories = {"Owner/There"}
    installed(bot, "installation_repositories", "added", repositories_added=[{"full_name": "owner/gone"}])
    installed(bot, "installation_repositories", "removed", repositories_removed=[{"full_name": "Owner/There"}])
    assert on(bot) == ["owner/repo", "owner/there"]


def test_an_installation_of_many_repositories_is_noted_at_once(bot: Bot) -> None:
    names = [f"owner/r{number}" for number in range(1201)]
    bot.store.enable_repositories(INSTALLATION, [*names, "Owner/R7"])
    bot.store.disable_repositories(INSTALLATION, names[1:])
    assert on(bot) == ["owner/r0"] and len(bot.store.list_repositories()) == 1201


def test_a_token_that_was_revoked_is_replaced(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.tokens = dict.fromkeys(bot.github.tokens, 0.0)
    bot.issue("reopened")
    assert (bot.job().kind, bot.job().state, bot.job().attempts) == ("triage", "done", 2)


def test_a_worker_that_sees_that_another_has_its_job_writes_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = make(lease_s=0.3)
    triage_now = kinds.triage

    def too_slowly(*what: Any) -> Done:
        bot.clock.now += 1
        assert len(bot.store.lease(Job, "another", 60)) == 1
        for beat in [thread for thread in threading.enumerate() if "(beat)" in thread.name]:
            beat.join(WAIT_S)
        return triage_now(*what)

    monkeypatch.setattr(kinds, "triage", too_slowly)
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [] and (bot.job().state, bot.job().lease_owner) == ("leased", "another")


def test_a_lease_is_renewed_long_before_its_end(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever renews it at its end may be too late: another has the job, and it is begun again and again."""
    bot = make(lease_s=0.3)
    triage_now, wait = kinds.triage, threading.Event.wait
    waits: list[float | None] = []

    def noted(self: threading.Event, timeout: float | None = None) -> bool:
        if "(beat)" in threading.current_thread().name:
            waits.append(timeout)
        return wait(self, timeout)

    def slowly(*what: Any) -> Done:
        for _ in range(2):
            bot.clock.now += 0.2
            before = len(waits)
            until(lambda: len(waits) >= before + 2)  # noqa: B023  # between the two, it is renewed at this time
        assert bot.store.lease(Job, "another", 60) == []
        return triage_now(*what)

    monkeypatch.setattr(threading.Event, "wait", noted)
    monkeypatch.setattr(kinds, "triage", slowly)
    bot.issue("opened")
    assert bot.github.labels(ISSUE) == [HANG] and bot.job().attempts == 1
    assert all(timeout is not None and timeout < 0.15 for timeout in waits)


def test_a_permission_that_was_granted_counts_at_once(bot: Bot) -> None:
    bot.issue("opened")
    bot.github.tokens = dict.fromkeys(bot.github.tokens, 0.0)  # what the old token may not do
    installed(bot, "installation", "new_permissions_accepted")
    assert [job.attempts for job in bot.store.list_work(Job) if job.kind == "access"] == [1]


def test_a_repository_that_takes_the_name_of_one_that_is_gone_is_worked_on(bot: Bot) -> None:
    bot.store.enable_repositories(INSTALLATION, ["owner/name"])
    bot.store.disable_repositories(INSTALLATION, ["owner/name"])
    bot.issue("opened")
    bot.github.rename("owner/repo", "owner/name")
    changes = {"repository": {"name": {"from": "repo"}}}
    installed(bot, "repository", "renamed", changes=changes, repository={"full_name": "owner/name"})
    bot.github.open("owner/name#2", TITLE, BODY)
    bot.deliver("issues", bot.github.payload("opened", "owner/name#2"))
    bot.settle()
    assert on(bot) == ["owner/name"] and bot.github.labels("owner/name#2") == [HANG]


@pytest.mark.parametrize("trouble", ["refused", "database away"])
def test_what_a_failed_comparison_did_not_keep_the_next_one_finds(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    bot.issue("opened")
    compared(bot)  # from now on what is new was missed
    missed = bot.github.open("owner/repo#2", TITLE, BODY)
    filed_at = bot.clock() - reconcile.OVERLAP_S / 2  # by GitHub's clock, which is behind
    missed["created_at"] = missed["updated_at"] = datetime.fromtimestamp(filed_at, UTC).isoformat()
    if trouble == "refused":
        bot.github.troubles.append(Trouble(r"^GET /repos/owner/repo/issues\?", faults.status(403)))
        compared(bot)
    else:
        with monkeypatch.context() as patched, pytest.raises(UnavailableError):
            patched.setattr(worker, "follow_job", away)
            compared(bot)
    assert bot.github.labels("owner/repo#2") == []
    compared(bot)
    assert bot.github.labels("owner/repo#2") == [HANG]


def compared(bot: Bot) -> None:
    """The next comparison with GitHub, and all that follows from it."""
    bot.clock.now += reconcile.EVERY_S + 1
    bot.store.put_job(reconcile_job("owner/repo", INSTALLATION))
    bot.settle()


def away(*_: object) -> None:
    """The database goes away."""
    raise UnavailableError("the database is away")


def test_many_repositories_are_compared_little_by_little_and_all_in_their_time(bot: Bot) -> None:
    names = [f"owner/r{number:04}" for number in range(1000)]
    bot.store.enable_repositories(INSTALLATION, names)
    compared: list[str] = []
    for _ in range(int(reconcile.EVERY_S / SWEEP_EVERY_S)):
        jobs = reconcile.due(bot.store, SWEEP_EVERY_S)
        assert len(jobs) <= 28
        for job in jobs:
            bot.store.save_repository(job.repository, reconciled_at=bot.clock())
        compared += [job.repository for job in jobs]
        bot.clock.now += SWEEP_EVERY_S
    assert sorted(compared) == names
