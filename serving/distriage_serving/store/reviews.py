"""People's reviews of issues, one axis at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, cast

from sqlalchemy import ColumnElement, Table, bindparam, case, func, select, tuple_, update
from sqlalchemy.orm import Session

from distriage.answer.feedback import OWN_AXIS, own_label
from distriage.answer.verdict import Verdict
from distriage.base.references import IssueReference
from distriage_serving.store.acts import of_last_moment, of_this_issue
from distriage_serving.store.database import Database, plain_insert
from distriage_serving.store.schema import How, Issue, IssueStatus, Review, StoredVerdict, VerdictAxis, values_of

_AT_ONCE: Final = 200

Key = tuple[str, int]


def review_of(
    issue: IssueReference,
    axis: str,
    label: str | None,
    by: tuple[str, How, float],
    said: StoredVerdict | Verdict | None,
    predicted: str | None = None,
) -> Review:
    """A review beside a verdict's label for the axis, or for the own label named by `axis`.

    Args:
        said: The verdict, if there is one.
        predicted: The reviewed label, if not the verdict's; it then lacks a probability.
    """
    who, how, at = by
    verdict = said.verdict if isinstance(said, StoredVerdict) else said
    given, probability = _said(verdict, axis) if verdict is not None else (None, None)
    return Review(
        repository=issue.repository,
        number=issue.number,
        axis=axis,
        label=label,
        who=who,
        how=how,
        at=at,
        predicted_label=predicted or given,
        probability=probability if predicted in {None, given} else None,
        model=verdict.model if verdict is not None else None,
        verdict_id=said.id if isinstance(said, StoredVerdict) else None,
    )


def _said(verdict: Verdict, axis: str) -> tuple[str | None, float | None]:
    """The label of an axis and its probability; an own label only if it is applied."""
    if (name := own_label(axis)) is not None:
        own = next((own for own in verdict.own or () if own.label == name), None)
        return (name if own is not None and own.applied else None), (own.probability if own is not None else None)
    said = verdict.axes.get(axis)
    return (said.label, said.probability) if said is not None else (None, None)


class Reviews(Database):
    """People's reviews; keeps `Issue.status` in step. Reviews older than their issue belong to a deleted one."""

    def add_reviews(self, *reviews: Review) -> list[int]:
        """Store reviews, all or none.

        Returns:
            Their ids, in order; one that is known (same person, way, time and axis) has the id that it had.
        """
        if not reviews:
            return []
        with self._session(writes=True) as session:
            ids = [_add(session, review) for review in reviews]
            update_status(session, [(review.repository, review.number) for review in reviews])
        return ids

    def undo_reviews(self, *ids: int) -> list[Review]:
        """Undo reviews, all or none.

        Returns:
            Those that stood until now.
        """
        if not ids:
            return []
        standing = update(Review).where(Review.id.in_(ids), Review.undone_at.is_(None)).values(undone_at=self.clock())
        with self._session(writes=True) as session:
            undone = list(session.scalars(standing.returning(Review), execution_options={"populate_existing": True}))
            update_status(session, [(review.repository, review.number) for review in undone])
        return undone

    def reviews(
        self,
        since: float = 0,
        repositories: Collection[str] | None = None,
        *,
        issue: IssueReference | None = None,
        undone: bool = False,
    ) -> list[Review]:
        """Reviews since then, by time.

        Args:
            repositories: Only of these; of all if None.
            issue: Only of this one.
        """
        wanted = select(Review).where(Review.at >= since, of_this_issue(Review)).order_by(Review.at, Review.id)
        if repositories is not None:
            wanted = wanted.where(Review.repository.in_(list(repositories)))
        if issue is not None:
            wanted = wanted.where(Review.repository == issue.repository, Review.number == issue.number)
        if not undone:
            wanted = wanted.where(Review.undone_at.is_(None))
        return self._all(wanted)

    def reviewed_digests(self) -> dict[int, str]:
        """Id of each standing review -> digest of the report as the model read it then, if it did."""
        of_issue = StoredVerdict.repository == Review.repository, StoredVerdict.number == Review.number
        first = select(func.min(StoredVerdict.id)).where(*of_issue).correlate(Review).scalar_subquery()
        then = StoredVerdict.id == func.coalesce(Review.verdict_id, first)  # of a label from before the first verdict
        wanted = select(Review.id, StoredVerdict.digest).join(StoredVerdict, then).where(Review.undone_at.is_(None))
        with self._session(writes=False) as session:
            return dict(iter(session.execute(wanted)))

    def reviews_of(self, issues: Collection[Key]) -> dict[Key, list[Review]]:
        """All reviews of issues, including undone ones, by time; issues without a review are absent."""
        found: dict[Key, list[Review]] = {}
        with self._session(writes=False) as session:
            for some in _chunks(sorted(set(issues))):
                *near, _ = _among(Review, some)  # a few more, in a third of the time
                for review in session.scalars(
                    select(Review).where(*near, of_this_issue(Review)).order_by(Review.at, Review.id)
                ):
                    if (review.repository, review.number) in some:
                        found.setdefault((review.repository, review.number), []).append(review)
        return found

    def last_decision(
        self,
        who: str,
        since: float,
        repositories: Collection[str] | None = None,
        at: float | None = None,
        *,
        undone: bool = False,
    ) -> list[Review]:
        """As `of_last_moment`: a person's newest decision in the queue."""
        these = [Review.who == who, Review.how == "queue"]
        return self._all(of_last_moment(Review, these, since, repositories, at, undone=undone))


