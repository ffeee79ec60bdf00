"""Issues and what the model said of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select, update
from sqlalchemy.orm import defer

from distriage_serving.store.database import Database, insert, values_of
from distriage_serving.store.needs import needs
from distriage_serving.store.paging import IssueFilter, Page, Sort, cursor, in_order
from distriage_serving.store.schema import Issue, Prediction, PredictionAxis, report_digest

WEEK_S: Final = 7 * 86400
_A_MONDAY: Final = 4 * 86400  # 5 January 1970
_FROM_GITHUB: Final = ("title", "body", "author", "url", "state", "is_bot", "labels", "created_at", "updated_at", "digest")


@dataclass(frozen=True, slots=True)
class AxisCount:
    """Issues whose latest prediction, made in the week that begins at `week_at`, says this of an axis."""

    week_at: int
    axis: str
    label: str
    outcome: str
    count: int


class Issues(Database):
    """The store's part for issues and predictions."""

    def save_issue(self, issue: Issue) -> None:
        """Insert an issue, or update what GitHub says of it; one that was seen at a later `updated_at` is left as it is."""
        values = {**values_of(issue), "digest": report_digest(issue.title, issue.body), "needs": needs(None, issue.created_at)}
        with self._session(writes=True) as session:
            new = insert(session, Issue).values(values)
            changes = {name: new.excluded[name] for name in _FROM_GITHUB}
            key = [Issue.repository, Issue.number]
            session.execute(new.on_conflict_do_update(index_elements=key, set_=changes, where=Issue.updated_at <= new.excluded.updated_at))

    def get_issue(self, repository: str, number: int) -> Issue | None:
        """The whole issue, if it is known."""
        with self._session(writes=False) as session:
            return session.scalar(select(Issue).where(Issue.repository == repository, Issue.number == number))

    def save_prediction(self, prediction: Prediction) -> int:
        """Store a prediction as the latest one of its issue.

        Returns:
            Its id.

        Raises:
            LookupError: the issue was not saved before.
        """
        prediction.week_at = int((prediction.made_at - _A_MONDAY) // WEEK_S * WEEK_S + _A_MONDAY)
        this = (Issue.repository == prediction.repository, Issue.number == prediction.number)
        with self._session(writes=True) as session:
            created_at = session.scalar(select(Issue.created_at).where(*this).with_for_update())
            if created_at is None:
                raise LookupError(f"{prediction.repository}#{prediction.number}: save the issue before what is predicted for it")
            session.add(prediction)
            session.flush()
            for axis, said in prediction.verdict.axes.items():
                session.add(PredictionAxis(prediction_id=prediction.id, axis=axis, label=said.label, probability=said.probability, outcome=said.outcome))
            session.execute(update(Issue).where(*this).values(prediction_id=prediction.id, needs=needs(prediction.verdict, created_at)))
        return prediction.id

    def get_prediction(self, id: int) -> Prediction | None:  # noqa: A002
        """A prediction, the latest of its issue or not."""
        with self._session(writes=False) as session:
            return session.get(Prediction, id)

    def latest_prediction(self, repository: str, number: int) -> Prediction | None:
        """What was said of an issue last."""
        latest = select(Issue.prediction_id).where(Issue.repository == repository, Issue.number == number).scalar_subquery()
        with self._session(writes=False) as session:
            return session.scalar(select(Prediction).where(Prediction.id == latest))

    def mark_carried_out(self, prediction_id: int) -> None:
        """Its plan was carried out now."""
        with self._session(writes=True) as session:
            session.execute(update(Prediction).where(Prediction.id == prediction_id).values(carried_out_at=self.clock()))

    def list_issues(self, filter: IssueFilter = IssueFilter(), sort: Sort = "needs", after: str | None = None, limit: int = 50) -> Page:  # noqa: A002, B008
        """A part of the list of issues, one read of an index.

        Args:
            sort: `needs`: what most needs a person first; `newest`, `oldest`: by creation.
            after: `Page.next` of the part before.

        Raises:
            InputError: `after` is not such a cursor.
        """
        joined = select(Issue, Prediction).outerjoin(Prediction, Prediction.id == Issue.prediction_id).options(defer(Issue.body))
        wanted = in_order(joined.where(*filter.conditions()), sort, after).limit(limit + 1)
        with self._session(writes=False) as session:
            items: list[tuple[Issue, Prediction | None]] = [(issue, prediction) for issue, prediction in session.execute(wanted)]
        return Page(items[:limit], cursor(items[limit - 1][0], sort) if len(items) > limit else None)

    def neighbours(self, issue: Issue, filter: IssueFilter = IssueFilter(), sort: Sort = "needs") -> list[tuple[str, int] | None]:  # noqa: A002, B008
        """Repository and number of the issues right before and right after this one in a list, of which it need not be part; None: there is none."""
        query = select(Issue.repository, Issue.number).where(*filter.conditions()).limit(1)
        with self._session(writes=False) as session:
            rows = [session.execute(in_order(query, sort, cursor(issue, sort), backwards=backwards)).first() for backwards in (True, False)]
        return [None if row is None else (row[0], row[1]) for row in rows]

    def count_issues(self, filter: IssueFilter = IssueFilter()) -> int:  # noqa: A002, B008
        """How many there are."""
        with self._session(writes=False) as session:
            return session.scalar(select(func.count()).select_from(Issue).where(*filter.conditions())) or 0

    def axis_counts(self, since: float, repositories: Collection[str] | None = None) -> list[AxisCount]:
        """Latest predictions made since then, counted by week, axis, label and outcome, in this order."""
        said = (Prediction.week_at, PredictionAxis.axis, PredictionAxis.label, PredictionAxis.outcome)
        wanted = (
            select(*said, func.count())
            .join(PredictionAxis, PredictionAxis.prediction_id == Prediction.id)
            .join(Issue, (Issue.repository == Prediction.repository) & (Issue.number == Prediction.number) & (Issue.prediction_id == Prediction.id))
            .where(Prediction.made_at >= since)
            .group_by(*said)
            .order_by(*said)
        )
        if repositories is not None:
            wanted = wanted.where(Prediction.repository.in_(list(repositories)))
        with self._session(writes=False) as session:
            return [AxisCount(*row) for row in session.execute(wanted)]
