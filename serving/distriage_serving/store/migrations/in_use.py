"""The processes that use a database: a migration waits until none has another version.

On PostgreSQL each connection's application name holds the revision. On SQLite each process holds a lock on a file
beside the database, which ends with the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Final

from sqlalchemy import Engine, text
from sqlalchemy.engine import Connection

from distriage.base.errors import ConfigError

APPLICATION: Final = "distriage"
_LOCK: Final = 0x64697374  # any number that no other use of the same PostgreSQL database has
_VERSIONS: Final = Path(__file__).parent / "versions"
_OTHERS: Final = text(
    "SELECT count(DISTINCT (client_addr, application_name)) FROM pg_stat_activity WHERE datname = current_database() "
    "AND (application_name = :name OR application_name LIKE :name || ' %') AND application_name <> :own"
)


class InUseError(ConfigError):
    """A process of another version works on the database."""


class Share:
    """This process's part in a database."""

    def __init__(self, engine: Engine) -> None:
        is_file = engine.dialect.name == "sqlite"
        self._file = Path(f"{engine.url.database}-in-use") if is_file else None
        self._held: IO[bytes] | None = None

    def take(self) -> None:
        """Show the processes of other versions that this one works on it."""
        self._lock(exclusive=False)

    def take_alone(self, connection: Connection) -> bool:
        """Whether no process of another version works on the database; until the transaction ends, none can begin to.

        Args:
            connection: In a transaction; on SQLite, one that holds the write lock.
        """
        if connection.dialect.name != "postgresql":
            return self._lock(exclusive=True)
        connection.execute(text("LOCK TABLE alembic_version"))  # a starting process waits, and sees the new revision
        own = f"{APPLICATION} {newest_revision()}"
        others: int = connection.scalars(_OTHERS, {"name": APPLICATION, "own": own}).one()
        return not others

    def close(self) -> None:
        """Give it up."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _lock(self, *, exclusive: bool) -> bool:
        if self._file is None:
            return True
        try:
            import fcntl
        except ImportError:  # Windows
            return True
        if self._held is None:
            self._file.touch(mode=0o600)
            self._held = self._file.open("rb")
        try:
            fcntl.flock(self._held, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True


def start_alone(connection: Connection) -> None:
    """Keep other starting processes from reading the revision until this transaction ends.

    On PostgreSQL, two processes that have both read it would block each other's migration: a deadlock.

    Args:
        connection: On SQLite, one that holds the write lock, which does the same.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def newest_revision() -> str:
    """The revision of the tables that this version works on; the names of migrations begin with it."""
    return max(file.stem for file in _VERSIONS.glob("*.py")).partition("_")[0]
