"""People's reviews out of the store, for training. Reads the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from distriage.answer.feedback import ReviewRecord
from distriage_serving.store import Review, Store


def review_records(store: Store) -> Iterator[ReviewRecord]:
    """The latest standing review on each axis of each issue that is known, in the order in which issues were first
    judged.

    Raises:
        UnavailableError: the database is gone.
    """
    latest: dict[tuple[str, int], dict[str, Review]] = {}
    for review in store.reviews():
        latest.setdefault((review.repository, review.number), {})[review.axis] = review
    names = {repository.name: repository.display_name for repository in store.list_repositories()}
    for (repository, number), axes in latest.items():
        issue = store.get_issue(repository, number)
        if issue is None:
            continue
        for review in axes.values():
            yield ReviewRecord(
                id=f"{names.get(repository, repository)}#{number}",
                url=issue.url,
                title=issue.title,
                body=issue.body,
                created=_time(issue.created_at) if issue.created_at else None,
                axis=review.axis,
                label=review.label,
                predicted_label=review.predicted_label,
                probability=review.probability,
                model=review.model or "",
                who=review.who,
                how=review.how,
                at=_time(review.at),
            )


def _time(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
