"""The nearest past issues of an issue: a part of its page that is loaded after it, and a page without scripts."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.past.index import Known, PastIndex
from distriage.reading.report import check_report
from distriage_serving.queue.listing import issue_href
from distriage_serving.queue.pages import PageRoute, show
from distriage_serving.queue.report.past import PastView, nearest
from distriage_serving.queue.visit import Visit
from distriage_serving.store import Issue

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)


@router.get("/{owner}/{name}/{number:issue}/past")
async def past(request: Request, owner: str, name: str, number: int) -> Response:
    """The past issues that are nearest."""
    visit, issue, index = await run_in_threadpool(_look_up, request, f"{owner}/{name}", number)
    known = await _known(visit, issue) if index is not None else None
    return await run_in_threadpool(_page, visit, request, issue, index, known)


def _look_up(request: Request, repository: str, number: int) -> tuple[Visit, Issue, PastIndex | None]:
    visit = Visit(request)
    issue, _ = visit.issue(repository, number)
    engine = visit.engine
    return visit, issue, engine.past.index(issue.repository, engine.bundle.manifest.name)


async def _known(visit: Visit, issue: Issue) -> Known | None:
    """What a look-up needs; None: there is nothing to read."""
    report = IssueReport(issue.title, issue.body, f"{issue.repository}#{issue.number}")
    try:
        check_report(report)
        return await visit.engine.known(report, issue.created_at)
    except InputError:
        return None


def _page(visit: Visit, request: Request, issue: Issue, index: PastIndex | None, known: Known | None) -> Response:
    filters, _ = visit.filters(QueryParams(request.url.query))
    found: list[PastView] = nearest(index, known) if index is not None and known is not None else []
    part = "hx-request" in request.headers
    return show(
        "past.html" if part else "past_page.html",
        visit.session,
        past=found,
        may_close=issue.state == "open",
        action=issue_href(issue.repository, issue.number),
        query=filters.query,
        reference=f"{issue.repository}#{issue.number}",
    )
