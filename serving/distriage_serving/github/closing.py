"""Closes, reopens and assigns issues as asked in the queue; twice is the same as once. Network I/O; writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from distriage.base.errors import RefusedError
from distriage.base.references import IssueReference
from distriage.base.times import epoch_s
from distriage.github.client import Client
from distriage_serving.github.executor import raise_if_moved, write_comment
from distriage_serving.github.issue import read_stage
from distriage_serving.github.timeline import find_own_comment, read_timeline, set_by_us
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.types import PlannedComment

DUPLICATE: Final = "duplicate"  # the label, one of those that GitHub gives each new repository


def close(client: Client, issue: IssueReference, reason: str, duplicate_of: int | None) -> tuple[float, list[str]]:
    """Close an issue; mark a duplicate with its original and a label.

    Args:
        reason: GitHub's: `completed`, `not_planned` or `duplicate`; sent as `not_planned` to a server that does not
            know `duplicate`.

    Returns:
        The issue's `updated_at`, Unix time in seconds, and everything else that GitHub refused.

    Raises:
        TransferredError: the issue or its repository has moved.
        RefusedError: GitHub does not close it, and nothing is written.
        GitHubError: GitHub is out of reach.
    """
    body = {"state": "closed", "state_reason": reason}
    try:
        try:
            closed = client.write("PATCH", issue.path, body, repeatable=True)
        except RefusedError as error:
            if error.status != 422 or reason != DUPLICATE:
                raise
            closed = client.write("PATCH", issue.path, body | {"state_reason": "not_planned"}, repeatable=True)
        refused = list(_mark_duplicate(client, issue, duplicate_of)) if duplicate_of is not None else []
    except RefusedError as error:
        raise_if_moved(error)
        raise
    return epoch_s(closed.get("updated_at") if isinstance(closed, dict) else None), refused


def closed_by_others(client: Client, issue: IssueReference) -> float | None:
    """The `updated_at` of an issue that somebody else has closed, Unix time in seconds; None of any other.

    Raises:
        TransferredError: the issue or its repository has moved.
        GitHubError: GitHub is out of reach or refuses.
    """
    is_open, updated_at = read_stage(client, issue)
    return None if is_open or read_timeline(client, issue, DUPLICATE).closed_by_us else updated_at


def _mark_duplicate(client: Client, issue: IssueReference, original: int) -> Iterator[str]:
    """Write the comment and set the label; once the issue is closed, a refusal of either is only reported."""
    text = f"Duplicate of #{original}"
    marker = Marker.of(text, DUPLICATE)
    own = find_own_comment(client, issue, DUPLICATE)
    if own is None or own.digest != marker.digest:
        replaces = own.id if own is not None else None
        try:
            write_comment(client, issue, PlannedComment(marker.write(text), marker.digest, replaces, DUPLICATE))
        except RefusedError as error:
            raise_if_moved(error)
            yield str(error)
    try:
        client.write("POST", f"{issue.path}/labels", {"labels": [DUPLICATE]}, repeatable=True)
    except RefusedError as error:
        raise_if_moved(error)
        yield str(error)


def reopen(client: Client, issue: IssueReference, *, was_duplicate: bool) -> None:
    """Reopen an issue, and remove the traces of `close`; other people's changes stay.

    Raises:
        TransferredError: the issue or its repository has moved.
        RefusedError: GitHub refuses.
        GitHubError: GitHub is out of reach.
    """
    timeline = read_timeline(client, issue, DUPLICATE)
    try:
        if timeline.closed_by_us:
            client.write("PATCH", issue.path, {"state": "open"}, repeatable=True)
        if was_duplicate and DUPLICATE in set_by_us(timeline.label_events):
            _delete(client, f"{issue.path}/labels/{quote(DUPLICATE)}")
        if was_duplicate and timeline.comment is not None:
            _delete(client, f"/repos/{issue.repository}/issues/comments/{timeline.comment.id}")
    except RefusedError as error:
        raise_if_moved(error)
        raise


def assign(client: Client, issue: IssueReference, login: str, *, off: bool) -> bool:
    """Assign a person to an issue, or take the person off.

    Returns:
        Whether the person is assigned now: GitHub ignores those who may not be.

    Raises:
        TransferredError: the issue or its repository has moved.
        RefusedError: GitHub refuses.
        GitHubError: GitHub is out of reach.
    """
    method = "DELETE" if off else "POST"
    try:
        answer = client.write(method, f"{issue.path}/assignees", {"assignees": [login]}, repeatable=True)
    except RefusedError as error:
        raise_if_moved(error)
        raise
    found = answer.get("assignees") if isinstance(answer, dict) else ()
    logins = (person.get("login") for person in found or () if isinstance(person, dict))
    return any(str(name).casefold() == login.casefold() for name in logins)


def _delete(client: Client, path: str) -> None:
    try:
        client.write("DELETE", path, None, repeatable=True)
    except RefusedError as error:
        if error.status != 404:  # else it is gone already
            raise
