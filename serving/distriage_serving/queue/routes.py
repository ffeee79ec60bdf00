"""The queue's pages: the list, one issue, and the part of its page that takes the model a moment."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from fastapi import APIRouter
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from distriage.classifier import check_report
from distriage.errors import InputError
from distriage.policy import Mode
from distriage.similar import Similar
from distriage.types import IssueReport
from distriage.verdict import Verdict
from distriage_serving.problem import ProblemError
from distriage_serving.queue.evidence import mark, strongest
from distriage_serving.queue.issue_view import OTHER, view_axes, view_history, view_similar
from distriage_serving.queue.listing import age, issue_href, list_href, make_row, moment, read_filters
from distriage_serving.queue.pages import STATIC, PageRoute, show
from distriage_serving.queue.visit import Visit
from distriage_serving.store import Issue, Prediction

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)
PAGE_ISSUES: Final = 50


@router.get("")
async def queue(request: Request) -> Response:
    """The list."""
    return await asyncio.to_thread(_list_page, Visit(request), request.query_params)


def _list_page(visit: Visit, query: QueryParams) -> Response:
    repositories = visit.repositories()
    filters, fields = read_filters(query, visit.taxonomy, repositories)
    chosen = filters.issue_filter(visit.seen)
    try:
        page = visit.store.list_issues(chosen, after=query.get("after"), limit=PAGE_ISSUES)
    except InputError as error:
        raise ProblemError(400, "bad-request", str(error)) from None
    now = visit.store.clock()
    return show(
        "list.html",
        visit.session,
        page="list",
        notice=visit.notice(),
        query=filters.query,
        heading={"open": "What needs a person"}.get(filters.chosen.get("status", "open"), "Issues"),
        filters=fields,
        filtered=bool(filters.chosen),
        count=visit.store.count_issues(chosen),
        rows=[
            make_row(issue, prediction, visit.taxonomy, repositories.get(issue.repository, issue.repository), filters.query, now)
            for issue, prediction in page.items
        ],
        more=list_href(filters.query, {"after": page.next}) if page.next else None,
        left=int(left) if (left := query.get("left", "")).isascii() and left.isdigit() and len(left) < 5 else 0,
    )


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Style, scripts, icon."""
    file = STATIC.get(name)
    if file is None:
        raise ProblemError(404, "not-found", "no such file")
    return Response(file.content, media_type=file.media_type, headers={"Cache-Control": "public, max-age=31536000, immutable"})


@router.get("/{owner}/{name}/{number:int}")
async def issue_page(request: Request, owner: str, name: str, number: int) -> Response:
    """One issue. With `evidence` the lines that carried the verdict are marked at once, which takes a moment."""
    visit = Visit(request)
    issue, prediction = await asyncio.to_thread(visit.issue, f"{owner}/{name}", number)
    explained = await _explain(visit, issue, prediction) if "evidence" in request.query_params else None
    return await asyncio.to_thread(_issue_page, visit, request.query_params, issue, prediction, explained)


@router.get("/{owner}/{name}/{number:int}/evidence")
async def evidence(request: Request, owner: str, name: str, number: int) -> Response:
    """The report with its evidence marked, and similar issues: a part of the page, loaded after it."""
    visit = Visit(request)
    issue, prediction = await asyncio.to_thread(visit.issue, f"{owner}/{name}", number)
    explained = await _explain(visit, issue, prediction)
    return show("evidence.html", visit.session, swap=True, **_report(visit, issue, prediction, explained, ""))


async def _explain(visit: Visit, issue: Issue, prediction: Prediction | None) -> Verdict | None:
    """The verdict with evidence and similar issues; None: there is nothing to read."""
    report = IssueReport(title=issue.title, body=issue.body, id=f"{issue.repository}#{issue.number}")
    try:
        check_report(report)
    except InputError:
        return None
    mode = Mode(prediction.verdict.mode) if prediction is not None else Mode.BALANCED
    (verdict,) = await visit.engine.classify([report], mode, explain=True, similar=_similar_possible(visit))
    return verdict


def _similar_possible(visit: Visit) -> bool:
    return Similar.available(visit.engine.classifier.bundle)


def _issue_page(visit: Visit, query: QueryParams, issue: Issue, prediction: Prediction | None, explained: Verdict | None) -> Response:
    repositories = visit.repositories()
    filters, _ = read_filters(query, visit.taxonomy, repositories)
    now = visit.store.clock()
    place = (issue.repository, issue.number)
    verdicts = visit.store.verdicts(issue=place, undone=True)
    standing = {item.axis: item for item in verdicts if item.undone_at is None}
    before, after = visit.store.neighbours(issue, filters.issue_filter(visit.seen))
    verdict = prediction.verdict if prediction is not None else None
    return show(
        "issue.html",
        visit.session,
        page="issue",
        notice=visit.notice(),
        query=filters.query,
        list_href=list_href(filters.query),
        previous=issue_href(*before, filters.query) if before else None,
        next=issue_href(*after, filters.query) if after else None,
        action=issue_href(*place),
        reference=f"{repositories.get(issue.repository, issue.repository)}#{issue.number}",
        issue_url=issue.url if issue.url.startswith(("https://", "http://")) else issue_href(*place),
        author=issue.author,
        labels=issue.labels,
        status=issue.status,
        state=issue.state,
        age=age(now - issue.created_at),
        filed=moment(issue.created_at),
        prediction_id=prediction.id if prediction is not None else 0,
        axes=view_axes(verdict, visit.taxonomy, standing) if verdict is not None else [],
        other=OTHER,
        facts=[(name.replace("_", " "), str(value)) for name, value in verdict.environment.items()] if verdict is not None else [],
        missing=[item.question for item in verdict.missing] if verdict is not None else [],
        history=view_history(verdicts, visit.taxonomy, now),
        model=verdict.model if verdict is not None else "",
        taxonomy_version=verdict.taxonomy_version if verdict is not None else "",
        mode=verdict.mode if verdict is not None else "",
        **_report(visit, issue, prediction, explained, filters.query),
    )


def _report(visit: Visit, issue: Issue, prediction: Prediction | None, explained: Verdict | None, query: str) -> dict[str, Any]:
    """What the parts of a page that need the model show."""
    carried = (
        {axis: strongest(said.evidence or []) for axis, said in explained.axes.items() if said.outcome in {"apply", "suggest"}} if explained is not None else {}
    )
    report = mark(issue.title, issue.body, carried)
    href = issue_href(issue.repository, issue.number)
    return {
        "report": report,
        "explained": explained is not None,
        "axis_names": {axis: known.name for axis, known in visit.taxonomy.axes.items()},
        "any_marked": any(line.axes for line in [report.title, *(line for block in report.blocks for line in block.lines)]),
        "evidence_href": f"{href}/evidence" if explained is None and prediction is not None else None,
        "evidence_page": f"{href}?{query}{'&' if query else ''}evidence=1",
        "similar_possible": _similar_possible(visit),
        "similar": view_similar(explained.similar, visit.taxonomy) if explained is not None and explained.similar is not None else None,
    }
