"""Pending suggestions of unchanged issues, one an hour and repository, since a dismissal changes nothing on the issue.
Network and database I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.bot.follow_up import Done
from distriage_serving.bot.suggestions.decided import poll
from distriage_serving.store import NewJob, Store, poll_job, triage_job

EVERY_S: Final = 3600.0


def due_polls(store: Store) -> list[NewJob]:
    """A job for each repository whose turn it is."""
    rows = store.repositories_to_poll(store.clock() - EVERY_S)
    return [poll_job(row.name, row.installation_id) for row in rows]


def poll_next(client: Client, store: Store, repository: str, installation_id: int | None) -> Done:
    """Ask about the issue of a repository that was asked about the longest ago.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    row, pending = store.get_repository(repository), store.open_suggestions(repository)
    if not pending or (row is not None and (row.polled_at or 0.0) > store.clock() - EVERY_S):
        return Done("nothing is pending, or it was asked lately", nothing_to_do=True)
    store.save_repository(repository, polled_at=store.clock())  # before the request: a second try is another request
    numbers = decisions_on(client, store, repository, [next(iter(pending))])
    return Done(jobs=tuple(triage_job(IssueReference(repository, number), installation_id) for number in numbers))


def decisions_on(client: Client, store: Store, repository: str, numbers: Iterable[int]) -> list[int]:
    """Ask for decisions on issues' suggestions. Returns the issues to look at: labelled since, or no duplicates.

    Raises:
        GitHubError: GitHub is out of reach or refuses.
    """
    found = []
    for number in numbers:
        decided = poll(client, store, IssueReference(repository, number), None, is_app=True).decided
        if any(row.state == "approved" or row.action == "close_issue" for row in decided):
            found.append(number)
    return found
