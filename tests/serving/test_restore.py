"""The drill of docs/operators.md: back up while it runs, lose the database, restore, go on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from distriage.base.references import IssueReference
from distriage_serving.store import Job, Review, Store, triage_job

from support.checkout import REPOSITORY
from support.command_line import Command, assert_one_line
from support.databases import NOW, fresh_postgresql
from support.stored_issues import TAXONOMY, issue, person, prediction

GUIDE = (REPOSITORY / "docs" / "operators.md").read_text(encoding="utf-8")
ISSUE = IssueReference("owner/repo", 1)


def fill(store: Store) -> None:
    store.save_repository("owner/repo", installation_id=7)
    store.save_issue(issue())
    store.save_verdict(prediction(), TAXONOMY)
    store.add_reviews(person())
    store.put_job(triage_job(ISSUE, 7))


def check(url: str, next_id: int = 2) -> None:
    """All is there as of the backup, work goes on, and new rows get new ids."""
    with Store.open(url) as store:
        (review,) = store.reviews(issue=ISSUE)
        assert (review.who, review.label) == ("ada", "runtime-hang")
        found = store.get_issue("owner/repo", 1)
        assert found is not None and found.status == "accepted" and store.latest_verdict("owner/repo", 1) is not None
        (job,) = store.lease(Job, "me", 60)
        store.finish(job)
        again: list[Review] = [person("stage", "startup", at=NOW + 1)]
        store.add_reviews(*again)
        assert len({review.id for review in store.reviews(issue=ISSUE)}) == 2
        assert store.save_verdict(prediction(made_at=NOW + 1), TAXONOMY) == next_id


def test_an_sqlite_file_is_restored(tmp_path: Path) -> None:
    database = tmp_path / "distriage.db"
    with Store.open(f"sqlite:///{database}") as store:
        fill(store)
        backup = re.findall(r"python -c \"[^\"]*backup[^\"]*\"", GUIDE)[0].replace("python", sys.executable, 1)
        subprocess.run(["sh", "-c", backup], cwd=tmp_path, check=True)
        store.undo_reviews(*[review.id for review in store.reviews()])  # after the backup: lost
    database.write_bytes(b"what a broken disk left")
    for name in ("distriage.db-wal", "distriage.db-shm"):
        assert f"`{name}`" in GUIDE
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "copy.db").replace(database)
    check(f"sqlite:///{database}")


@pytest.mark.database
def test_a_postgresql_database_is_restored(postgresql_server: str) -> None:
    (backup,) = re.findall(
        r"^docker compose exec -T postgres (pg_dump) -U distriage distriage > copy\.sql$", GUIDE, re.M
    )
    with fresh_postgresql(postgresql_server) as lost, Store.open(lost) as store:
        fill(store)
        copy = subprocess.run([backup, lost], capture_output=True, check=True).stdout
        store.undo_reviews(*[review.id for review in store.reviews()])
    with fresh_postgresql(postgresql_server) as empty:
        psql = ["psql", "--quiet", "--set", "ON_ERROR_STOP=1", empty]
        subprocess.run(psql, input=copy, check=True, stdout=subprocess.DEVNULL)
        check(empty)


def test_an_sqlite_file_is_imported_into_postgresql(tmp_path: Path, postgresql_server: str, command: Command) -> None:
    small = f"sqlite:///{tmp_path / 'distriage.db'}"
    with Store.open(small) as store:
        fill(store)
        with store._session(writes=True) as session:
            session.execute(
                text(
                    "INSERT INTO verdicts SELECT 9, repository, number, model, taxonomy_version, digest, "
                    "verdict, made_at, plan, week_at, carried_out_at FROM verdicts"
                )
            )
            session.execute(text("DELETE FROM verdicts WHERE id = 9"))
    with fresh_postgresql(postgresql_server) as url:
        call = ("import-database", tmp_path / "distriage.db", "--database", url)
        assert command(*call).err == "11 rows copied\n"
        assert_one_line(command(*call), "the database has rows already", "expected none")
        check(url, 10)
    assert_one_line(command("import-database", tmp_path / "distriage.db", "--database", small), "on PostgreSQL")
    assert "distriage import-database distriage.db " in GUIDE
