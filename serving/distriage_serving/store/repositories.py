"""Repositories that the App is installed on, and the data that follows a renamed one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, delete, exists, func, literal, select, update
from sqlalchemy.orm import Session, aliased

from distriage.answer.feedback import own_axis, own_label
from distriage_serving.store.acts import Act
from distriage_serving.store.database import Database, insert, share
from distriage_serving.store.past import drop_past, move_past
from distriage_serving.store.reviews import update_status
from distriage_serving.store.schema import Issue, Repository, Review, SharedValue, StoredVerdict, values_of
from distriage_serving.store.work.suggested import SuggestionRow
from distriage_serving.store.work.tables import Delivery, Job

UNKNOWN: Final = 0  # in place of a label's id
_AT_ONCE: Final = 500  # rows of one statement
_LEFT: Final = "left:"  # followed by a repository: when it was first seen that the App is off it
_REPOSITORY: Final = (  # made once: it is asked for several times an issue
    select(Repository).where(Repository.name == bindparam("name")).execution_options(populate_existing=True)
)


@dataclass(frozen=True, slots=True)
class LabelNames:
    """The labels that the configuration names, or that we set, by GitHub's id: `Repository.labels`. Pure.

    Histories and reviews know labels by their names at the time. Since the last look at a repository, a label may have
    been renamed, or deleted from all issues at once, which says nothing about any of them.

    Attributes:
        now: Id -> name.
        former: (name in lower case, id, when it was last the name of that label, Unix time in seconds), by time.
    """

    now: Mapping[int, str]
    former: tuple[tuple[str, int, float], ...] = ()

    @classmethod
    def read(cls, stored: Any) -> LabelNames:
        """Read from the store's column."""
        kept = stored or {"now": [], "former": []}
        return cls(dict(kept["now"]), tuple((name, id_, at) for name, id_, at in kept["former"]))

    def stored(self) -> dict[str, Any]:
        """As the store's column keeps it."""
        return {"now": sorted(self.now.items()), "former": self.former}

    def id_at(self, name: str, at: float) -> int | None:
        """The label that had a name at a time, if the name is a former one."""
        return next((id_ for former, id_, last in self.former if former == name.casefold() and at <= last), None)

    def name_now(self, name: str, at: float) -> str:
        """Today's name of the label that had a name at a time; that name if the label is gone or unknown."""
        return self.now.get(self.id_at(name, at) or UNKNOWN, name)

    def axis_now(self, axis: str, at: float) -> str:
        """Today's axis of a review of that time: that of an own label is its name."""
        name = own_label(axis)
        return own_axis(self.name_now(name, at)) if name is not None else axis


class Repositories(Database):
    """The store's part for repositories."""

    def save_repository(self, name: str, **values: object) -> None:
        """Set columns of a repository, known or not; others keep their values.

        Args:
            values: By the columns of `Repository`.
        """
        with self._session(writes=True) as session:
            new = insert(session, Repository).values(values_of(Repository(name=name, display_name=name)) | values)
            session.execute(new.on_conflict_do_update(index_elements=[Repository.name], set_=values))

    def get_repository(self, name: str, *, lock: bool = False) -> Repository | None:
        """The repository, if known; `enabled` says whether the App is on it.

        Args:
            lock: Until the transaction ends, no other may change its record.
        """
        if not lock:
            return self._first(_REPOSITORY, name=name)
        with self._session(writes=True) as session:
            return session.scalar(_REPOSITORY.with_for_update(), {"name": name})

    def list_repositories(self, *, enabled: bool | None = None, installation_id: int | None = None) -> list[Repository]:
        """Repositories by name; a condition that is None is not applied."""
        wanted = select(Repository).order_by(Repository.name)
        if enabled is not None:
            wanted = wanted.where(Repository.enabled == enabled)
        if installation_id is not None:
            wanted = wanted.where(Repository.installation_id == installation_id)
        return self._all(wanted)

    def enable_repositories(self, installation_id: int, names: Iterable[str]) -> None:
        """Note that the App is on these repositories of an installation.

        Args:
            names: As GitHub writes them.
        """
        rows = [
            values_of(Repository(name=name, display_name=name, installation_id=installation_id))
            for name in {name.lower(): name for name in names}.values()
        ]
        with self._session(writes=True) as session:
            for start in range(0, len(rows), _AT_ONCE):
                new = insert(session, Repository).values(rows[start : start + _AT_ONCE])
                said = {name: new.excluded[name] for name in ("display_name", "installation_id", "enabled")}
                session.execute(new.on_conflict_do_update(index_elements=[Repository.name], set_=said))

    def disable_repositories(self, installation_id: int, names: Collection[str] | None = None) -> None:
        """Note that the App left these repositories of an installation; all of them if None."""
        gone = update(Repository).where(Repository.installation_id == installation_id).values(enabled=False)
        some = list(names or ())
        with self._session(writes=True) as session:
            if names is None:
                session.execute(gone)
            for start in range(0, len(some), _AT_ONCE):
                session.execute(gone.where(Repository.name.in_(some[start : start + _AT_ONCE])))

    def forget_left(self, retention_s: float) -> None:
        """Delete the issues, past ones too, of repositories that the App has been off for this long, as far as earlier
        calls saw. People's reviews and their acts stay.
        """
        now = self.clock()
        with self._session(writes=True) as session:
            off = set(session.scalars(select(Repository.name).where(Repository.enabled.is_(False))))
            noted = select(SharedValue).where(SharedValue.name.startswith(_LEFT, autoescape=True))
            since = {row.name.removeprefix(_LEFT): row for row in session.scalars(noted)}
            for name in since.keys() - off:  # it is back
                session.delete(since[name])
            for name in off - since.keys():
                share(session, _LEFT + name, repr(now))
            for name in off & since.keys():
                if float(since[name].value) < now - retention_s:
                    session.execute(delete(Issue).where(Issue.repository == name))
                    drop_past(session, name)

    def delete_repository(self, name: str) -> bool:
        """Delete a repository and its issues, past ones too; people's reviews of them stay until another repository
        takes its name.

        Returns:
            False if it is unknown.
        """
        off = update(Repository).where(Repository.name == name).values(enabled=False)
        ended = update(Issue).where(Issue.repository == name, Issue.state.in_(("open", "closed")))
        with self._session(writes=True) as session:
            session.execute(ended.values(state="deleted", updated_at=self.clock()))
            drop_past(session, name)
            return session.scalar(off.returning(Repository.name)) is not None

    def rename_repository(self, old: str, new: str) -> bool:
        """Move a repository's issues, verdicts, reviews, acts, suggestions, past issues and waiting jobs.

        Data under the new name is kept, unless it belongs to a deleted repository; work under way ends under the old
        name.

        Args:
            new: As GitHub writes it.

        Returns:
            False if nothing is stored under the old name.
        """
        before, after = old.lower(), new.lower()
        with self._session(writes=True) as session:
            row = session.scalar(select(Repository).where(Repository.name == before).with_for_update())
            if row is not None and before == after:
                row.display_name = new
            if row is None or before == after:
                return row is not None
            _forget_deleted(session, after)
            _move_repository(session, row, new)
            numbers = _move_issues(session, before, after)
            _move_unless_known(session, Review, ("axis", "who", "how", "at"), before, after)
            session.execute(update(Act).where(Act.repository == before).values(repository=after))
            _move_unless_known(session, SuggestionRow, ("action", "axis", "value"), before, after)
            move_past(session, before, after, self.clock())
            _move_work(session, before, after, self.clock())
            update_status(session, [(after, number) for number in numbers])
        return True


