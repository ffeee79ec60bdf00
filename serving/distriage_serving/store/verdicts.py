"""The model's verdicts on issues."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import bindparam, func, select, update

from distriage.answer.feedback import own_axis
from distriage.base.references import IssueReference
from distriage.model.taxonomy import Taxonomy
from distriage_serving.store.database import Database, plain_insert
from distriage_serving.store.priority import priority
from distriage_serving.store.reviews import update_status
from distriage_serving.store.schema import SIGN_AXIS, Issue, StoredVerdict, VerdictAxis, values_of

WEEK_S: Final = 7 * 86400
_A_MONDAY: Final = 4 * 86400  # 5 January 1970
_OF_ISSUE: Final = select(Issue.verdict_id).where(
    Issue.repository == bindparam("repository"), Issue.number == bindparam("number")
)
_LATEST: Final = select(StoredVerdict).where(StoredVerdict.id == _OF_ISSUE.scalar_subquery())


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


class Verdicts(Database):
    """The store's part for verdicts."""

    def save_verdict(self, stored: StoredVerdict, taxonomy: Taxonomy, labelled: Collection[str] | None = None) -> int:
        """Store a verdict as the latest one of its issue.

        Args:
            labelled: The axes that the repository labels; all if None.

        Returns:
            Its id.

        Raises:
            LookupError: the issue is not in the store.
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
            rows = []
            for axis, said in stored.verdict.axes.items():
                known = taxonomy.axes.get(axis)
                requires_axis, requires_label = (known.requires if known is not None else None) or ("", "")
                rows.append(
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
            others = [
                (own_axis(own.label), own.label, own.probability, "apply")
                if own.applied
                else (own_axis(own.label), "", own.probability, "abstain")
                for own in stored.verdict.own or ()
            ]
            others += [(SIGN_AXIS + sign.name, sign.name, 1.0, "not-applicable") for sign in stored.verdict.signs or ()]
            for axis, label, probability, outcome in others:
                row = VerdictAxis(
                    verdict_id=stored.id,
                    axis=axis,
                    label=label,
                    probability=probability,
                    outcome=outcome,
                    labelled=False,
                    standing=label,
                )
                rows.append(row)
            if rows:
                session.execute(plain_insert(session, VerdictAxis), list(map(values_of, rows)))
            session.execute(
                update(Issue)
                .where(*this)
                .values(verdict_id=stored.id, priority=priority(stored.verdict, created_at, taxonomy), refused=False)
            )
            update_status(session, [(stored.repository, stored.number)])
        return stored.id

    def latest_verdict(self, repository: str, number: int) -> StoredVerdict | None:
        """The latest verdict on an issue."""
        return self._first(_LATEST, repository=repository, number=number)

    def labelled_digest(self, repository: str, number: int) -> str | None:
        """Digest of the report to which the issue's labels belong: that of the last plan carried out."""
        last = (
            select(StoredVerdict.digest)
            .where(StoredVerdict.repository == repository, StoredVerdict.number == number)
            .where(StoredVerdict.carried_out_at.is_not(None))
            .order_by(StoredVerdict.carried_out_at.desc(), StoredVerdict.id.desc())
            .limit(1)
        )
        return self._first(last)

    def backfilled(self, reference: IssueReference) -> list[Backfilled]:
        """Changes that `distriage backfill` was about to make on an issue in a person's name, the oldest first."""
        plans = (
            select(StoredVerdict.plan)
            .where(StoredVerdict.repository == reference.repository, StoredVerdict.number == reference.number)
            .order_by(StoredVerdict.id)
        )
        with self._session(writes=False, single=True) as session:
            return [
                Backfilled(**noted) for plan in session.scalars(plans) for noted in (plan or {}).get("backfilled", ())
            ]

    def set_plan(self, verdict_id: int, plan: dict[str, object]) -> None:
        """Another plan follows from the same verdict."""
        with self._session(writes=True) as session:
            session.execute(update(StoredVerdict).where(StoredVerdict.id == verdict_id).values(plan=plan))
            was = update(Issue).where(Issue.verdict_id == verdict_id, Issue.refused)
            session.execute(was.values(refused=False))

    def note_outcome(
        self, verdict_id: int, labels: Collection[str], issue_type: str | None, refused: list[str], *, complete: bool
    ) -> None:
        """Note the present outcome of a verdict's plan.

        Args:
            refused: A sentence on each change that GitHub refused.
            complete: The labels are as planned.
        """
        this = StoredVerdict.id == verdict_id
        has: dict[str, object] = {"labels": sorted(labels), "issue_type": issue_type, "refused": bool(refused)}
        with self._session(writes=True) as session:
            plan = session.scalar(select(StoredVerdict.plan).where(this)) or {}
            changed: dict[str, object] = {"plan": {**plan, "refused": refused}}
            if complete:
                changed["carried_out_at"] = self.clock()
            session.execute(update(StoredVerdict).where(this).values(changed))
            session.execute(update(Issue).where(Issue.verdict_id == verdict_id).values(has))

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
