"""Opening a database: migrations, and everything that can be wrong with a URL or with what is behind it."""

from __future__ import annotations

import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest
import yaml
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect, make_url, text
from sqlalchemy.pool import StaticPool

from distriage.base.errors import ConfigError
from distriage_serving.logs import LOGGER, JsonFormatter
from distriage_serving.store import (
    NewJob,
    Store,
    UnavailableError,
    database,
    engines,
)
from distriage_serving.store.database import UPGRADE_WAIT_S
from distriage_serving.store.engines import engine_for, parse
from distriage_serving.store.migrations import in_use
from distriage_serving.store.schema import Base

from support import store_worker
from support.checkout import REPOSITORY
from support.crash_worker import forkserver
from support.databases import Clock, fresh_postgresql
from support.waiting import WAIT_S

INSERT = (
    "INSERT INTO repositories (name, display_name, enabled, config, labels) VALUES ('o/r', 'O/R', TRUE, 'null', 'null')"
)


ISSUE = """
    INSERT INTO issues (repository, number, title, body, author, url, state, labels, assignee, comments, created_at,
        updated_at, waits_since, digest, priority, status, held)
    VALUES ('o/r', 1, 'T', 'B', 'a', 'u', 'open', '[]', '', 0, 5.0, 7.0, 5.0, 'd', 1.0, 'open', FALSE)
"""

VERDICT = """
    INSERT INTO verdicts (repository, number, model, taxonomy_version, digest, verdict, plan, made_at, week_at)
    VALUES ('o/r', 1, 'm', '1', 'd', '{}', '{"refused": ["the issue is locked"]}', 6.0, 0)
"""


def upgrade(connection: Connection, revision: str) -> None:
    """Bring an empty database to the tables of an older version."""
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def refused(url: str, *parts: str) -> None:
    """One line, which tells no password."""
    with pytest.raises(ConfigError) as error:
        Store.open(url)
    message = str(error.value)
    assert "\n" not in message and "s3cret" not in message
    for part in parts:
        assert part in message, message


def test_migrations_make_the_tables_of_the_schema_and_run_once(database_url: str) -> None:
    with Store.open(database_url) as first, first._session(writes=True) as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        session.execute(text(INSERT))
    with Store.open(database_url) as second:
        assert [repository.name for repository in second.list_repositories()] == ["o/r"]


def write_first(database_url: str) -> None:
    """A repository and its issue in the tables of revision 0001."""
    address = make_url(database_url)
    if address.get_backend_name() == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    engine = create_engine(address)
    with engine.begin() as connection:
        upgrade(connection, "0001")
        connection.execute(text(INSERT))
        connection.execute(text(ISSUE))
        connection.exec_driver_sql(VERDICT)
        connection.execute(text("UPDATE issues SET verdict_id = (SELECT max(id) FROM verdicts)"))
    engine.dispose()


def test_an_upgrade_brings_what_is_new_and_keeps_all_that_is_there(database_url: str) -> None:
    write_first(database_url)
    with Store.open(database_url) as store, store._session(writes=False) as session:
        found = {index["name"] for index in inspect(session.connection()).get_indexes("issues")}
        assert "issues_answered" in found
        assert [repository.display_name for repository in store.list_repositories()] == ["O/R"]
        kept = store.get_issue("o/r", 1)
        assert kept is not None and (kept.title, kept.updated_at, kept.looked_at) == ("T", 7.0, 7.0)
        assert kept.refused


