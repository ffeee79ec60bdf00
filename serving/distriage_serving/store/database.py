"""Opens the database, and runs transactions on it. SQLite: WAL, and one writer at a time; PostgreSQL: psycopg 3."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar, cast

from sqlalchemy import (
    URL,
    ColumnElement,
    Engine,
    Select,
    Table,
    Update,
    create_engine,
    event,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from distriage.base.errors import ConfigError
from distriage_serving.store.migrations.in_use import APPLICATION, InUseError, Share, newest_revision
from distriage_serving.store.schema import Base, SharedValue

CONNECT_TIMEOUT_S: Final = 10
UPGRADE_POLL_S: Final = 0.5
LOCK_TIMEOUT_S: Final = 7  # GitHub waits 10 s for the answer to a delivery
PROBE_EVERY_S: Final = 2.0
UPGRADE_WAIT_S: Final = 45.0  # for older processes to end, which may take 30 s to finish their work
MIN_FREE_BYTES: Final = 64 << 20  # of SQLite's disk
T = TypeVar("T")
_BEGIN: Final = "distriage_begin"  # how SQLite begins a transaction; empty: a single statement needs none
_EXPECTED: Final = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"


class UnavailableError(Exception):
    """The database cannot be reached or written to, or has been locked for long; the same call may succeed later."""


class Database:
    """Connections and a clock; the base of the store's parts. Any thread may use it.

    Reading has connections of its own, so that it never waits for those who wait to write.
    """

    def __init__(self, make_engine: Callable[[], Engine], clock: Callable[[], float]) -> None:
        self.clock = clock
        self._engine = make_engine()
        self._read_engine = make_engine()
        writing = self._engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        self._engines = {True: writing, False: self._read_engine}  # by whether a session writes
        self._single = self._read_engine.execution_options(**{_BEGIN: ""})
        self._share = Share(self._engine)
        self._current = threading.local()
        self._probed_s = -PROBE_EVERY_S

    @classmethod
    def open(
        cls,
        url: str,
        clock: Callable[[], float] = time.time,
        *,
        upgrades: bool = True,
        patience_s: float = UPGRADE_WAIT_S,
    ) -> Self:
        """Connect, and bring the tables up to date; if several processes start at once, one of them does.

        Args:
            url: `sqlite:///FILE` (made if absent, readable to its owner only) or `postgresql://...`.
            clock: UTC epoch seconds.
            upgrades: If False, refuse an older database, since an older server may be running on it; an empty one still
                gets its tables.
            patience_s: How long an upgrade waits for processes of an older version to end.

        Raises:
            ConfigError: invalid URL, database out of reach, not a database or not ours, or of a newer or older
                Distriage, which may still be running.
        """
        address = _parse(url)
        place = address.render_as_string(hide_password=True)
        store = cls(partial(_sqlite if address.get_backend_name() == "sqlite" else _postgresql, address), clock)
        try:
            store._bring_up_to_date(place, upgrades=upgrades, until_s=time.monotonic() + patience_s)
        except DBAPIError as error:
            store.close()
            raise ConfigError(f"{place}: {_reason(error)}") from None
        except ConfigError:
            store.close()
            raise
        return store

    def _bring_up_to_date(self, place: str, *, upgrades: bool, until_s: float) -> None:
        while True:
            try:
                with self._engines[True].begin() as connection:
                    if not _is_current(connection):
                        from distriage_serving.store.migrations.apply import migrate  # alembic: a third of all imports

                        migrate(connection, place, self._share, upgrades=upgrades)
                    self._share.take()
                return
            except InUseError:
                if time.monotonic() >= until_s:
                    raise
            time.sleep(UPGRADE_POLL_S)

    def close(self) -> None:
        """Close all connections."""
        self._share.close()
        self._engine.dispose()
        self._read_engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file that processes on other machines cannot share."""
        return self._engine.dialect.name == "sqlite"

    def check(self) -> None:
        """Ask the database for an answer, and write something, this every few seconds at most, however often it is
        asked.

        Raises:
            UnavailableError: the database cannot be written to, or its disk is full.
        """
        with self._session(writes=False) as session:
            session.execute(select(1))
        if time.monotonic() < self._probed_s + PROBE_EVERY_S:
            return
        if self.is_sqlite and shutil.disk_usage(Path(str(self._engine.url.database)).parent).free < MIN_FREE_BYTES:
            raise UnavailableError("the disk is full")
        with self._session(writes=True) as session:
            share(session, "probe", str(self.clock()))
        self._probed_s = time.monotonic()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Inside, this thread's changes to the store happen as a whole, or, after an exception, not at all.

        Raises:
            UnavailableError: the database is gone, or locked for long.
        """
        with self._session(writes=True):
            yield

    def _first(self, wanted: Select[T], **values: object) -> T | None:
        with self._session(writes=False, single=True) as session:
            return session.scalar(wanted, values)

    def _all(self, wanted: Select[T], **values: object) -> list[T]:
        with self._session(writes=False, single=True) as session:
            return list(session.scalars(wanted, values))

    def _write(self, change: Update) -> None:
        with self._session(writes=True) as session:
            session.execute(change)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Inside, this thread reads the store in one transaction, which saves round trips; it cannot write.

        Raises:
            UnavailableError: the database is gone, or locked for long.
        """
        with self._session(writes=False):
            yield

    @contextmanager
    def _session(self, *, writes: bool, single: bool = False) -> Iterator[Session]:
        """The session of this thread's transaction, or a new one; for a `single` read SQLite begins none."""
        outer: Session | None = getattr(self._current, "session", None)
        if outer is not None:
            if writes and outer.get_bind() is not self._engines[True]:
                raise RuntimeError("the store is only read here")  # SQLite would wait for its own lock in vain
            yield outer
            outer.flush()
            return
        try:
            bound = self._single if single else self._engines[writes]
            with Session(bound, expire_on_commit=False) as session, session.begin():
                self._current.session = session
                try:
                    yield session
                finally:
                    self._current.session = None
        except (OperationalError, InterfaceError, InternalError) as error:  # the last: it became read-only
            raise UnavailableError(_reason(error)) from error
        except PoolTimeoutError as error:
            raise UnavailableError("all connections to the database are in use") from error


