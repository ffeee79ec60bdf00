"""A fresh database for a test: `database_url` and `store_url` run each test on SQLite and on a real PostgreSQL.

`DISTRIAGE_TEST_POSTGRES` names a PostgreSQL server to use (a URL whose user may create databases); without it the tests
start a private one, which all workers of pytest-xdist share.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from sqlalchemy import URL, Dialect, Engine

    from distriage_serving.store import Store

SERVER_VARIABLE = "DISTRIAGE_TEST_POSTGRES"
NOW = 1_700_000_000.0  # a Tuesday
BOTH = ("sqlite", pytest.param("postgresql", marks=pytest.mark.database))
# A crash of the machine loses no more than a test, and four processes of tests with three servers' pools in one of them
# need more connections than PostgreSQL's 100.
SERVER_OPTIONS = (
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "autovacuum=off",
    "max_connections=300",
)
_numbers = count()


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="session")
def postgresql_server(shared_folder: Path) -> Iterator[str]:
    """URL of a database that others can be made beside."""
    pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'distriage[serve]'")
    given = os.environ.get(SERVER_VARIABLE)
    if given:
        yield given
        return
    programs = _programs()
    if programs is None:
        pytest.skip(f"needs PostgreSQL: apt-get install postgresql, or {SERVER_VARIABLE}=postgresql://...")
    with _server(programs, shared_folder) as url:
        yield url


@pytest.fixture(params=BOTH)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of the test's own, without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
        return
    with fresh_postgresql(request.getfixturevalue("postgresql_server")) as url:
        yield url


@pytest.fixture
def clock() -> Clock:
    """That of `store`."""
    return Clock()


def write_sql_once(patch: pytest.MonkeyPatch) -> None:
    """What one engine of SQLAlchemy made of a statement serves all others of this process.

    Each test has a new store, thus two engines that have not seen a statement yet; to put it into SQL takes some
    milliseconds.
    """
    from distriage_serving.store import engines

    made = engines.create_engine
    dialects: dict[str, Dialect] = {}
    compiled: dict[Any, Any] = {}

    def create_engine(address: URL, **options: Any) -> Engine:
        engine = made(address, **options)
        engine.dialect = dialects.setdefault(address.drivername, engine.dialect)
        engine.update_execution_options(compiled_cache=compiled)
        return engine

    patch.setattr(engines, "create_engine", create_engine)


@cache
def _empty_sqlite() -> bytes:
    from distriage_serving.store import Store

    with tempfile.TemporaryDirectory() as folder:
        Store.open(f"sqlite:///{folder}/store.db").close()
        return Path(folder, "store.db").read_bytes()


def new_sqlite(file: Path) -> str:
    """URL of a new file of SQLite with all tables and nothing in them; a copy, since migrations take longer than most
    tests.
    """
    file.write_bytes(_empty_sqlite())
    return f"sqlite:///{file}"


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as `new_sqlite` makes one, to copy."""
    file = tmp_path_factory.mktemp("empty") / "store.db"
    new_sqlite(file)
    return file


@pytest.fixture(scope="session")
def postgresql_tables(postgresql_server: str) -> Iterator[str]:
    """URL of a database of PostgreSQL with all tables, to use again: `emptied`."""
    from distriage_serving.store import Store

    with fresh_postgresql(postgresql_server) as url:
        Store.open(url).close()
        yield url


def emptied(url: str) -> str:
    """The URL of a database of PostgreSQL, in whose tables nothing is left; a new database takes six times as long."""
    import psycopg

    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
    tables = (  # that have been written since they were emptied: a truncation takes a millisecond a table
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "AND relname <> 'alembic_version' AND pg_relation_size(oid) > 0"
    )
    with psycopg.connect(url) as connection:  # an engine takes three times as long
        connection.execute(f"{others}pg_backend_pid()")  # of a worker that was killed
        names = ", ".join(name for (name,) in connection.execute(tables))
        if names:
            connection.execute(f"TRUNCATE {names} RESTART IDENTITY CASCADE")
    return url


def wait_for_transactions(url: str, limit_s: float = 10.0) -> None:
    """Wait until PostgreSQL has none open: those of a process that was killed lock its jobs, which others then skip.

    Raises:
        TimeoutError: one is still open.
    """
    import psycopg

    others = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
    )
    end_s = time.monotonic() + limit_s
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:  # an engine's URL has the driver
        while connection.execute(others).fetchone() != (0,):
            if time.monotonic() > end_s:
                raise TimeoutError(f"a transaction is still open after {limit_s} s")
            time.sleep(0.01)


@pytest.fixture(params=BOTH)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of the test's own, with all tables and nothing in them."""
    if request.param == "sqlite":
        yield new_sqlite(tmp_path / "store.db")
        return
    yield emptied(request.getfixturevalue("postgresql_tables"))


@pytest.fixture
def store(store_url: str, clock: Clock) -> Iterator[Store]:
    """A store without anything in it, on both databases."""
    from distriage_serving.store import Store

    with Store.open(store_url, clock) as opened:
        yield opened


@contextmanager
def fresh_postgresql(server: str, encoding: str = "UTF8") -> Iterator[str]:
    """A new database beside `server`'s, without tables, dropped at the end."""
    from sqlalchemy import create_engine, make_url, text

    address = make_url(server).set(drivername="postgresql+psycopg")
    name = f"distriage_test_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            locale = "" if encoding == "UTF8" else "LOCALE 'C'"  # which any encoding fits
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' {locale}"))
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
def _server(programs: Path, shared: Path) -> Iterator[str]:
    """Listens on a socket in a folder of its own, on no port. Who comes first starts it, who leaves last stops it.

    PostgreSQL refuses to run as root, so root becomes `postgres`.
    """
    lock, users = FileLock(shared / "postgresql.lock"), shared / "postgresql.users"
    with lock:
        folder, number = users.read_text(encoding="utf-8").split() if users.exists() else (_start(programs), "0")
        users.write_text(f"{folder} {int(number) + 1}", encoding="utf-8")
    try:
        yield f"postgresql://distriage@/postgres?host={folder}"
    finally:
        with lock:
            left = int(users.read_text(encoding="utf-8").split()[1]) - 1
            if left:
                users.write_text(f"{folder} {left}", encoding="utf-8")
            else:
                users.unlink()
                _run(programs / "pg_ctl", Path(folder), "stop", "--mode=immediate")
                shutil.rmtree(folder)


def _start(programs: Path) -> str:
    """Make a cluster in a new folder, and start its server; the folder."""
    # A socket's path has at most 107 characters; pytest's folders are longer.
    folder = Path(tempfile.mkdtemp(prefix="distriage-pg-"))
    account = _account()
    os.chown(folder, account.pw_uid, account.pw_gid)
    initial = ("--username=distriage", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
    _run(programs / "initdb", folder, *initial)
    options = ("listen_addresses=''", f"unix_socket_directories='{folder}'", *SERVER_OPTIONS)
    log = ("--log", str(folder / "server.log"))
    _run(programs / "pg_ctl", folder, "start", "--wait", *log, "-o", " ".join(f"-c {option}" for option in options))
    return str(folder)


def _account() -> pwd.struct_passwd:
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def _run(program: Path, folder: Path, *arguments: str) -> None:
    account = _account()
    with (folder / "log").open("ab") as log:
        subprocess.run(
            [program, "-D", folder / "data", *arguments],
            user=account.pw_uid,
            group=account.pw_gid,
            cwd=folder,
            check=True,
            stdout=log,
        )