def _forget_deleted(session: Session, name: str) -> None:
    """Forget the issues and reviews of an earlier repository of the same name, which was deleted."""
    enabled = select(Repository.enabled).where(Repository.name == name).with_for_update()
    left = select(Issue.number).where(Issue.repository == name, Issue.state.in_(("open", "closed"))).limit(1)
    if session.scalar(enabled) is False and session.scalar(left) is None:
        for table in (Issue, Review, Act, SuggestionRow):
            session.execute(delete(table).where(table.repository == name))


def _move_repository(session: Session, row: Repository, new: str) -> None:
    """If another repository once had the new name and has since removed the App, forget it."""
    moved = insert(session, Repository).values(values_of(row) | {"name": new, "display_name": new})
    values = {name: moved.excluded[name] for name in values_of(row) if name != "name"}
    off = Repository.enabled.is_(False)
    session.execute(moved.on_conflict_do_update(index_elements=[Repository.name], set_=values, where=off))
    session.execute(delete(Repository).where(Repository.name == row.name))


def _move_issues(session: Session, before: str, after: str) -> list[int]:
    """Copy, hand the verdicts over, delete: their foreign key lets no name change in one step."""
    columns: list[Any] = [column for column in Issue.__table__.columns if column.key != "repository"]
    copied = select(literal(after), *columns).where(Issue.repository == before)
    names = ["repository", *(column.key for column in columns)]
    session.execute(insert(session, Issue).from_select(names, copied).on_conflict_do_nothing())
    numbers = list(session.scalars(select(Issue.number).where(Issue.repository == before)))
    session.execute(update(StoredVerdict).where(StoredVerdict.repository == before).values(repository=after))
    latest = (
        select(func.max(StoredVerdict.id))
        .where(StoredVerdict.repository == after, StoredVerdict.number == Issue.number)
        .scalar_subquery()
    )
    unread = update(Issue).where(Issue.repository == after, Issue.verdict_id.is_(None))
    session.execute(unread.values(verdict_id=latest).execution_options(synchronize_session=False))
    session.execute(delete(Issue).where(Issue.repository == before))
    return numbers


def _move_unless_known(
    session: Session, table: type[Review | SuggestionRow], key: Sequence[str], before: str, after: str
) -> None:
    """Move rows to the new name; one whose number and key are there already is dropped."""
    known = aliased(table)
    same = [getattr(known, name) == getattr(table, name) for name in ("number", *key)]
    mine, there = table.repository == before, exists().where(known.repository == after, *same)
    session.execute(delete(table).where(mine, there).execution_options(synchronize_session=False))
    session.execute(update(table).where(mine).values(repository=after))


def _move_work(session: Session, before: str, after: str, now: float) -> None:
    """Move waiting jobs to the new name, unless the same waits there already."""
    session.execute(update(Delivery).where(Delivery.repository == before).values(repository=after))
    for job in session.scalars(select(Job).where(Job.repository == before, Job.state.in_(("waiting", "dead")))).all():
        key, lane = (text.replace(before, after, 1) for text in (job.key, job.lane))
        waits = select(Job.id).where(Job.key == key, Job.state == "waiting")
        if job.state == "waiting" and session.scalar(waits) is not None:
            job.state, job.due_at, job.finished_at = "ignored", None, now
            job.last_error = "the same waits under the repository's new name"
        else:
            job.key, job.lane, job.repository = key, lane, after
        session.flush()
