"""Brings the tables of a database up to date. Writes it."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from distriage.base.errors import ConfigError
from distriage_serving.store.migrations.in_use import InUseError, Share


def migrate(connection: Connection, place: str, share: Share, *, upgrades: bool = True) -> None:
    """Apply missing migrations.

    Args:
        connection: In a transaction that has `start_alone`; all migrations happen in it, or none.
        place: The database, for messages.
        share: Knows whether others work on it.
        upgrades: If False, only make tables in an empty database.

    Raises:
        ConfigError: the database is of a newer Distriage, or of an older one and must stay so.
        InUseError: an older version works on it.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    newest = ScriptDirectory.from_config(config).get_current_head()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = MigrationContext.configure(connection).get_current_heads()
    unknown = sorted(set(found) - known)
    if unknown:
        raise ConfigError(
            f"{place}: is at revision {', '.join(unknown)}, which a newer Distriage made; this one knows up to {newest}"
        )
    if found and found != (newest,) and not upgrades:
        raise ConfigError(
            f"{place}: is at revision {', '.join(found)}, older than {newest}, which this Distriage needs; its "
            "`distriage serve` and `distriage worker` bring the database up to date when they start"
        )
    if found and found != (newest,) and not share.take_alone(connection):
        raise InUseError(
            f"{place}: is at revision {', '.join(found)}, and an older Distriage works on it; stop all its processes "
            f"(`serve`, `worker`), back up, then start this one, which needs revision {newest}"
        )
    if found != (newest,):
        command.upgrade(config, "head")
