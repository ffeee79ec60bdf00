"""`distriage inbox`, and what the commands beside the server do to its database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from distriage.base.references import IssueReference
from distriage_serving.store import Delivery, Job, Store, triage_job
from distriage_serving.store.migrations.in_use import newest_revision

from support.command_line import Command, assert_one_line
from support.databases import new_sqlite


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    url = new_sqlite(tmp_path / "store.db")
    monkeypatch.setenv("DISTRIAGE_DATABASE", url)
    with Store.open(url) as store:
        yield store


def test_inbox_shows_dead_letters_and_replays_them(database: Store, command: Command) -> None:
    for number in (1, 2):
        database.add_delivery(
            Delivery(
                id=f"guid-{number}",
                event="issues",
                action="opened",
                repository="owner/repo",
                issue=1,
                payload="{}",
                received_at=1.0,
            )
        )
    database.finish(database.lease(Delivery, "worker", 60)[0], "dead", "it \x1b[31mfailed\x1b[0m")
    job = database.put_job(triage_job(IssueReference("owner/repo", 1), 1))
    database.finish(database.lease(Job, "worker", 60)[0], "dead", "no permission")
    shown = command("inbox", "dead").out
    assert "guid-1  issues.opened  owner/repo#1  dead  attempts 1  it  [31mfailed [0m" in shown and "\x1b" not in shown
    assert f"job:{job.id}  triage  owner/repo#1  dead  attempts 1  no permission" in shown and "guid-2" not in shown
    assert "deliveries: 1 waiting, 1 dead; jobs: 1 dead" in shown
    assert command("inbox", "replay", f"job:{job.id}").out == f"job:{job.id} waits again\n"
    assert command("inbox", "replay", "all").out == "1 wait again\n"
    assert "guid-1" in command("inbox", "list", "--state", "waiting").out
    for name in ("replay", "drop"):
        assert_one_line(
            command("inbox", name, "guid-1"),
            f"inbox {name} 'guid-1'",
            "expected the id of a delivery or job that was given up",
        )


def test_inbox_puts_dead_letters_away(database: Store, command: Command) -> None:
    for number in (1, 2, 3):
        job = database.put_job(triage_job(IssueReference("owner/repo", number), 1))
        database.finish(database.lease(Job, "worker", 60)[0], "dead", "no permission")
    assert command("inbox", "drop", f"job:{job.id}").out == f"job:{job.id} dropped\n"
    assert command("inbox", "drop", "all").out == "2 dropped\n"
    assert command("inbox", "drop", "all").out == "0 dropped\n"
    assert "deliveries: none; jobs: 3 ignored" in command("inbox", "dead").out


@pytest.mark.parametrize(
    "call", ["inbox list", "inbox dead", "inbox replay all", "inbox drop all", "sessions list", "reviews export"]
)
def test_what_no_server_is_leaves_an_older_database_as_it_is(database: Store, command: Command, call: str) -> None:
    with database._session(writes=True) as session:
        session.execute(sql("UPDATE alembic_version SET version_num = '0001'"))
    assert_one_line(command(*call.split()), f"is at revision 0001, older than {newest_revision()}", "`distriage serve`")
    with database._session(writes=False) as session:
        assert session.scalar(sql("SELECT version_num FROM alembic_version")) == "0001"


def test_inbox_makes_no_database_in_a_wrong_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISTRIAGE_DATABASE", raising=False)
    for call in (("list",), ("dead",), ("replay", "all")):
        assert_one_line(command("inbox", *call), "sqlite:///distriage.db: no such file")
    assert_one_line(command("inbox", "list", "--database", "sqlite:///other.db"), "sqlite:///other.db: no such file")
    assert list(tmp_path.iterdir()) == []


def test_worker_needs_the_bot_s_settings(database: Store, command: Command) -> None:  # noqa: ARG001
    assert_one_line(command("worker"), "DISTRIAGE_GITHUB_APP_ID", "expected the id of a GitHub App")
