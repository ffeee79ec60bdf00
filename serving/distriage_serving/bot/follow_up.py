"""Consequences of a delivery or a job: rows and jobs in the store, in the transaction that ends it. Database I/O."""

from __future__ import annotations

from dataclasses import dataclass

from distriage_serving.bot.deliveries import (
    Access,
    Became,
    Check,
    Commanded,
    Configured,
    Deleted,
    Effect,
    Ended,
    Ignored,
    Renamed,
    Triage,
)
from distriage_serving.github.settled import Settled
from distriage_serving.planning.types import Change
from distriage_serving.store import NewJob, Review, Store, access_job, check_job, command_job, configure_job, triage_job


def follow_delivery(
    store: Store, effect: Effect, installation_id: int, debounce_s: float, received_at: float | None = None
) -> str | None:
    """Store the consequences of a delivery.

    Args:
        debounce_s: An edited issue is looked at once it has been left alone this long.
        received_at: When the delivery came; now if None.

    Returns:
        Why nothing follows, if so.
    """
    match effect:
        case Ignored(why):
            return why
        case Triage(issue, _, if_known) if if_known and store.get_issue(issue.repository, issue.number) is None:
            return "it was there before the App; `distriage backfill` takes such issues"
        case Triage(issue, debounced):
            due_at = store.clock() + (debounce_s if debounced else 0.0)
            store.put_job(triage_job(issue, installation_id), due_at, since=received_at)
        case Commanded(issue, argument):
            store.put_job(command_job(issue, installation_id, argument))
        case Check(pull, argument):
            store.put_job(check_job(pull, installation_id, argument))
        case Became(issue, state, updated_at, reason):
            store.set_state(issue, state, updated_at, reason)
        case Settled(repository, numbers, by):
            store.settle_past(repository, numbers, by)
        case Access(got, lost):
            store.enable_repositories(installation_id, got)
            store.disable_repositories(installation_id, lost)
            # The end of a suspension names no repository, nor does a fresh installation; removals and additions may
            # come in any order.
            wait_s = debounce_s if got or lost else 0.0
            store.put_job(access_job(installation_id), store.clock() + wait_s)
        case Ended():
            store.disable_repositories(installation_id)
        case Renamed(old, new):
            if not store.rename_repository(old, new):
                return f"nothing is known of {old}"
            store.save_repository(new, display_name=new, installation_id=installation_id)
        case Deleted(repository):
            if not store.delete_repository(repository):
                return f"nothing is known of {repository}"
            store.put_job(access_job(installation_id), store.clock() + debounce_s)  # another may have its name by now
        case Configured(repository):
            for name in _configured_by(store, repository, installation_id):
                store.put_job(configure_job(name, installation_id))
    return None


def _configured_by(store: Store, repository: str, installation_id: int) -> list[str]:
    """The repositories for which a file counts: that of `owner/.github` for all of the owner that wait for a repair."""
    owner, _, name = repository.partition("/")
    if name != ".github":
        return [repository]
    rows = store.list_repositories(enabled=True, installation_id=installation_id)
    waiting = [row.name for row in rows if row.config_error is not None and row.name.startswith(f"{owner}/")]
    return [repository, *(name for name in waiting if name != repository)]


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a piece of work.

    Attributes:
        note: One line for a reader of the log, if any.
        remark: The end of `note` that is not a fault, if any.
        nothing_to_do: It was left alone; `note` says why.
        changes: The issue's; planned ones in a dry run.
        refused: GitHub refused part of the plan.
        reviews: To add, in one transaction with the end of the job.
        taken_back: Ids of reviews that no longer hold, likewise.
        jobs: That follow, likewise.
        reconciled: The repository whose issues were compared with GitHub's, and as of when, likewise: a comparison
            counts only once its jobs are stored.
    """

    note: str | None = None
    remark: str | None = None
    nothing_to_do: bool = False
    changes: tuple[Change, ...] = ()
    refused: bool = False
    reviews: tuple[Review, ...] = ()
    taken_back: tuple[int, ...] = ()
    jobs: tuple[NewJob, ...] = ()
    reconciled: tuple[str, float] | None = None

    @property
    def fault(self) -> str | None:
        """The part of `note` without the remark, if any."""
        return (self.note or "").removesuffix(self.remark or "").removesuffix("; ") or None


def follow_job(store: Store, done: Done) -> None:
    """Store the consequences of a job."""
    store.add_reviews(*done.reviews)
    store.undo_reviews(*done.taken_back)
    for job in done.jobs:
        store.put_job(job)
    if done.reconciled is not None:
        repository, at = done.reconciled
        store.save_repository(repository, reconciled_at=at)
