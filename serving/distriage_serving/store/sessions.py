"""Who is logged in, and values that all processes on one database share."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, mapped_column

from distriage_serving.store.database import Database, insert
from distriage_serving.store.schema import Base, JsonValue, SharedValue, values_of


class LoginSession(Base):
    """A person who is logged in to the queue.

    Attributes:
        id: SHA-256 of the cookie, hex: a reader of the database cannot log in with it.
        who: GitHub login, or `admin:NAME`.
        repositories: Visible to the person, in lower case; all if None.
        credential: The login's credential; once it leaves the settings, the session is over.
    """

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(primary_key=True)
    who: Mapped[str]
    csrf: Mapped[str] = mapped_column(repr=False)
    credential: Mapped[str] = mapped_column(repr=False)
    created_at: Mapped[float]
    ends_at: Mapped[float]
    repositories: Mapped[JsonValue] = mapped_column(default=None)


class LoginSessions(Database):
    """The store's part for logins. Ended and expired sessions leave no row."""

    def add_session(self, session: LoginSession) -> None:
        """Begin a session, and forget those whose time is over."""
        with self._session(writes=True) as database:
            database.execute(delete(LoginSession).where(LoginSession.ends_at <= self.clock()))
            database.execute(insert(database, LoginSession).values(values_of(session)))

    def get_session(self, id: str) -> LoginSession | None:  # noqa: A002
        """The session of this id, unless its time is over."""
        wanted = select(LoginSession).where(LoginSession.id == id, LoginSession.ends_at > self.clock())
        return self._first(wanted)

    def list_sessions(self) -> list[LoginSession]:
        """All that last, the newest first."""
        wanted = select(LoginSession).where(LoginSession.ends_at > self.clock())
        return self._all(wanted.order_by(LoginSession.created_at.desc(), LoginSession.id))

    def end_sessions(self, *ids: str) -> int:
        """End these.

        Returns:
            How many there were.
        """
        ended = delete(LoginSession).where(LoginSession.id.in_(ids)).returning(LoginSession.id)
        with self._session(writes=True) as database:
            return len(database.scalars(ended).all())

    def shared_value(self, name: str, make: Callable[[], str]) -> str:
        """The value of this name; of several processes that ask for one at once, all get the first one made."""
        wanted = select(SharedValue.value).where(SharedValue.name == name)
        with self._session(writes=False) as database:
            found = database.scalar(wanted)
        if found is not None:
            return found
        with self._session(writes=True) as database:
            made = insert(database, SharedValue).values(name=name, value=make()).on_conflict_do_nothing()
            database.execute(made)
            return database.scalars(wanted).one()
