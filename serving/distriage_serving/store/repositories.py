"""Repositories that the App is installed on."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select, update

from distriage_serving.store.database import Database, insert, values_of
from distriage_serving.store.schema import Repository


class Repositories(Database):
    """The store's part for repositories."""

    def save_repository(self, repository: Repository) -> None:
        """Insert, or replace the one of this name."""
        values = values_of(repository)
        with self._session(writes=True) as session:
            new = insert(session, Repository).values(values)
            session.execute(new.on_conflict_do_update(index_elements=[Repository.name], set_={name: new.excluded[name] for name in values if name != "name"}))

    def get_repository(self, name: str) -> Repository | None:
        """The repository, if it is known; `enabled` says whether the App is on it."""
        with self._session(writes=False) as session:
            return session.scalar(select(Repository).where(Repository.name == name))

    def list_repositories(self, *, enabled: bool | None = None, installation_id: int | None = None) -> list[Repository]:
        """Repositories by name; None: whatever they have."""
        wanted = select(Repository).order_by(Repository.name)
        if enabled is not None:
            wanted = wanted.where(Repository.enabled == enabled)
        if installation_id is not None:
            wanted = wanted.where(Repository.installation_id == installation_id)
        with self._session(writes=False) as session:
            return list(session.scalars(wanted))

    def disable_repositories(self, installation_id: int, names: Collection[str] | None = None) -> None:
        """The App was taken off these repositories of an installation; None: off all."""
        gone = update(Repository).where(Repository.installation_id == installation_id).values(enabled=False)
        with self._session(writes=True) as session:
            session.execute(gone if names is None else gone.where(Repository.name.in_(list(names))))