def _parse(url: str) -> URL:
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError(f"the database's URL cannot be read; {_EXPECTED}") from None  # it may hold a password
    name = address.drivername
    if not name.startswith("sqlite") and "@" in f"{address.host}{address.database}":  # the rest of a password
        raise ConfigError(f"the database's URL cannot be read: write an @ of the password as %40; {_EXPECTED}")
    if name in {"postgresql", "postgres", "postgresql+psycopg"}:
        return address.set(drivername="postgresql+psycopg")
    if name not in {"sqlite", "sqlite+pysqlite"}:
        raise ConfigError(f"{address.render_as_string(hide_password=True)}: {name} is not supported; {_EXPECTED}")
    if address.database in {None, "", ":memory:"} or str(address.database).startswith("file:"):
        raise ConfigError(f"{address.render_as_string(hide_password=True)}: names no file; {_EXPECTED}")
    return address


def _postgresql(address: URL) -> Engine:
    options = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "application_name": f"{APPLICATION} {newest_revision()}",
        "options": f"-c lock_timeout={LOCK_TIMEOUT_S}s",
    }
    return create_engine(
        address,
        pool_pre_ping=True,
        pool_timeout=LOCK_TIMEOUT_S,
        connect_args={name: value for name, value in options.items() if name not in address.query},
    )


def _sqlite(address: URL) -> Engine:
    file = Path(str(address.database))
    try:
        file.touch(mode=0o600)  # issues of private repositories
    except OSError as error:
        raise ConfigError(f"{address}: {error.strerror}") from None
    engine = create_engine(address, connect_args={"timeout": LOCK_TIMEOUT_S}, pool_timeout=LOCK_TIMEOUT_S)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # the driver would begin transactions at moments of its own
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if how := connection.get_execution_options().get(_BEGIN, "BEGIN"):
            connection.exec_driver_sql(how)

    return engine


def _reason(error: DBAPIError) -> str:
    lines = [line for line in str(error.orig).splitlines() if line.strip()]
    return " ".join(" ".join(lines[:1]).split()) or type(error.orig).__name__


def insert(session: Session, table: type[Base] | Table) -> postgresql.Insert:
    """INSERT with `on_conflict_*`, which both databases write the same way."""
    return insert_for(session.get_bind().dialect.name, table)


def insert_for(dialect: str, table: type[Base] | Table) -> postgresql.Insert:
    """The same for a statement that is made once."""
    return postgresql.insert(table) if dialect == "postgresql" else cast(postgresql.Insert, sqlite.insert(table))


def plain_insert(session: Session, table: type[Base]) -> postgresql.Insert:
    """The same without the ORM: with values apart from the statement it takes a quarter of the time."""
    return insert(session, cast(Table, table.__table__))


def share(session: Session, name: str, value: str, where: ColumnElement[bool] | None = None) -> None:
    """Replace a shared value, or insert it; replace only if a condition holds."""
    new = insert(session, SharedValue).values(name=name, value=value)
    new = new.on_conflict_do_update(index_elements=[SharedValue.name], set_={"value": value}, where=where)
    session.execute(new)


def _is_current(connection: Connection) -> bool:
    """Whether the newest migration was the last one."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    found = connection.scalars(text("SELECT version_num FROM alembic_version")).all()
    return found == [newest_revision()]
