"""The nearest past issues of an issue: a part of its page that is loaded after it, and a page without scripts. And a
repository's clusters."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.past.answer import issue_to_join, named
from distriage.past.clusters import clusters
from distriage.past.index import PastIndex, PastQuery
from distriage.past.packed import unpack
from distriage.past.same import HOW_OFTEN
from distriage_serving.queue.listing import issue_href, moment
from distriage_serving.queue.pages import PageRoute, show, show_part
from distriage_serving.queue.visit import Visit
from distriage_serving.store import Issue, report_digest
from distriage_serving.web.problem import ProblemError

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)
NEAREST: Final = 5


@router.get("/{owner}/{name}/{number:issue}/past")
async def past(request: Request, owner: str, name: str, number: int) -> Response:
    """The past issues that are nearest."""
    visit, issue, index, query = await run_in_threadpool(_look_up, request, f"{owner}/{name}", number)
    if index is not None and query is None:  # not stored, or of an older text
        report = IssueReport(issue.title, issue.body, str(issue.reference))
        with suppress(InputError):  # there is nothing to read
            query = await visit.engine.past_query(report, issue.created_at)
    return await run_in_threadpool(_page, visit, request, issue, index, query)


@router.get("/{owner}/{name}/clusters")
def clusters_page(request: Request, owner: str, name: str) -> Response:
    """A repository's open issues of one cause."""
    visit, repository = Visit(request), f"{owner}/{name}"
    sees, model = visit.session.sees(repository.lower()), visit.engine.bundle.manifest.name
    if not sees or (index := visit.engine.past.index(repository, model)) is None:
        raise ProblemError(404, "not-found", f"no past issues of {repository}")
    found = clusters(index.issues, index.vectors)
    return show("clusters.html", visit.session, clusters=found, repository=repository, moment=moment)


def _look_up(request: Request, repository: str, number: int) -> tuple[Visit, Issue, PastIndex | None, PastQuery | None]:
    """With the query that the store holds, if it does."""
    visit = Visit(request)
    issue, _ = visit.issue(repository, number)
    engine, model = visit.engine, visit.engine.bundle.manifest.name
    kept = visit.store.past_fingerprint(issue.reference, report_digest(issue.title, issue.body), model)
    query = None if kept is None else PastQuery(*unpack(kept), str(issue.reference), issue.created_at, issue.title)
    index = engine.past.index(issue.repository, model)
    if index is not None and query is not None and (itself := index.known(query.id)) is not None:
        query = replace(query, version=itself.version)
    return visit, issue, index, query


def _page(visit: Visit, request: Request, issue: Issue, index: PastIndex | None, query: PastQuery | None) -> Response:
    filters, _ = visit.filters(QueryParams(request.url.query))
    found = index.find(query, NEAREST) if index is not None and query is not None else []
    same = named(index, query, found[0]) if index is not None and query is not None and found else None
    return show_part(
        "past.html",
        request,
        visit.session,
        reference=visit.spelled(issue.repository, issue.number),
        back=issue_href(issue.repository, issue.number, filters.query),
        past=[(match.issue, issue_to_join(index, match.issue)) for match in found] if index is not None else [],
        same=same,
        how_often=HOW_OFTEN,
        may_close=issue.state == "open" and visit.reaches(issue.repository),
        action=issue_href(issue.repository, issue.number),
        number=issue.number,
        query=filters.query,
    )
