"""People's reviews out of the store, for training. Reads the database."""

from __future__ import annotations

from datetime import UTC, datetime

from distriage.answer.feedback import ReviewRecord, own_label
from distriage_serving.store import LabelNames, Review, Store


def review_records(store: Store) -> tuple[list[ReviewRecord], int]:
    """The latest standing review on each axis of each issue that is known, in the order in which issues were first
    judged; and how many are left out, as the report was edited since: its text of then is not kept.

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
    read, records, edited = store.reviewed_digests(), [], 0
    for (repository, number), axes in latest.items():
        issue = store.get_issue(repository, number)
        if issue is None:
            continue
        same = {axis: review for axis, review in axes.items() if read.get(review.id, issue.digest) == issue.digest}
        edited += len(axes) - len(same)
        for axis, review in same.items():
            own = own_label(axis)  # in today's name
            records.append(
                ReviewRecord(
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
            )
    return records, edited


def _time(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
