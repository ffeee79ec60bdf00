"""Opening a database: migrations, and everything that can be wrong with a URL or with what is behind it."""

from __future__ import annotations

import socket
import stat
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, make_url, text

from distriage.answer.verdict import Verdict
from distriage.base.errors import ConfigError
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.store import (
    NOBODY_WAITS,
    IssueFilter,
    Job,
    NewJob,
    Review,
    Store,
    StoredVerdict,
    UnavailableError,
    database,
)
from distriage_serving.store.database import UPGRADE_WAIT_S
from distriage_serving.store.migrations import in_use
from distriage_serving.store.schema import Base

from support import store_worker
from support.checkout import REPOSITORY
from support.crash_worker import forkserver
from support.databases import NOW, fresh_postgresql
from support.verdicts import axis_verdict, make_verdict
from support.waiting import WAIT_S

FIRST_ROWS: dict[str, dict[str, object]] = {
    "repositories": {
        "name": "o/r",
        "display_name": "O/R",
        "installation_id": 7,
        "enabled": True,
        "config": "null",
        "seen_at": 0.0,
    },
    "issues": {
        "repository": "o/r",
        "number": 3,
        "title": "It hangs",
        "body": "",
        "author": "x",
        "url": "",
        "state": "open",
        "is_bot": False,
        "labels": '["bug"]',
        "created_at": 1.0,
        "updated_at": 2.0,
        "digest": "",
        "needs": 2.5,
        "status": "corrected",
        "prediction_id": 1,
    },
    "predictions": {
        "repository": "o/r",
        "number": 3,
        "model": "m",
        "taxonomy_version": "1",
        "digest": "",
        "verdict": "VERDICT",
        "plan": '{"labels": ["a"]}',
        "made_at": 1.0,
        "week_at": 0,
    },
    "prediction_axes": {
        "prediction_id": 1,
        "axis": "symptom",
        "label": "runtime-hang",
        "probability": 0.9,
        "outcome": "apply",
    },
    "verdicts": {
        "repository": "o/r",
        "number": 3,
        "axis": "symptom",
        "label": "setup-hang",
        "prediction_id": 1,
        "who": "x",
        "how": "queue",
        "at": 9.0,
        "note": "",
    },
    "jobs": {
        "key": "triage:o/r#3",
        "lane": "o/r#3",
        "kind": "verdict",
        "argument": "null",
        "created_at": 1.0,
        "repository": "o/r",
        "issue": 3,
        "state": "waiting",
        "attempts": 0,
        "due_at": 1.0,
    },
}


def first_verdict(verdict: Verdict) -> str:
    """A verdict as 0001 had it: what it says today, without what it did not say then."""
    since = {"checks", "in_domain", "domain_probability", "known_problems"}
    return verdict.model_dump_json(exclude=since)


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
        session.execute(
            text("INSERT INTO repositories (name, display_name, enabled, config) VALUES ('o/r', 'O/R', TRUE, 'null')")
        )
    with Store.open(database_url) as second:
        assert [repository.name for repository in second.list_repositories()] == ["o/r"]


def write_first(database_url: str, *more: tuple[str, dict[str, object]]) -> Verdict:
    """`FIRST_ROWS` and more rows, written at revision 0001; the verdict among them."""
    address = make_url(database_url)
    if address.get_backend_name() == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    engine = create_engine(address)
    verdict = make_verdict(axis_verdict("symptom", "runtime-hang"))
    with engine.begin() as connection:
        upgrade(connection, "0001")
        for table, values in (*FIRST_ROWS.items(), *more):
            names = ", ".join(values)
            connection.execute(
                text(f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in values)})"),
                {name: first_verdict(verdict) if value == "VERDICT" else value for name, value in values.items()},
            )
    engine.dispose()
    return verdict


def test_the_filters_of_an_older_database_follow_the_kind_that_a_person_chose(database_url: str) -> None:
    kind = ("verdicts", {**FIRST_ROWS["verdicts"], "axis": "kind", "label": "question"})
    write_first(database_url, ("prediction_axes", {**FIRST_ROWS["prediction_axes"], "axis": "kind"}), kind)
    with Store.open(database_url) as store:
        for symptom, count in (("setup-hang", 0), ("", 1)):
            assert store.count_issues(IssueFilter(status=None, labels={"symptom": symptom})) == count
        assert not store.count_issues(IssueFilter(status=None, outcome="apply"))