def _add(session: Session, review: Review) -> int:
    added: int | None = session.scalar(
        plain_insert(session, Review).on_conflict_do_nothing().returning(Review.id), values_of(review)
    )
    if added is not None:
        return added
    this = (
        Review.repository == review.repository,
        Review.number == review.number,
        Review.axis == review.axis,
    )
    event = (Review.who == review.who, Review.how == review.how, Review.at == review.at)
    return session.scalars(select(Review.id).where(*this, *event)).one()


def update_status(session: Session, issues: Iterable[Key]) -> None:
    """Bring issues' status, and the decision on each axis, in step with their verdicts and reviews."""
    keys = sorted({(repository.lower(), number) for repository, number in issues})
    for some in _chunks(keys):
        # Reviews that others write at this moment are read below, once they are committed.
        these = select(Issue.repository, Issue.number, Issue.verdict_id).where(*_among(Issue, some))
        locked = session.execute(these.order_by(Issue.repository, Issue.number).with_for_update(key_share=True))
        of_issue = {(one.repository, one.number): one.verdict_id for one in locked if one.verdict_id is not None}
        latest: dict[Key, dict[str, Review]] = {key: {} for key in some}
        standing = select(Review).where(*_among(Review, some), Review.undone_at.is_(None), of_this_issue(Review))
        for review in session.scalars(standing.order_by(Review.at, Review.id)):
            latest[review.repository, review.number][review.axis] = review
        _note_decided(session, latest, of_issue)
        anew = _read_anew(session, latest, of_issue)
        matter = _axes_that_matter(session, [key for key in some if latest[key]])
        by_status: dict[IssueStatus, list[Key]] = {}
        for key, reviews in latest.items():
            status = "open" if key in anew else status_of(reviews, matter.get(key, frozenset()))
            by_status.setdefault(status, []).append(key)
        for status, those in by_status.items():
            session.execute(update(Issue).where(*_among(Issue, those)).values(status=status))


