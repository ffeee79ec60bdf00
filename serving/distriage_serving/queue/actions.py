"""What the forms of the queue do: accept, correct, dismiss, one or many, and undo."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from distriage_serving.problem import ProblemError
from distriage_serving.queue.decisions import MAX_BULK, Target, accepted, dismissed, read_choices, read_target
from distriage_serving.queue.listing import issue_href, list_href
from distriage_serving.queue.pages import PageRoute, go_to
from distriage_serving.queue.sessions import read_form
from distriage_serving.queue.visit import Visit

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)


@router.post("/bulk")
async def decide_many(request: Request) -> Response:
    """Accept or dismiss all issues that are selected."""
    visit = Visit(request)
    fields = await read_form(request, visit.session)
    return await asyncio.to_thread(_decide_many, visit, fields)


def _decide_many(visit: Visit, fields: dict[str, list[str]]) -> Response:
    make = {"accept": accepted, "dismiss": dismissed}.get(fields.get("action", [""])[0])
    keys = fields.get("issue", [])
    if make is None or len(keys) > MAX_BULK:
        raise ProblemError(400, "bad-request", f"expected action=accept or action=dismiss and at most {MAX_BULK:,} issues")
    predictions = [visit.decisions.current(read_target(key)) for key in dict.fromkeys(keys)]
    decided = [(prediction, choices) for prediction in predictions if prediction is not None and (choices := make(prediction))]
    visit.decisions.decide(decided)
    left = len(predictions) - len(decided)
    return go_to(list_href(_query(visit, fields), {"left": left} if left else {}))


@router.post("/undo")
async def undo(request: Request) -> Response:
    """Take the person's last decision back."""
    visit = Visit(request)
    fields = await read_form(request, visit.session)
    return await asyncio.to_thread(_undo, visit, fields)


def _undo(visit: Visit, fields: dict[str, list[str]]) -> Response:
    issues = {(row.repository, row.number) for row in visit.decisions.undo()}
    query = _query(visit, fields)
    return go_to(issue_href(*issues.pop(), query)) if len(issues) == 1 else go_to(list_href(query))


@router.post("/{owner}/{name}/{number:int}")
async def decide_one(request: Request, owner: str, name: str, number: int) -> Response:
    """Accept, correct or dismiss one issue, and go on to the next."""
    visit = Visit(request)
    fields = await read_form(request, visit.session)
    return await asyncio.to_thread(_decide_one, visit, f"{owner}/{name}", number, fields)


def _decide_one(visit: Visit, repository: str, number: int, fields: dict[str, list[str]]) -> Response:
    query = _query(visit, fields)
    seen_id = fields.get("prediction", [""])[0]
    prediction = visit.decisions.current(Target(repository, number, int(seen_id) if seen_id.isascii() and seen_id.isdigit() else 0))
    if prediction is None:
        raise ProblemError(409, "conflict", "the issue was classified anew meanwhile; look at it again")
    action = fields.get("action", [""])[0]
    if action == "accept":
        choices = read_choices(fields, prediction, visit.taxonomy)
    elif action == "dismiss":
        choices = dismissed(prediction)
    else:
        raise ProblemError(400, "bad-request", f"action: {action[:80]!r}; expected accept or dismiss")
    if not choices:
        raise ProblemError(400, "bad-request", "every axis is left open; choose a label, or dismiss")
    issue, _ = visit.issue(repository, number)
    filters, _ = visit.filters(QueryParams(query))
    _, after = visit.store.neighbours(issue, filters.issue_filter(visit.seen))
    visit.decisions.decide([(prediction, choices)])
    return go_to(issue_href(*after, query)) if after else go_to(list_href(query))


def _query(visit: Visit, fields: dict[str, list[str]]) -> str:
    """The filters that a form was sent with."""
    filters, _ = visit.filters(QueryParams(fields.get("query", [""])[0][:2000]))
    return filters.query