@pytest.mark.slow
def test_processes_that_start_at_once_migrate_once(database_url: str) -> None:
    workers = [forkserver().Process(target=store_worker.start, args=(database_url,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(180)
    assert [worker.exitcode for worker in workers] == [0, 0]


def test_processes_that_start_at_once_upgrade_once(database_url: str) -> None:
    write_first(database_url)
    with ThreadPoolExecutor(5) as starting:
        for store in list(starting.map(Store.open, [database_url] * 5)):
            store.close()


def test_an_upgrade_waits_for_an_older_version_and_refuses_to_pull_the_tables_from_under_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_first(database_url)
    with ExitStack() as opened:
        with monkeypatch.context() as as_it_was:
            for module in (database, engines, in_use):
                as_it_was.setattr(module, "newest_revision", lambda: "0001")
            older = opened.enter_context(Store.open(database_url))
            others = opened.enter_context(Store.open(database_url))  # a worker beside the server
        others.close()
        with pytest.raises(ConfigError, match=r"is at revision 0001, and an older Distriage works on it; stop all"):
            Store.open(database_url, patience_s=0)
        with older._session(writes=False) as session:
            assert session.scalar(text("SELECT version_num FROM alembic_version")) == "0001"
        ending = threading.Timer(1.0, older.close)
        ending.start()
        with Store.open(database_url, patience_s=WAIT_S) as store:
            assert [row.name for row in store.list_repositories()] == ["o/r"]
        ending.join()


def test_manifest_compose_and_guide_stop_the_old_version_first() -> None:
    documents = yaml.safe_load_all((REPOSITORY / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8"))
    strategies = [each["spec"]["strategy"] for each in documents if each["kind"] == "Deployment"]
    assert strategies and all(strategy == {"type": "Recreate"} for strategy in strategies)
    upgrade_part = (REPOSITORY / "docs" / "operators.md").read_text(encoding="utf-8").partition("**Upgrade.**")[2]
    assert upgrade_part.strip().startswith("Stop")
    compose = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))
    # Compose starts the new server before it stops the old worker: the server waits, and starts again if that is long.
    assert all(compose["services"][name]["restart"] == "unless-stopped" for name in ("server", "worker"))
    assert int(compose["services"]["worker"]["stop_grace_period"].removesuffix("s")) < UPGRADE_WAIT_S


def test_a_newer_database_is_refused_and_left_as_it_is(database_url: str) -> None:
    with Store.open(database_url) as store, store.transaction(), store._session(writes=True) as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    refused(database_url, "is at revision 9999, which a newer Distriage made; this one knows up to 0004")


def test_an_older_database_is_left_as_it_is_where_no_server_starts(database_url: str) -> None:
    with Store.open(database_url, upgrades=False) as store, store._session(writes=True) as session:  # made, if empty
        session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with pytest.raises(ConfigError, match=r"is at revision 0001, older than 0004.*`distriage serve`") as error:
        Store.open(database_url, upgrades=False)
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match=r"already exists|duplicate column"):
        Store.open(database_url)  # it would


def test_somebody_elses_tables_are_refused_and_nothing_is_left_behind(database_url: str) -> None:
    with Store.open(database_url) as store, store._session(writes=True) as session:
        for table in reversed(Base.metadata.sorted_tables):
            session.execute(text(f"DROP TABLE {table.name}"))
        session.execute(text("DROP TABLE alembic_version"))
        session.execute(text("CREATE TABLE verdicts (mine INTEGER)"))
    refused(database_url, "verdicts", "already exists")
    refused(database_url, "verdicts", "already exists")


def test_a_sqlite_file_is_readable_to_its_owner_only(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        store.check()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes.keys() >= {"store.db", "store.db-wal"}
    assert set(modes.values()) == {0o600}


def test_what_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"These are notes, and long enough to be looked at: " * 100)
    content = file.read_bytes()
    refused(f"sqlite:///{file}", str(file), "file is not a database")
    assert file.read_bytes() == content
    refused(f"sqlite:///{tmp_path}", str(tmp_path), "unable to open database file")
    refused(f"sqlite:///{tmp_path / 'none' / 'store.db'}", "No such file or directory")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "distriage.db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&uri=true",
        "mysql://root:s3cret@localhost/x",
        "postgresql://me:s3cret@localhost:${PORT}/x",
        "postgresql://me:p@s3cret@localhost/x",
        "postgresql://me:p@s3cret/word@localhost/x",
        "mysql://localhost/x?password=s3cret",
        "postgresql://me:p@x/y?s3cret=1@localhost/x",
        "postgresql://me:s3cret@localhost/x?autocommit=1",
        "postgresql://me:s3cret@localhost/x?sslmode=require&prepare_threshold=0",
        "sqlite:///store.db?mode=ro",
    ],
)
def test_a_url_that_names_no_database_of_a_kind_we_know_is_refused(url: str) -> None:
    refused(url, "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE")


def test_an_unreachable_postgresql_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    refused(f"postgresql://me:s3cret@127.0.0.1:{port}/x", "postgresql+psycopg://me:***@127.0.0.1", "onnection refused")
    refused("postgresql://me:s3cret@/x?host=/nowhere", "No such file or directory")
    refused("postgresql:///x?host=/nowhere&user=me&password=s3cret", "postgresql+psycopg:///x: ")


def test_a_silent_connection_is_given_up_unless_the_url_says_otherwise(postgresql_server: str) -> None:
    address = make_url(postgresql_server).update_query_dict({"keepalives_idle": "90"})
    engine = engine_for(parse(address.render_as_string(hide_password=False)))
    with engine.connect() as connection:
        asked = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
    engine.dispose()
    assert (asked["tcp_user_timeout"], asked["keepalives_idle"], asked["keepalives_count"]) == ("30000", "90", "3")