def _note_decided(session: Session, latest: Mapping[Key, Mapping[str, Review]], of_issue: Mapping[Key, int]) -> None:
    axes = cast(Table, VerdictAxis.__table__)
    known = axes.c.verdict_id.in_(list(of_issue.values())), axes.c.decided
    said = case((axes.c.outcome == "not-applicable", ""), else_=axes.c.label)
    session.execute(update(axes).where(*known).values(decided=False, standing=said))
    decided = {
        (verdict_id, review.axis): review.label or ""
        for key, verdict_id in of_issue.items()
        for review in latest[key].values()
    }
    if not decided:
        return
    requires = select(axes.c.verdict_id, axes.c.axis, axes.c.requires_axis, axes.c.requires_label).where(
        axes.c.verdict_id.in_({verdict_id for verdict_id, _ in decided}), axes.c.requires_axis != ""
    )
    needs = session.execute(requires).all()
    # Once more for an axis that requires one of those just ruled out.
    while unmet := {
        (verdict_id, axis): ""
        for verdict_id, axis, other, wanted in needs
        if decided.get((verdict_id, other), wanted) != wanted and decided.get((verdict_id, axis)) != ""
    }:
        decided |= unmet
    rows = [
        {"of_verdict": verdict_id, "of_axis": axis, "standing": label, "decided": True}
        for (verdict_id, axis), label in decided.items()
    ]
    this = axes.c.verdict_id == bindparam("of_verdict"), axes.c.axis == bindparam("of_axis")
    session.execute(update(axes).where(*this), rows)


def _read_anew(session: Session, latest: Mapping[Key, Mapping[str, Review]], of_issue: Mapping[Key, int]) -> set[Key]:
    """Issues to decide once more: the report was edited since, and on an axis that a person decided the model says
    another label than before and than this person. Most edits change no label.
    """
    ids = {review.verdict_id for reviews in latest.values() for review in reviews.values()} - {None}
    if ids <= set(of_issue.values()):
        return set()
    ids |= set(of_issue.values())
    read = select(StoredVerdict.id, StoredVerdict.digest).where(StoredVerdict.id.in_(ids))
    digests = dict(iter(session.execute(read)))
    says = select(VerdictAxis.verdict_id, VerdictAxis.axis, VerdictAxis.label, VerdictAxis.outcome)
    said = {
        (verdict_id, axis): None if outcome == "not-applicable" else label
        for verdict_id, axis, label, outcome in session.execute(says.where(VerdictAxis.verdict_id.in_(ids)))
        if outcome != "abstain"
    }
    return {
        key
        for key, now in of_issue.items()
        for axis, review in latest[key].items()
        if (then := review.verdict_id) in digests and digests[then] != digests[now]
        if said.get((now, axis), review.label) not in {review.label, said.get((then, axis), "")}
    }


def _axes_that_matter(session: Session, keys: Collection[Key]) -> dict[Key, frozenset[str]]:
    if not keys:
        return {}
    said = (
        select(Issue.repository, Issue.number, VerdictAxis.axis, VerdictAxis.labelled)
        .join(VerdictAxis, VerdictAxis.verdict_id == Issue.verdict_id)
        .where(*_among(Issue, keys), VerdictAxis.outcome != "not-applicable", ~VerdictAxis.axis.startswith(OWN_AXIS))
    )
    found: dict[Key, dict[str, bool]] = {}
    for repository, number, axis, labelled in session.execute(said):
        found.setdefault((repository, number), {})[axis] = labelled
    return {
        key: frozenset(axis for axis, labelled in axes.items() if labelled) or frozenset(axes)
        for key, axes in found.items()
    }


def status_of(latest: dict[str, Review], matter: Collection[str]) -> IssueStatus:
    """Status by the latest standing review of each axis."""
    is_decided = any(review.how == "queue" for review in latest.values()) or latest.keys() >= set(matter)
    if not latest or not is_decided:
        return "open"
    if all(review.label is None for review in latest.values()):
        return "dismissed"
    right = all(review.label == review.predicted_label for review in latest.values())
    return "accepted" if right else "corrected"


def _among(table: type[Issue | Review], keys: Collection[Key]) -> list[ColumnElement[bool]]:
    """Conditions for these issues. With the row comparison alone, SQLite would read the whole table."""
    repositories, numbers = {repository for repository, _ in keys}, {number for _, number in keys}
    these = tuple_(table.repository, table.number).in_(list(keys))
    return [table.repository.in_(repositories), table.number.in_(numbers), these]


def _chunks(keys: list[Key]) -> Iterable[list[Key]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))
