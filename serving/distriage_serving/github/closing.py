"""Closes and reopens an issue as a person asked for in the queue, so that doing it twice is the same as once.
Network I/O; writes.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from distriage.base.errors import RefusedError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.github.executor import raise_if_moved, write_comment
from distriage_serving.github.issue import find_own_comment, read_timeline, set_by_us
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.types import PlannedComment

DUPLICATE: Final = "duplicate"  # the label, one of those that GitHub gives each new repository


def close(client: Client, issue: IssueReference, reason: str, duplicate_of: int | None) -> None:
    """Close an issue; of a duplicate say first of which, unless it is locked, and label it.

    Args:
        reason: GitHub's: `completed`, `not_planned` or `duplicate`.

    Raises:
        TransferredError: the issue or its repository is in another place by now.
        RefusedError: GitHub refuses.
        GitHubError: GitHub cannot be reached.
    """
    try:
        if duplicate_of is not None:
            _mark_duplicate(client, issue, duplicate_of)
        client.write("PATCH", _path(issue), {"state": "closed", "state_reason": reason}, repeatable=True)
    except RefusedError as error:
        raise_if_moved(error)
        raise


def _mark_duplicate(client: Client, issue: IssueReference, original: int) -> None:
    text = f"Duplicate of #{original}"
    marker = Marker.of(text, DUPLICATE)
    own = find_own_comment(client, issue, DUPLICATE)
    if own is None or own.digest != marker.digest:
        replaces = own.id if own is not None else None
        try:
            write_comment(client, issue, PlannedComment(marker.write(text), marker.digest, replaces, DUPLICATE))
        except RefusedError as error:
            if error.status != 403:  # else the conversation is locked, or what follows is refused too
                raise
    client.write("POST", f"{_path(issue)}/labels", {"labels": [DUPLICATE]}, repeatable=True)


def reopen(client: Client, issue: IssueReference, *, was_duplicate: bool) -> None:
    """Open an issue again, and take away what `close` wrote; what somebody else did before or after it stays.

    Raises:
        TransferredError: the issue or its repository is in another place by now.
        RefusedError: GitHub refuses.
        GitHubError: GitHub cannot be reached.
    """
    timeline = read_timeline(client, issue, DUPLICATE)
    try:
        if timeline.closed_by_us:
            client.write("PATCH", _path(issue), {"state": "open"}, repeatable=True)
        if was_duplicate and DUPLICATE in set_by_us(timeline.label_events):
            _delete(client, f"{_path(issue)}/labels/{quote(DUPLICATE)}")
        if was_duplicate and timeline.comment is not None:
            _delete(client, f"/repos/{issue.repository}/issues/comments/{timeline.comment.id}")
    except RefusedError as error:
        raise_if_moved(error)
        raise


def _delete(client: Client, path: str) -> None:
    try:
        client.write("DELETE", path, None, repeatable=True)
    except RefusedError as error:
        if error.status != 404:  # else it is gone already
            raise


def _path(issue: IssueReference) -> str:
    return f"/repos/{issue.repository}/issues/{issue.number}"
