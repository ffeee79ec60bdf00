"""People's reviews out of the store, for training. Reads the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from distriage.answer.feedback import ReviewRecord, own_label
from distriage_serving.store import LabelNames, Review, Store


def review_records(store: Store) -> Iterator[ReviewRecord]:
    """The latest standing review on each axis of each issue that is known, in the order in which issues were first
    judged.

    Raises:
        UnavailableError: the database is gone.
    """
    repositories = store.list_repositories()
    names = {repository.name: repository.display_name for repository in repositories}
    labels = {repository.name: LabelNames.read(repository.labels) for repository in repositories}
    latest: dict[tuple[str, int], dict[str, Review]] = {}
    for review in store.reviews():
        known = labels.get(review.repository)
        axis = known.axis_now(review.axis, review.at) if known is not None else review.axis
        latest.setdefault((review.repository, review.number), {})[axis] = review
    for (repository, number), axes in latest.items():
        issue = store.get_issue(repository, number)
        if issue is None:
            continue
        for axis, review in axes.items():
            own = own_label(axis)  # in today's name
            yield ReviewRecord(
                id=f"{names.get(repository, repository)}#{number}",
                url=issue.url,
                title=issue.title,
                body=issue.body,
                created=_time(issue.created_at) if issue.created_at else None,
                axis=axis,
                label=review.label and (own or review.label),
                predicted_label=review.predicted_label and (own or review.predicted_label),
                probability=review.probability,
                model=review.model or "",
                who=review.who,
                how=review.how,
                at=_time(review.at),
            )


def _time(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
