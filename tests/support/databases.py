"""A fresh database for a test, on SQLite and on a real PostgreSQL: `database_url` runs each test on both.

`DISTRIAGE_TEST_POSTGRES` names a PostgreSQL server to use (a URL whose user may create databases); without it the tests
start a private one.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from distriage_serving.store import Store

SERVER_VARIABLE = "DISTRIAGE_TEST_POSTGRES"
NOW = 1_700_000_000.0  # a Tuesday
_numbers = count()


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """URL of a database that others can be made beside."""
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'distriage[serve]'")
    given = os.environ.get(SERVER_VARIABLE)
    if given:
        yield given
        return
    programs = _programs()
    if programs is None:
        pytest.skip(f"needs PostgreSQL: apt-get install postgresql, or {SERVER_VARIABLE}=postgresql://...")
    with _private_server(programs) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of the test's own."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
        return
    with fresh_postgresql(request.getfixturevalue("postgresql_server")) as url:
        yield url


@pytest.fixture
def clock() -> Clock:
    """That of `store`."""
    return Clock()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with all tables and nothing in them, to copy: migrations take most of a test's time."""
    from distriage_serving.store import Store

    file = tmp_path_factory.mktemp("empty") / "store.db"
    Store.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def store(database_url: str, clock: Clock, empty_store: Path) -> Iterator[Store]:
    """A store without anything in it, on both databases."""
    from distriage_serving.store import Store

    if database_url.startswith("sqlite"):
        shutil.copyfile(empty_store, database_url.removeprefix("sqlite:///"))
    with Store.open(database_url, clock) as opened:
        yield opened


@contextmanager
def fresh_postgresql(server: str) -> Iterator[str]:
    """A new database beside `server`'s, dropped at the end."""
    from sqlalchemy import create_engine, make_url, text

    address = make_url(server).set(drivername="postgresql+psycopg")
    name = f"distriage_test_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))
        yield address.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    finally:
        engine.dispose()


def _programs() -> Path | None:
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return installed[-1].parent if installed else None


@contextmanager
def _private_server(programs: Path) -> Iterator[str]:
    """Listens on a socket in a folder of its own, on no port.

    PostgreSQL refuses to run as root, so root becomes `postgres`.
    """
    account = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    folder = Path(
        tempfile.mkdtemp(prefix="distriage-pg-")
    )  # a socket's path has at most 107 characters, pytest's folders are longer
    os.chown(folder, account.pw_uid, account.pw_gid)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, "-D", folder / "data", *arguments],
            user=account.pw_uid,
            group=account.pw_gid,
            cwd=folder,
            check=True,
            stdout=log,
        )

    try:
        with (folder / "log").open("wb") as log:
            run("initdb", "--username=distriage", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
            run(
                "pg_ctl",
                "start",
                "--wait",
                "--log",
                str(folder / "server.log"),
                "-o",
                f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off",
            )
            try:
                yield f"postgresql://distriage@/postgres?host={folder}"
            finally:
                run("pg_ctl", "stop", "--mode=immediate")
    finally:
        shutil.rmtree(folder)
