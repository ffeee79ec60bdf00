"""Whether the issue in "Duplicate of" exists. Reads the store, and asks GitHub if the App may."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from distriage.base.errors import GitHubError, NotFoundError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.github.app_auth import A_PERSON_WAITS
from distriage_serving.queue.listing import read_number
from distriage_serving.queue.login.desk import desk
from distriage_serving.queue.login.sessions import Fields
from distriage_serving.queue.visit import Visit
from distriage_serving.web.problem import ProblemError, unavailable

RETRY_AFTER_S = 30


def read_other(fields: Fields) -> int:
    """The number in a form.

    Raises:
        ProblemError: not a number (400).
    """
    text = fields.get("of", [""])[0]
    other = read_number(text.strip())
    if other is None:
        raise ProblemError(
            400, "bad-request", f"Duplicate of {text[:80]!r}: expected the number of the other issue, such as 12"
        )
    return other


def check_other(request: Request, fields: Fields, issues: Sequence[IssueReference]) -> None:
    """Refuse a form that marks issues as duplicates of a missing one. It may wait for GitHub: call it in a thread that
    does not write.

    Raises:
        ProblemError: unknown issue, or issues of several repositories (400), or GitHub cannot say (503).
    """
    if fields.get("what", [""])[0] != "duplicate" or not issues:
        return
    visit = Visit(request, fields)
    other = read_other(fields)
    if len({issue.repository for issue in issues}) > 1:
        raise ProblemError(
            400, "bad-request", "duplicates: expected issues of one repository; choose it in the filters"
        )
    repository = issues[0].repository
    visit.issue(repository, issues[0].number)
    if issues == [IssueReference(repository, other)]:
        detail = "An issue cannot be its own duplicate; give the number of the other issue."
        raise ProblemError(400, "bad-request", detail)
    app = desk(request).app
    known = visit.store.get_repository(repository)
    if app is None or known is None or known.installation_id is None or not known.enabled:
        return  # nobody can ask; a failure to close is reported later
    stored = visit.store.get_issue(repository, other)
    if stored is not None and stored.state in {"open", "closed"}:
        return
    name = visit.spelled(repository, other)
    try:
        # A 404 here is about the App, not the issue.
        client = app.installation_client(known.installation_id, patience=A_PERSON_WAITS)
        if not _exists(client, IssueReference(repository, other)):
            detail = f"GitHub knows no issue {name}, so nothing was closed; look at the number"
            raise ProblemError(400, "bad-request", detail)
    except GitHubError as error:
        detail = f"nothing was closed: GitHub cannot say whether there is an issue {name}; {error}"
        raise unavailable("not-ready", detail, RETRY_AFTER_S) from None


def _exists(client: Client, issue: IssueReference) -> bool:
    try:
        client.json(issue.path)
    except NotFoundError:
        return False
    return True
