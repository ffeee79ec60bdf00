"""Issues and what the model said of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, case, delete, func, or_, select, update
from sqlalchemy.orm import defer

from distriage.references import IssueReference
from distriage.taxonomy import Taxonomy
from distriage_serving.store.database import Database, plain_insert, values_of
from distriage_serving.store.paging import IssueFilter, Page, Sort, cursor, in_order
from distriage_serving.store.past import PastState, note_past_state
from distriage_serving.store.priority import priority, unread_priority
from distriage_serving.store.reviews import update_status
from distriage_serving.store.schema import Issue, Lifecycle, StoredVerdict, VerdictAxis, report_digest

WEEK_S: Final = 7 * 86400
_A_MONDAY: Final = 4 * 86400  # 5 January 1970
_FROM_GITHUB: Final = (
    "title",
    "body",
    "author",
    "url",
    "state",
    "labels",
    "created_at",
    "updated_at",
    "digest",
)


def week_of(at: float) -> int:
    """Monday 00:00 UTC of the week of a time; both epoch seconds."""
    return int((at - _A_MONDAY) // WEEK_S * WEEK_S + _A_MONDAY)


@dataclass(frozen=True, slots=True)
class AxisCount:
    """Issues whose latest verdict, made in the week that begins at `week_at`, says this of an axis."""

    week_at: int
    axis: str
    label: str
    outcome: str
    count: int


@dataclass(frozen=True, slots=True)
class Backfilled:
    """A label that `distriage backfill` was about to set, or to take off, in a person's name.

    Attributes:
        who: Login of the person whose token it has.
        at: When; the write itself may have waited for GitHub's limits.
    """

    label: str
    added: bool
    who: str
    at: float


class Issues(Database):
    """The store's part for issues and verdicts."""

    def save_issue(self, issue: Issue) -> None:
        """Insert an issue, or update what GitHub says of it; a view older than the one stored changes nothing, unless
        that one is deleted: of a repository's deletion may be heard late. One filed later takes the place of the one
        stored and its verdicts: its repository was deleted and made anew.
        """
        values = {
            **values_of(issue),
            "digest": report_digest(issue.title, issue.body),
            "priority": unread_priority(issue.created_at),
        }
        earlier = delete(Issue).where(*_is(issue.reference), Issue.created_at < issue.created_at)
        with self._session(writes=True) as session:
            session.execute(earlier.execution_options(synchronize_session=False))
            new = plain_insert(session, Issue)
            changes = {name: new.excluded[name] for name in _FROM_GITHUB}
            key = [Issue.repository, Issue.number]
            where = or_(Issue.updated_at <= new.excluded.updated_at, Issue.state == "deleted")
            session.execute(new.on_conflict_do_update(index_elements=key, set_=changes, where=where), values)

    def set_state(self, reference: IssueReference, state: Lifecycle, updated_at: float, reason: str = "") -> bool:
        """Note what became of an issue on GitHub, also where it is one of the past issues only.

        Args:
            updated_at: The issue's, as the event says. An event that is older than what is stored changes nothing,
                unless the issue is gone: that is for good.
            reason: GitHub's for closing it; empty where unknown.

        Returns:
            False: the issue is not known, or more recent things are known of it.
        """
        this = update(Issue).where(*_is(reference))
        if state in {"open", "closed"}:
            this = this.where(Issue.updated_at <= updated_at, Issue.state.in_(("open", "closed")))
        newest = case((Issue.updated_at > updated_at, Issue.updated_at), else_=updated_at)
        with self._session(writes=True) as session:
            changed = session.scalar(this.values(state=state, updated_at=newest).returning(Issue.number))
            note_past_state(session, PastState(reference, state, updated_at, reason))
            return changed is not None

    def hold(self, reference: IssueReference, *, held: bool) -> None:
        """Note whether an issue's labels wait until the repository's configuration is repaired."""
        with self._session(writes=True) as session:
            session.execute(update(Issue).where(*_is(reference)).values(held=held))

    def held_issues(self, repository: str) -> list[IssueReference]:
        """The issues of a repository that wait until its configuration is repaired."""
        wanted = select(Issue.number).where(Issue.repository == repository, Issue.held).order_by(Issue.number)
        with self._session(writes=False) as session:
            return [IssueReference(repository, number) for number in session.scalars(wanted)]

    def issue_states(self, repository: str) -> dict[int, tuple[Lifecycle, float, str]]:
        """Number -> (state, `updated_at`, digest) of all issues of a repository."""
        wanted = select(Issue.number, Issue.state, Issue.updated_at, Issue.digest)
        wanted = wanted.where(Issue.repository == repository)
        with self._session(writes=False) as session:
            return {number: (state, at, digest) for number, state, at, digest in session.execute(wanted)}

    def get_issue(self, repository: str, number: int, *, lock: bool = False) -> Issue | None:
        """The whole issue, if it is known.

        Args:
            lock: Until the transaction ends, nobody else changes what is noted about it.
        """
        wanted = select(Issue).where(Issue.repository == repository, Issue.number == number)
        with self._session(writes=lock) as session:
            return session.scalar(wanted.with_for_update(key_share=True) if lock else wanted)

    def save_verdict(self, stored: StoredVerdict, taxonomy: Taxonomy, labelled: Collection[str] | None = None) -> int:
        """Store a verdict as the latest one of its issue.

        Args:
            taxonomy: That of the verdict.
            labelled: The axes that the repository labels; None: all.

        Returns:
            Its id.

        Raises:
            LookupError: the issue was not saved before.
        """
        stored.week_at = week_of(stored.made_at)
        this = (Issue.repository == stored.repository, Issue.number == stored.number)
        with self._session(writes=True) as session:
            created_at = session.scalar(select(Issue.created_at).where(*this).with_for_update())
            if created_at is None:
                raise LookupError(
                    f"{stored.repository}#{stored.number}: save the issue before what the model says of it"
                )
            session.add(stored)
            session.flush()
            for axis, said in stored.verdict.axes.items():
                known = taxonomy.axes.get(axis)
                requires_axis, requires_label = (known.requires if known is not None else None) or ("", "")
                session.add(
                    VerdictAxis(
                        verdict_id=stored.id,
                        axis=axis,
                        label=said.label,
                        probability=said.probability,
                        outcome=said.outcome,
                        labelled=labelled is None or axis in labelled,
                        standing="" if said.outcome == "not-applicable" else said.label,
                        requires_axis=requires_axis,
                        requires_label=requires_label,
                    )
                )
            session.execute(
                update(Issue)
                .where(*this)
                .values(verdict_id=stored.id, priority=priority(stored.verdict, created_at, taxonomy))
            )
            update_status(session, [(stored.repository, stored.number)])
        return stored.id

    def latest_verdict(self, repository: str, number: int) -> StoredVerdict | None:
        """What was said of an issue last."""
        latest = (
            select(Issue.verdict_id).where(Issue.repository == repository, Issue.number == number).scalar_subquery()
        )
        with self._session(writes=False) as session:
            return session.scalar(select(StoredVerdict).where(StoredVerdict.id == latest))

    def labelled_digest(self, repository: str, number: int) -> str | None:
        """Digest of the report to which the issue's labels belong: that of the last plan that was carried out."""
        last = (
            select(StoredVerdict.digest)
            .where(StoredVerdict.repository == repository, StoredVerdict.number == number)
            .where(StoredVerdict.carried_out_at.is_not(None))
            .order_by(StoredVerdict.carried_out_at.desc(), StoredVerdict.id.desc())
            .limit(1)
        )
        with self._session(writes=False) as session:
            return session.scalar(last)

    def backfilled(self, reference: IssueReference) -> list[Backfilled]:
        """What `distriage backfill` was about to write on an issue in a person's name, the oldest first."""
        plans = (
            select(StoredVerdict.plan)
            .where(StoredVerdict.repository == reference.repository, StoredVerdict.number == reference.number)
            .order_by(StoredVerdict.id)
        )
        with self._session(writes=False) as session:
            return [
                Backfilled(**noted) for plan in session.scalars(plans) for noted in (plan or {}).get("backfilled", ())
            ]

    def set_plan(self, verdict_id: int, plan: dict[str, object]) -> None:
        """Another plan follows from the same verdict."""
        with self._session(writes=True) as session:
            session.execute(update(StoredVerdict).where(StoredVerdict.id == verdict_id).values(plan=plan))

    def mark_carried_out(self, verdict_id: int) -> None:
        """Its plan was carried out now."""
        with self._session(writes=True) as session:
            session.execute(
                update(StoredVerdict).where(StoredVerdict.id == verdict_id).values(carried_out_at=self.clock())
            )

    def list_issues(
        self, filtered: IssueFilter | None = None, sort: Sort = "priority", after: str | None = None, limit: int = 50
    ) -> Page:
        """A part of the list of issues, one read of an index.

        Args:
            sort: `priority`: what most needs a person first; `newest`, `oldest`: by creation.
            after: `Page.next` of the part before.

        Raises:
            InputError: `after` is not such a cursor.
        """
        joined = (
            select(Issue, StoredVerdict)
            .outerjoin(StoredVerdict, StoredVerdict.id == Issue.verdict_id)
            .options(defer(Issue.body))
        )
        wanted = in_order(joined.where(*(filtered or IssueFilter()).conditions()), sort, after).limit(limit + 1)
        with self._session(writes=False) as session:
            items: list[tuple[Issue, StoredVerdict | None]] = [
                (issue, stored) for issue, stored in session.execute(wanted)
            ]
        return Page(items[:limit], cursor(items[limit - 1][0], sort) if len(items) > limit else None)

    def neighbours(
        self, issue: Issue, filtered: IssueFilter | None = None, sort: Sort = "priority"
    ) -> list[tuple[str, int] | None]:
        """Repository and number of the issues right before and right after this one in a list, of which it need not be
        part; None: there is none.
        """
        query = select(Issue.repository, Issue.number).where(*(filtered or IssueFilter()).conditions()).limit(1)
        with self._session(writes=False) as session:
            rows = [
                session.execute(in_order(query, sort, cursor(issue, sort), backwards=backwards)).first()
                for backwards in (True, False)
            ]
        return [None if row is None else (row[0], row[1]) for row in rows]

    def count_issues(self, filtered: IssueFilter | None = None) -> int:
        """How many there are."""
        with self._session(writes=False) as session:
            return (
                session.scalar(select(func.count()).select_from(Issue).where(*(filtered or IssueFilter()).conditions()))
                or 0
            )

    def axis_counts(self, since: float, repositories: Collection[str] | None = None) -> list[AxisCount]:
        """Latest verdicts made since then, counted by week, axis, label and outcome, in this order."""
        said = (StoredVerdict.week_at, VerdictAxis.axis, VerdictAxis.label, VerdictAxis.outcome)
        wanted = (
            select(*said, func.count())
            .join(VerdictAxis, VerdictAxis.verdict_id == StoredVerdict.id)
            .join(
                Issue,
                (Issue.repository == StoredVerdict.repository)
                & (Issue.number == StoredVerdict.number)
                & (Issue.verdict_id == StoredVerdict.id),
            )
            .where(StoredVerdict.made_at >= since)
            .group_by(*said)
            .order_by(*said)
        )
        if repositories is not None:
            wanted = wanted.where(StoredVerdict.repository.in_(list(repositories)))
        with self._session(writes=False) as session:
            return [AxisCount(*row) for row in session.execute(wanted)]


def _is(reference: IssueReference) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return Issue.repository == reference.repository, Issue.number == reference.number
