"""Opens the database, and runs transactions on it. SQLite: WAL, and one writer at a time; PostgreSQL: psycopg 3."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

from sqlalchemy import URL, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from distriage.errors import ConfigError
from distriage_serving.store.migrate import migrate
from distriage_serving.store.schema import Base

CONNECT_TIMEOUT_S: Final = 10
LOCK_TIMEOUT_S: Final = 30
_WRITES: Final = "distriage_writes"
_EXPECTED: Final = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"


class UnavailableError(Exception):
    """The database cannot be reached, or has been locked for long; the same call may succeed later."""


class Database:
    """A connection pool and a clock; the base of the store's parts. Any thread may use it."""

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._engine = engine
        self._current = threading.local()

    @classmethod
    def open(cls, url: str, clock: Callable[[], float] = time.time) -> Self:
        """Connect, and bring the tables up to date; of several processes that start at once, one does.

        Args:
            url: `sqlite:///FILE` (made if absent, readable to its owner only) or `postgresql://...`.
            clock: UTC epoch seconds.

        Raises:
            ConfigError: the URL is not valid, the database cannot be reached, is none, is not ours, or was written by a newer Distriage.
        """
        address = _parse(url)
        place = address.render_as_string(hide_password=True)
        engine = _sqlite(address) if address.get_backend_name() == "sqlite" else _postgresql(address)
        store = cls(engine, clock)
        try:
            with engine.execution_options(**{_WRITES: True}).begin() as connection:
                migrate(connection, place)
        except DBAPIError as error:
            store.close()
            raise ConfigError(f"{place}: {_reason(error)}") from None
        except ConfigError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def check(self) -> None:
        """Ask the database for an answer.

        Raises:
            UnavailableError: it gives none.
        """
        with self._session(writes=False) as session:
            session.execute(text("SELECT 1"))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything that this thread does with the store inside happens as a whole, or, after an exception, not at all.

        Raises:
            UnavailableError: the database is gone, or locked for long.
        """
        with self._session(writes=True):
            yield

    @contextmanager
    def _session(self, *, writes: bool) -> Iterator[Session]:
        """The session of this thread's transaction, or one of its own."""
        outer: Session | None = getattr(self._current, "session", None)
        if outer is not None:
            yield outer
            outer.flush()
            return
        try:
            with Session(self._engine.execution_options(**{_WRITES: writes}), expire_on_commit=False) as session, session.begin():
                self._current.session = session
                try:
                    yield session
                finally:
                    self._current.session = None
        except (OperationalError, InterfaceError) as error:
            raise UnavailableError(_reason(error)) from error
        except PoolTimeoutError as error:
            raise UnavailableError("all connections to the database are in use") from error


def _parse(url: str) -> URL:
    try:
        address = make_url(url)
    except ArgumentError:
        raise ConfigError(f"the database's URL cannot be read; {_EXPECTED}") from None  # it may hold a password
    name = address.drivername
    if name in {"postgresql", "postgres", "postgresql+psycopg"}:
        return address.set(drivername="postgresql+psycopg")
    if name not in {"sqlite", "sqlite+pysqlite"}:
        raise ConfigError(f"{address.render_as_string(hide_password=True)}: {name} is not supported; {_EXPECTED}")
    if address.database in {None, "", ":memory:"} or str(address.database).startswith("file:"):
        raise ConfigError(f"{address.render_as_string(hide_password=True)}: names no file; {_EXPECTED}")
    return address


def _postgresql(address: URL) -> Engine:
    options = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "distriage", "options": f"-c lock_timeout={LOCK_TIMEOUT_S}s"}
    return create_engine(address, pool_pre_ping=True, connect_args={name: value for name, value in options.items() if name not in address.query})


def _sqlite(address: URL) -> Engine:
    file = Path(str(address.database))
    try:
        file.touch(mode=0o600)  # issues of private repositories
    except OSError as error:
        raise ConfigError(f"{address}: {error.strerror}") from None
    engine = create_engine(address, connect_args={"timeout": LOCK_TIMEOUT_S})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # the driver would begin transactions at moments of its own
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(_WRITES) else "BEGIN")

    return engine


def _reason(error: DBAPIError) -> str:
    lines = [line for line in str(error.orig).splitlines() if line.strip()]
    return " ".join(" ".join(lines[:1]).split()) or type(error.orig).__name__


def insert(session: Session, table: type[Base]) -> postgresql.Insert:
    """INSERT with `on_conflict_*`, which both databases write the same way."""
    if session.get_bind().dialect.name == "postgresql":
        return postgresql.insert(table)
    return cast(postgresql.Insert, sqlite.insert(table))


def values_of(row: Base) -> dict[str, Any]:
    """Column -> value, for INSERT; without an id that the database gives."""
    values = {column.key: getattr(row, column.key) for column in inspect(type(row)).columns}
    return {name: value for name, value in values.items() if name != "id" or value is not None}