@pytest.mark.parametrize(("options", "waits"), [({}, "7s"), ({"options": "-c lock_timeout=9s"}, "9s")])
def test_a_lock_is_waited_for_as_long_as_the_url_says(
    postgresql_server: str, options: dict[str, str], waits: str
) -> None:
    address = make_url(postgresql_server).update_query_dict(options)
    engine = engine_for(parse(address.render_as_string(hide_password=False)))
    with engine.connect() as connection:
        asked = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
        connection.rollback()
        assert connection.scalar(text("SHOW lock_timeout")) == waits
    engine.dispose()
    assert asked.get("options") == options.get("options")  # PgBouncer refuses connections that begin with some


def test_a_pooler_of_transactions_is_refused(postgresql_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PgBouncer gives the transactions of all our connections to the same ones of PostgreSQL, as this engine does."""
    with fresh_postgresql(postgresql_server) as url:
        engine = create_engine(parse(url), poolclass=StaticPool)
        monkeypatch.setattr(database, "engine_for", lambda _: engine)
        refused(url, "is behind a pooler of transactions; expected sessions, or no pooler")


def test_a_postgresql_without_that_database_is_one_line(postgresql_server: str) -> None:
    refused(postgresql_server.replace("/postgres?", "/none?"), 'database "none" does not exist')


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_postgresql_that_cannot_hold_all_text_is_refused(postgresql_server: str, encoding: str) -> None:
    with fresh_postgresql(postgresql_server, encoding) as url:
        refused(url, f"its encoding is {encoding}; expected a database in UTF8")


def test_who_only_reads_cannot_write_by_mistake(store: Store) -> None:
    store.save_repository("o/r", display_name="O/R")
    with store.reading(), store.reading():
        assert [known.display_name for known in store.list_repositories()] == ["O/R"]
        with pytest.raises(RuntimeError, match="only read here"):
            store.save_repository("o/r", display_name="o/r")
    store.save_repository("o/r", display_name="o/r")
    with store.transaction(), store.reading():
        store.save_repository("o/r", display_name="r/o")
    assert [known.display_name for known in store.list_repositories()] == ["r/o"]


def test_a_database_that_goes_away_is_said_to_be_unavailable_and_used_again_when_it_is_back(
    postgresql_server: str,
) -> None:
    with fresh_postgresql(postgresql_server) as url, Store.open(url) as store:
        with (
            Store.open(url) as other,
            pytest.raises(UnavailableError, match="terminating connection"),
            store.transaction(),
        ):
            store.put_job(NewJob("check:a", "check", "o/r"))
            with other._session(writes=True) as session:
                session.execute(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                        "current_database() AND pid <> pg_backend_pid()"
                    )
                )
            store.put_job(NewJob("check:b", "check", "o/r"))
        assert store.counts()["jobs"]["waiting"] == 0


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str | None]]:
    """Event and reason of each line of the log."""
    lines = [record for record in caplog.records if record.name == LOGGER.name]
    return [(line.message, line.fields.get("reason")) for line in lines]  # type: ignore[attr-defined]


def test_the_log_says_once_why_the_database_is_away_and_once_that_it_is_back(
    postgresql_server: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(database, "PROBE_EVERY_S", 0)
    with fresh_postgresql(postgresql_server) as url, Store.open(url) as store:
        name = make_url(url).database
        for setting in ("on", "off"):
            with psycopg.connect(postgresql_server, autocommit=True) as server:
                server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {setting}".encode())
            store._engine.dispose()
            for _ in range(3):
                with suppress(UnavailableError):
                    store.check()
            assert store.figures()["database_up"] == {(): setting == "off"}
        with pytest.raises(UnavailableError) as full, store._session(writes=True) as session:
            session.execute(text("DO $$ BEGIN RAISE 'Secret words' USING ERRCODE = 'disk_full'; END $$"))
    assert full.value.disk_is_full
    assert said(caplog) == [
        ("store_unavailable", "ReadOnlySqlTransaction (25006)"),
        ("store_available", None),
        ("store_unavailable", "DiskFull (53100)"),
    ]
    assert "Secret" not in "".join(map(JsonFormatter().format, caplog.records))


def test_the_log_says_why_no_connection_comes_about(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    address = parse(f"postgresql://me:s3cret@127.0.0.1:{port}/x")
    with Store(partial(engine_for, address), Clock()) as store, pytest.raises(UnavailableError):
        store.list_repositories()
    ((event, why),) = said(caplog)
    assert event == "store_unavailable" and why is not None
    assert "Connection refused" in why and "s3cret" not in why
