"""The form that puts a question to an issue's author."""

from __future__ import annotations

import logging
from typing import Final

from fastapi import APIRouter
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from distriage_serving.logs import log
from distriage_serving.queue.closing import write_back
from distriage_serving.queue.listing import issue_href, list_href
from distriage_serving.queue.login.sessions import Fields, read_form
from distriage_serving.queue.pages import PageRoute, go_to
from distriage_serving.queue.visit import Visit
from distriage_serving.store import ASK, Act
from distriage_serving.web.problem import ProblemError
from distriage_serving.web.threads import write

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)
MAX_CHARS: Final = 5000


@router.post("/{owner}/{name}/{number:issue}/ask")
async def ask(request: Request, owner: str, name: str, number: int) -> Response:
    """Put a question to the author, and go on to the next issue."""
    return await write(request, _ask, request, await read_form(request), f"{owner}/{name}", number)


def _ask(request: Request, fields: Fields, repository: str, number: int) -> Response:
    visit = Visit(request, fields)
    issue, _ = visit.issue(repository, number)
    filters, _ = visit.filters(QueryParams(fields.get("query", [""])[0][:2000]))
    text = fields.get("text", [""])[0].replace("\r\n", "\n").strip()
    if not 0 < len(text) <= MAX_CHARS:
        raise ProblemError(400, "bad-request", f"text: {len(text):,} characters; expected 1 to {MAX_CHARS:,}")
    now, who = visit.store.clock(), visit.session.who
    _, after = visit.store.neighbours(issue, filters.issue_filter(visit.seen, now), filters.sort)
    act = Act(repository=issue.repository, number=number, what=ASK, who=who, at=now, text=text)
    with visit.store.transaction():
        current = visit.store.get_issue(issue.repository, number, lock=True)
        if current is None or current.state != "open":
            raise ProblemError(409, "conflict", "the issue is not open on GitHub any more")
        if any(other.awaits_answer for other in visit.store.acts(act.reference)):
            raise ProblemError(409, "conflict", "the author was asked already and has not answered yet")
        if not write_back(visit.store, act):
            raise ProblemError(409, "conflict", "the App is not on this repository, so nobody could ask there")
        visit.store.add_act(act)
    log(logging.INFO, "acted", who=who, issue=str(act.reference), what=act.what)
    return go_to(issue_href(*after, filters.query)) if after else go_to(list_href(filters.query))
