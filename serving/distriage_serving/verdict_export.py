"""People's verdicts out of the store, for training. Reads the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from distriage.feedback import VerdictRecord
from distriage_serving.store import PersonVerdict, Store


def verdict_records(store: Store) -> Iterator[VerdictRecord]:
    """The latest standing verdict on each axis of each issue that is known, in the order in which issues were first judged.

    Raises:
        UnavailableError: the database is gone.
    """
    latest: dict[tuple[str, int], dict[str, PersonVerdict]] = {}
    for verdict in store.verdicts():
        latest.setdefault((verdict.repository, verdict.number), {})[verdict.axis] = verdict
    names = {repository.name: repository.display_name for repository in store.list_repositories()}
    for (repository, number), axes in latest.items():
        issue = store.get_issue(repository, number)
        if issue is None:
            continue
        for verdict in axes.values():
            yield VerdictRecord(
                id=f"{names.get(repository, repository)}#{number}",
                url=issue.url,
                title=issue.title,
                body=issue.body,
                created=_time(issue.created_at) if issue.created_at else None,
                axis=verdict.axis,
                label=verdict.label,
                predicted_label=verdict.predicted_label,
                probability=verdict.probability,
                model=verdict.model or "",
                who=verdict.who,
                how=verdict.how,
                at=_time(verdict.at),
            )


def _time(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
