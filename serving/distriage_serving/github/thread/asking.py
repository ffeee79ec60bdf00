"""Puts a question to an issue's author as a comment, or takes it back; doing it twice is the same as once. Network I/O;
writes.
"""

from __future__ import annotations

from distriage.base.errors import LostAnswerError, RefusedError
from distriage.base.references import IssueReference
from distriage.github.client import MAX_ATTEMPTS, Client
from distriage_serving.github.executor import raise_if_moved
from distriage_serving.github.timeline import is_ours, own_login
from distriage_serving.planning.marker import Marker


def marker_of(number: int, text: str) -> Marker:
    """The marker of a question; the same question asked again has another.

    Args:
        number: Tells questions of one text apart.
    """
    return Marker("ask", Marker.of(f"{number}\n{text}").digest)


def post(client: Client, issue: IssueReference, text: str, marker: Marker) -> None:
    """Write a question, unless it is there.

    Raises:
        TransferredError: the issue or its repository has moved.
        RefusedError: GitHub refuses.
        GitHubError: GitHub is out of reach.
    """
    for attempt in range(1, MAX_ATTEMPTS + 1):
        if _find(client, issue, marker) is not None:  # a worker that died, or whose answer was lost, wrote it
            return
        try:
            body = {"body": marker.write(text)}
            client.write("POST", f"{issue.path}/comments", body, repeatable=False)
            return
        except RefusedError as error:
            raise_if_moved(error)
            raise
        except LostAnswerError:
            if attempt == MAX_ATTEMPTS or not client.pause(attempt):
                raise


def take_back(client: Client, issue: IssueReference, marker: Marker) -> None:
    """Delete a question, if it is there.

    Raises:
        As `post`.
    """
    number = _find(client, issue, marker)
    if number is None:
        return
    try:
        client.write("DELETE", f"/repos/{issue.repository}/issues/comments/{number}", None, repeatable=True)
    except RefusedError as error:
        raise_if_moved(error)
        if error.status != 404:  # else it is gone already
            raise


def _find(client: Client, issue: IssueReference, marker: Marker) -> int | None:
    """Id of the comment with a marker of ours."""
    login = own_login(client)
    for comment in client.items(f"{issue.path}/comments"):
        if not is_ours(login, comment.get("user")):
            continue
        if Marker.read(str(comment.get("body") or "")) == marker and isinstance(comment.get("id"), int):
            return int(comment["id"])
    return None
