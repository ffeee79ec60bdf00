"""Opens the database, and runs transactions on it."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar, cast

from sqlalchemy import (
    ColumnElement,
    Engine,
    Select,
    Table,
    Update,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from distriage.base.errors import ConfigError
from distriage_serving.logs import log
from distriage_serving.store.engines import BEGIN, DISK_IS_FULL, cause, engine_for, is_pooled, parse, reason, shown
from distriage_serving.store.migrations.in_use import InUseError, Share, newest_revision, start_alone
from distriage_serving.store.schema import Base, SharedValue

UPGRADE_POLL_S: Final = 0.5
PROBE_EVERY_S: Final = 2.0
UPGRADE_WAIT_S: Final = 45.0  # for older processes to end, which may take 30 s to finish their work
MIN_FREE_BYTES: Final = 64 << 20  # of SQLite's disk
T = TypeVar("T")


class UnavailableError(Exception):
    """The database cannot be reached or written to, or has been locked for long; the same call may succeed later."""

    def __init__(self, message: str, *, disk_is_full: bool = False) -> None:
        super().__init__(message)
        self.disk_is_full = disk_is_full


class Database:
    """Connections and a clock; the base of the store's parts. Any thread may use it.

    Reading has connections of its own, so that it never waits for those who wait to write.
    """

    def __init__(self, make_engine: Callable[[], Engine], clock: Callable[[], float]) -> None:
        self.clock = clock
        self._engine = make_engine()
        self._read_engine = make_engine()
        writing = self._engine.execution_options(**{BEGIN: "BEGIN IMMEDIATE"})
        self._engines = {True: writing, False: self._read_engine}  # by whether a session writes
        self._single = self._read_engine.execution_options(**{BEGIN: ""})
        self._share = Share(self._engine)
        self._current = threading.local()
        self._probed_s = -PROBE_EVERY_S
        self._away_for_writes = False
        self._away = ""  # why it is, as the log said last

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
            ConfigError: invalid URL, database out of reach, not a database or not ours, not in UTF-8, or of a newer or
                older Distriage, which may still be running.
        """
        address = parse(url)
        place = shown(address)
        store = cls(partial(engine_for, address), clock)
        try:
            if not store.is_sqlite and is_pooled(store._engine, store._read_engine):
                raise ConfigError(f"{place}: is behind a pooler of transactions; expected sessions, or no pooler")
            store._bring_up_to_date(place, upgrades=upgrades, until_s=time.monotonic() + patience_s)
        except DBAPIError as error:
            store.close()
            raise ConfigError(f"{place}: {reason(error)}") from None
        except ConfigError:
            store.close()
            raise
        return store

    def _bring_up_to_date(self, place: str, *, upgrades: bool, until_s: float) -> None:
        while True:
            try:
                with self._engines[True].begin() as connection:
                    if not self.is_sqlite and (encoding := connection.scalar(text("SHOW server_encoding"))) != "UTF8":
                        raise ConfigError(f"{place}: its encoding is {encoding}; expected a database in UTF8")
                    start_alone(connection)
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
            raise UnavailableError("the disk is full", disk_is_full=True)
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
            self._note(why := cause(error), writes)
            raise UnavailableError(reason(error), disk_is_full=why in DISK_IS_FULL) from error
        except PoolTimeoutError as error:
            self._note(why := "all connections to the database are in use", writes)
            raise UnavailableError(why) from error
        if writes or not self._away_for_writes:  # reading alone may work where writing does not
            self._note("", writes=False)

    def _note(self, why: str, writes: bool) -> None:
        """Log why the database is away, or that it is back, once each time.

        Args:
            writes: Whether it was written to.
        """
        self._away_for_writes = bool(why) and (writes or self._away_for_writes)
        if why != self._away:
            self._away = why
            if why:
                log(logging.ERROR, "store_unavailable", reason=why)
            else:
                log(logging.INFO, "store_available")


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
