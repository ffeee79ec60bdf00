"""Whether the issue in "Duplicate of" exists. Reads the store, and asks GitHub if the App may."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from distriage.base.errors import GitHubError, NotFoundError
from distriage.base.references import IssueReference
from distriage.github.client import Client
from distriage_serving.github.app_auth import A_PERSON_WAITS
from distriage_serving.queue.listing import read_search
from distriage_serving.queue.login.desk import desk
from distriage_serving.queue.login.sessions import Fields
from distriage_serving.queue.visit import Visit
from distriage_serving.web.problem import ProblemError, unavailable

RETRY_AFTER_S = 30


def read_other(fields: Fields, repository: str | None = None) -> int:
    """The number in a form: `12`, `#12`, `owner/repo#12` or an issue's address.

    Args:
        repository: Where the other issue has to be, unless that is known.

    Raises:
        ProblemError: none, or an issue of another repository (400).
    """
    text = fields.get("of", [""])[0]
    found = read_search(text)
    if found.number is None:
        detail = f"Duplicate of {text[:80]!r}: expected the number or the address of the other issue, such as 12"
        raise ProblemError(400, "bad-request", detail)
    if repository is not None and found.repository not in {None, repository.lower()}:
        detail = f"Duplicate of {text[:80]!r}: expected an issue of {repository}, since GitHub links no other"
        raise ProblemError(400, "bad-request", detail)
    return found.number


def check_other(request: Request, fields: Fields, issues: Sequence[IssueReference]) -> None:
    """Refuse a form that marks issues as duplicates of a missing one. It may wait for GitHub: call it in a thread that
    does not write.

    Raises:
        ProblemError: unknown issue, or issues of several repositories (400), or GitHub cannot say (503).
    """
    if fields.get("what", [""])[0] != "duplicate" or not issues:
        return
    visit = Visit(request, fields)
    if len({issue.repository for issue in issues}) > 1:
        raise ProblemError(
            400, "bad-request", "duplicates: expected issues of one repository; choose it in the filters"
        )
    repository = issues[0].repository
    other = read_other(fields, repository)
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
