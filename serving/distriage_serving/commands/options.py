"""Options and checks that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distriage.base.errors import ConfigError

if TYPE_CHECKING:
    from distriage_serving.store import Store

ModelOption = Annotated[
    str | None, typer.Option(envvar="DISTRIAGE_MODEL", help="A bundle's folder or the name of a shipped model.")
]
DatabaseOption = Annotated[
    str | None,
    typer.Option(help="URL of the bot's database; default: DISTRIAGE_DATABASE, else sqlite:///distriage.db."),
]


@contextmanager
def open_store(database: str | None, *, must_exist: bool) -> Iterator[Store]:
    """The bot's database.

    Args:
        must_exist: Make no file, and refuse an older database: an older server that runs on it could not start again.
            An empty one still gets its tables.
    """
    from distriage_serving.settings import load_settings
    from distriage_serving.store import Store, UnavailableError

    url = load_settings({"database": database}).database
    file = Path(url.removeprefix("sqlite:///"))
    if must_exist and url.startswith("sqlite:///") and not file.is_file():
        raise ConfigError(
            f"{url}: no such file; expected the database of a bot or of a backfill (--database or DISTRIAGE_DATABASE)"
        )
    try:
        with Store.open(url, upgrades=not must_exist) as store:
            yield store
    except UnavailableError as error:
        raise ConfigError(f"the database: {error}") from None
