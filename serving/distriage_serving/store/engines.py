"""URL of a database -> an engine for it. SQLite: WAL, and one writer at a time; PostgreSQL: psycopg 3."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import URL, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError, DBAPIError

from distriage.base.errors import ConfigError
from distriage_serving.store.migrations.in_use import APPLICATION, newest_revision

if TYPE_CHECKING:
    import psycopg

CONNECT_TIMEOUT_S: Final = 10
LOCK_TIMEOUT_S: Final = 7  # GitHub waits 10 s for the answer to a delivery
# A connection whose other end is silent, after a fail-over or behind a firewall that forgot it, is given up after this
# time, with data under way or without; by itself Linux waits for a quarter of an hour, or for two hours.
SILENCE_S: Final = 30
BEGIN: Final = "distriage_begin"  # how SQLite begins a transaction; empty: a single statement needs none
DISK_IS_FULL: Final = frozenset({"DiskFull (53100)", "SQLITE_FULL"})  # as `cause` says
_EXPECTED: Final = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"


def parse(url: str) -> URL:
    """The address that a URL names.

    Raises:
        ConfigError: it names no database of a kind that we know.
    """
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError(f"the database's URL cannot be read; {_EXPECTED}") from None  # it may hold a password
    name = address.drivername
    if not name.startswith("sqlite") and "@" in f"{address.host}{address.database}":  # the rest of a password
        raise ConfigError(f"the database's URL cannot be read: write an @ of the password as %40; {_EXPECTED}")
    if name in {"postgresql", "postgres", "postgresql+psycopg"}:
        from psycopg.pq import Conninfo

        _refuse_unknown(address, {option.keyword.decode() for option in Conninfo.get_defaults()})
        return address.set(drivername="postgresql+psycopg")
    if name not in {"sqlite", "sqlite+pysqlite"}:
        raise ConfigError(f"{shown(address)}: {name} is not supported; {_EXPECTED}")
    if address.database in {None, "", ":memory:"} or str(address.database).startswith("file:"):
        raise ConfigError(f"{shown(address)}: names no file; {_EXPECTED}")
    _refuse_unknown(address, set())
    return address


def _refuse_unknown(address: URL, options: set[str]) -> None:
    """Refuse options of a URL other than these: the driver would take them for its own parameters, as `autocommit`.

    Raises:
        ConfigError: the URL has another option.
    """
    if not address.query.keys() <= options:  # their names may be the rest of a password
        raise ConfigError(f"{shown(address)}: has an option after the ? that its database does not know; {_EXPECTED}")


def shown(address: URL) -> str:
    """An address for messages: without its password, nor its query, which may hold one too."""
    return address.set(query={}).render_as_string(hide_password=True)


def engine_for(address: URL) -> Engine:
    """An engine that has connected to nothing yet.

    Raises:
        ConfigError: the file cannot be made.
    """
    return _sqlite(address) if address.get_backend_name() == "sqlite" else _postgresql(address)


def _postgresql(address: URL) -> Engine:
    options = {
        "client_encoding": "utf8",  # as text is, whatever the database would choose
        "connect_timeout": CONNECT_TIMEOUT_S,
        "application_name": f"{APPLICATION} {newest_revision()}",
        "tcp_user_timeout": SILENCE_S * 1000,
        "keepalives_idle": SILENCE_S // 2,
        "keepalives_interval": SILENCE_S // 6,
        "keepalives_count": 3,
    }
    engine = create_engine(
        address,
        pool_pre_ping=True,
        pool_timeout=LOCK_TIMEOUT_S,
        connect_args={name: value for name, value in options.items() if name not in address.query},
    )

    if "options" not in address.query:

        @event.listens_for(engine, "connect")
        def prepare(connection: psycopg.Connection, _: object) -> None:
            connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'")  # at the start PgBouncer would refuse it
            connection.commit()

    return engine


def is_pooled(one: Engine, other: Engine) -> bool:
    """Whether a pooler hands out connections by transaction: what is set or prepared on one is lost, and no migration
    sees a process of an older version.
    """
    single = [engine.execution_options(isolation_level="AUTOCOMMIT") for engine in (one, other)]
    with single[0].connect() as first, single[1].connect() as second:
        seen = [
            {connection.scalar(text("SELECT pg_backend_pid()")) for _ in range(4)}  # other processes may take turns
            for connection in (first, second)
        ]
    return seen[0] == seen[1] or any(len(pids) > 1 for pids in seen)


def _sqlite(address: URL) -> Engine:
    file = Path(str(address.database))
    try:
        file.touch(mode=0o600)  # issues of private repositories
    except OSError as error:
        raise ConfigError(f"{shown(address)}: {error.strerror}") from None
    engine = create_engine(address, connect_args={"timeout": LOCK_TIMEOUT_S}, pool_timeout=LOCK_TIMEOUT_S)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # the driver would begin transactions at moments of its own
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if how := connection.get_execution_options().get(BEGIN, "BEGIN"):
            connection.exec_driver_sql(how)

    return engine


def reason(error: DBAPIError) -> str:
    """What the database said, in one line."""
    lines = [line for line in str(error.orig).splitlines() if line.strip()]
    return " ".join(" ".join(lines[:1]).split()) or type(error.orig).__name__


def cause(error: DBAPIError) -> str:
    """What the log may say of it: the SQL state, or SQLite's, by name; else the driver's words about the connection.

    What a database says of a statement may quote its values.
    """
    if state := getattr(error.orig, "sqlstate", None):
        return f"{type(error.orig).__name__} ({state})"
    return getattr(error.orig, "sqlite_errorname", None) or reason(error)
