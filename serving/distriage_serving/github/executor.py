"""Carries out a Plan over GitHub's REST API; doing it twice is the same as once. Network I/O; writes.

The order: create missing labels, add labels and take others off, set the issue type, write the comment, which reports
only work done. A final refusal by GitHub (the issue is gone or locked, the token may not write) becomes a warning; the
rest goes on, but a label whose successor was refused stays.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from distriage.base.errors import LostAnswerError, RefusedError, TransferredError
from distriage.base.references import IssueReference
from distriage.github.client import MAX_ATTEMPTS, Client
from distriage_serving.github import intents
from distriage_serving.github.execution import Execution
from distriage_serving.github.timeline import find_own_comment
from distriage_serving.planning.types import (
    LabelDefinition,
    Plan,
    PlannedComment,
)


def execute(plan: Plan, client: Client, done: Execution | None = None) -> Execution:
    """Carry out a plan; a dry run sends nothing.

    Args:
        done: Where to note the work, for a caller that needs it after an error too.

    Raises:
        TransferredError: the issue or its repository has moved.
        RateLimitError: GitHub's limit ends later than the client may wait. A second run does the rest.
        GitHubError: GitHub is out of reach.
    """
    done = done if done is not None else Execution()
    if not plan.writes:
        return done
    base, issue = f"/repos/{plan.issue.repository}", plan.issue.path
    failed = {definition.name for definition in plan.create if not _create_label(client, base, definition, done)}
    intents.decide_suggestions(client, plan, done, _explain)
    intents.add_labels(client, plan, failed, done, _explain)
    for name in plan.take_off:
        if plan.instead.get(name, "") in {*plan.labels} - {*done.labels_added}:
            continue
        if name in {".", ".."}:  # in an address they are not names, and without a name all labels are taken off
            done.warnings.append(f"the label {name!r} could not be taken off: no address can name it")
            continue
        try:
            client.write("DELETE", f"{issue}/labels/{quote(name, safe='')}", None, repeatable=True)
        except RefusedError as error:
            if error.status != 404:  # else it is off already
                done.warnings.append(_explain(error, f"the label {name!r} could not be taken off"))
                continue
        done.labels_taken_off.append(name)
    intents.edit_issue(client, plan, done, _explain)
    comment = plan.comment
    done_so_far = tuple(done.labels_added), tuple(done.labels_taken_off)
    if plan.comment_after is not None and done_so_far != (plan.labels, plan.take_off):
        after = plan.comment_after(replace(plan, labels=done_so_far[0], take_off=done_so_far[1]))
        comment = after if isinstance(after, PlannedComment) else None
    if comment is not None:
        try:
            done.comment = write_comment(client, plan.issue, comment)
        except RefusedError as error:
            done.warnings.append(_explain(error, "the comment could not be written"))
    return done


def _create_label(client: Client, base: str, definition: LabelDefinition, done: Execution) -> bool:
    body = {"name": definition.name, "color": definition.color, "description": definition.description}
    try:
        created = client.write("POST", f"{base}/labels", body, repeatable=True)
    except RefusedError as error:
        if not error.already_exists:  # else somebody was faster, or an earlier attempt of ours lost its answer
            what = f"the label {definition.name!r} could not be created"
            may_not = "the token lacks the permission `issues: write`, or has only the role triage"
            done.warnings.append(_explain(error, what, may_not))
        return error.already_exists
    done.labels_created.append(definition.name)
    if isinstance(created, dict) and isinstance(created.get("id"), int):
        done.label_ids[definition.name] = created["id"]
    return True


def write_comment(client: Client, issue: IssueReference, comment: PlannedComment) -> str:
    """Write a comment of ours, or edit it.

    A POST may have succeeded although its answer was lost, so we look for our comment before we send another.

    Returns:
        `written` or `edited`.

    Raises:
        RefusedError: GitHub refuses it.
        GitHubError: GitHub cannot be reached.
    """
    base = f"/repos/{issue.repository}/issues"
    replaces = comment.replaces
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            if replaces is not None:
                client.write("PATCH", f"{base}/comments/{replaces}", {"body": comment.body}, repeatable=True)
                return "edited"
            client.write("POST", f"{base}/{issue.number}/comments", {"body": comment.body}, repeatable=False)
        except LostAnswerError:
            if attempt == MAX_ATTEMPTS or not client.pause(attempt):
                raise
            found = find_own_comment(client, issue, comment.kind)
            if found is not None and found.digest == comment.digest:
                return "written"
            replaces = found.id if found is not None else None
        else:
            return "written"
    raise AssertionError  # unreachable: the last attempt returns or raises


def raise_if_moved(error: RefusedError) -> None:
    """Tell a redirect of a write from a refusal: no more can be written at this place.

    Raises:
        TransferredError: the issue or its repository has moved.
    """
    if 300 <= error.status < 400:
        raise TransferredError(f"it moved to another place: {error}") from None


def _explain(error: RefusedError, what: str, may_not: str | None = None) -> str:
    """A warning.

    Args:
        may_not: The meaning of 403 and 404 here; as of an issue if None.
    """
    raise_if_moved(error)
    return f"{what}: {why_refused(error, may_not)}"


def why_refused(error: RefusedError, may_not: str | None = None) -> str:
    """What a refusal means, for a person who can mend it; then GitHub's own words.

    Args:
        may_not: The meaning of 403 and 404 here; as of an issue if None.
    """
    if isinstance(error, TransferredError):
        return f"the issue is in another repository now ({error})"
    if error.status == 403 and "archived" in str(error):
        return f"the repository is archived ({error})"
    if error.status == 403 and "suspended" in str(error):
        return f"the App is suspended there ({error})"
    if error.status == 404 and "/app/installations/" in str(error):
        return f"the App is no longer installed there ({error})"
    reasons = {
        401: "the token is not valid",
        403: may_not or "the issue is locked, or the token lacks the permission `issues: write`",
        404: may_not or "the issue was deleted or transferred, or the token may not see it",
        410: "the issue was deleted, or issues are switched off",
    }
    return f"{reasons.get(error.status, 'GitHub found it not valid')} ({error})"
