"""A table of repositories' releases in a file, to hold versions against without a network. File I/O."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from distriage.base.disk import replaced
from distriage.base.errors import InputError
from distriage.base.validation import Strict, read_model
from distriage.github.releases import KEPT_S, Release, read_releases

if TYPE_CHECKING:
    from distriage.github.client import Client


class _Of(Strict):
    fetched_at: float  # Unix time in seconds
    releases: list[Release]


class Table(Strict):
    """The file: repository in lower case -> its releases, and when they were read."""

    repositories: Mapping[str, _Of]

    @property
    def releases(self) -> Mapping[str, Sequence[Release]]:
        """Repository in lower case -> its releases."""
        return {name: one.releases for name, one in self.repositories.items()}


def read_table(file: Path) -> Table:
    """Read a table.

    Raises:
        InputError: it is missing or not such a table.
    """
    return read_model(file, Table, InputError, "a file of `distriage releases update`")


def update_table(
    file: Path, repositories: Sequence[str], client: Client, now: Callable[[], float] = time.time
) -> dict[str, int]:
    """Write releases into a table, new or not; those of less than a day ago stay as they are.

    Args:
        repositories: `owner/repo`; none: all of the table.

    Returns:
        Repository in lower case -> number of its releases, of those that were read.

    Raises:
        InputError: the file is not a table or cannot be written, or there is nothing to read.
        GitHubError: GitHub is out of reach or refuses; nothing is written.
    """
    known = dict(read_table(file).repositories) if file.exists() or not repositories else {}
    names = {name.lower(): name for name in repositories or known}
    due = {
        name: given for name, given in names.items() if name not in known or known[name].fetched_at <= now() - KEPT_S
    }
    read = {name: _Of(fetched_at=now(), releases=read_releases(client, given)) for name, given in due.items()}
    with replaced(file) as (new,):
        new.write_text(Table(repositories={**known, **read}).model_dump_json(indent=1) + "\n", encoding="utf-8")
    return {name: len(one.releases) for name, one in read.items()}
