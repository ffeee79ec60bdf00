"""All rows of an SQLite database into one on PostgreSQL. Reads one, writes the other."""

from __future__ import annotations

from typing import Final

from sqlalchemy import func, select, text

from distriage.base.errors import ConfigError
from distriage_serving.store.database import Database
from distriage_serving.store.schema import Base

_AT_ONCE: Final = 500  # rows
_LAST: Final = text("SELECT seq FROM sqlite_sequence WHERE name = :table")


def copy_rows(source: Database, target: Database) -> int:
    """Copy all, or nothing.

    Args:
        source: On SQLite; nobody must write to it.

    Returns:
        How many rows.

    Raises:
        ConfigError: the target is not on PostgreSQL, or not empty.
    """
    if target.is_sqlite:
        raise ConfigError("import-database: expected a database on PostgreSQL (--database or DISTRIAGE_DATABASE)")
    count = 0
    with source._session(writes=False) as old, target._session(writes=True) as new:
        for table in Base.metadata.sorted_tables:  # what others refer to comes first
            if new.execute(select(table).limit(1)).first() is not None:
                raise ConfigError(f"import-database: the database has rows already, in {table.name}; expected none")
            for part in old.execute(select(table)).mappings().partitions(_AT_ONCE):
                new.execute(table.insert(), [dict(row) for row in part])
                count += len(part)
            if table.autoincrement_column is not None:  # ids go on where they were, since none may be used again
                sequence = func.pg_get_serial_sequence(table.name, table.autoincrement_column.name)
                last = old.scalar(_LAST, {"table": table.name}) or 0
                new.execute(select(func.setval(sequence, last + 1, False)))
    return count