def test_a_database_of_the_first_tables_keeps_all_that_is_in_it(database_url: str) -> None:
    """Written at revision 0001, read with the tables of today."""
    verdict = write_first(database_url)
    with Store.open(database_url, lambda: NOW) as store:
        repository = store.get_repository("o/r")
        assert repository is not None and (repository.display_name, repository.installation_id) == ("O/R", 7)
        issue, stored = store.get_issue("o/r", 3), store.latest_verdict("o/r", 3)
        assert issue is not None and stored is not None
        assert (issue.priority, issue.status, issue.verdict_id, issue.labels) == (2.5, "corrected", 1, ["bug"])
        assert (issue.comments, issue.waits_since) == (-1, NOBODY_WAITS)  # its thread was never read
        assert stored.verdict == verdict.model_copy(update={"checks": []}) and stored.plan == {"labels": ["a"]}
        assert [
            row.verdict_id
            for row in store.list_issues(IssueFilter(status=None, labels={"symptom": "setup-hang"})).items[0][:1]
        ] == [1]  # what the person decided
        (review,) = store.reviews()
        assert (review.label, review.who, review.how, review.at, review.verdict_id) == (
            "setup-hang",
            "x",
            "queue",
            9.0,
            1,
        )
        store.undo_reviews(review.id)
        store.add_reviews(Review(repository="o/r", number=3, axis="stage", label=None, who="y", how="queue", at=1.0))
        (job,) = store.lease(Job, "me", 60.0)
        assert (job.kind, job.issue, job.key) == ("triage", 3, "triage:o/r#3")
        assert (
            store.save_verdict(
                StoredVerdict(
                    repository="o/r", number=3, model="m", taxonomy_version="1", digest="", verdict=verdict, made_at=NOW
                ),
                default_taxonomy(),
            )
            == 2
        )


@pytest.mark.slow
def test_processes_that_start_at_once_migrate_once(database_url: str) -> None:
    workers = [forkserver().Process(target=store_worker.start, args=(database_url,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(180)
    assert [worker.exitcode for worker in workers] == [0, 0]


def test_an_upgrade_waits_for_an_older_version_and_refuses_to_pull_the_tables_from_under_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_first(database_url)
    with ExitStack() as opened:
        with monkeypatch.context() as as_it_was:
            for module in (database, in_use):
                as_it_was.setattr(module, "newest_revision", lambda: "0001")
            older = opened.enter_context(Store.open(database_url))
            others = opened.enter_context(Store.open(database_url))  # a worker beside the server
        others.close()
        with pytest.raises(ConfigError, match=r"is at revision 0001, and an older Distriage works on it; stop all"):
            Store.open(database_url, patience_s=0)
        with older._session(writes=False) as session:
            assert session.scalar(text("SELECT count(*) FROM predictions")) == 1  # a table of that version
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
    refused(database_url, "is at revision 9999, which a newer Distriage made; this one knows up to 0014")


def test_an_older_database_is_left_as_it_is_where_no_server_starts(database_url: str) -> None:
    with Store.open(database_url, upgrades=False) as store, store._session(writes=True) as session:  # made, if empty
        session.execute(text("UPDATE alembic_version SET version_num = '0007'"))
    with pytest.raises(ConfigError, match=r"is at revision 0007, older than 0014.*`distriage serve`") as error:
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
    ],
)
def test_a_url_that_names_no_database_of_a_kind_we_know_is_refused(url: str) -> None:
    refused(url, "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE")


def test_an_unreachable_postgresql_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    refused(f"postgresql://me:s3cret@127.0.0.1:{port}/x", "postgresql+psycopg://me:***@127.0.0.1", "onnection refused")
    refused("postgresql://me:s3cret@/x?host=/nowhere", "No such file or directory")


def test_a_postgresql_without_that_database_is_one_line(postgresql_server: str) -> None:
    refused(postgresql_server.replace("/postgres?", "/none?"), 'database "none" does not exist')


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
