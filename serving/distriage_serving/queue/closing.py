"""Actions of the forms beside the verdict: close an issue, mark it as a duplicate, snooze it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from distriage.base.references import IssueReference
from distriage_serving.logs import log
from distriage_serving.queue.decisions import UNDO_S, WRITE_BACK_AFTER_S
from distriage_serving.queue.duplicates import check_other, read_other
from distriage_serving.queue.listing import issue_href, list_href, moment
from distriage_serving.queue.login.sessions import Fields, read_form
from distriage_serving.queue.pages import PageRoute, go_to
from distriage_serving.queue.visit import Visit
from distriage_serving.store import ASK, SNOOZE, Act, Store, ask_job, close_job
from distriage_serving.web.problem import ProblemError
from distriage_serving.web.threads import write

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)
CLOSES: Final[Mapping[str, str]] = {
    "duplicate": "as a duplicate",
    "completed": "as completed",
    "not_planned": "as not planned",
}
_NO_APP: Final = "the App is not on the repository"
DAYS: Final[Mapping[str, str]] = {"1": "a day", "7": "a week", "30": "a month"}


@router.post("/{owner}/{name}/{number:issue}/act")
async def act_on(request: Request, owner: str, name: str, number: int) -> Response:
    """Close one issue, mark it as a duplicate or snooze it, and go on to the next."""
    fields, repository = await read_form(request), f"{owner}/{name}"
    await run_in_threadpool(check_other, request, fields, repository, number)
    return await write(request, _act_on, request, fields, repository, number)


def _act_on(request: Request, fields: Fields, repository: str, number: int) -> Response:
    visit = Visit(request, fields)
    issue, _ = visit.issue(repository, number)
    filters, _ = visit.filters(QueryParams(fields.get("query", [""])[0][:2000]))
    _, after = visit.store.neighbours(issue, filters.issue_filter(visit.seen, visit.store.clock()), filters.sort)
    now = visit.store.clock()
    act = Act(
        repository=issue.repository, number=number, what=fields.get("what", [""])[0], who=visit.session.who, at=now
    )
    if act.what == SNOOZE:
        days = fields.get("days", [""])[0]
        if days not in DAYS:
            raise ProblemError(400, "bad-request", f"days: {days[:80]!r}; expected {', '.join(DAYS)}")
        act.until = now + int(days) * 86400
    elif act.what not in CLOSES:
        raise ProblemError(400, "bad-request", f"what: {act.what[:80]!r}; expected {', '.join([*CLOSES, SNOOZE])}")
    if act.what == "duplicate":
        act.duplicate_of = read_other(fields, number)
    with visit.store.transaction():
        if act.what in CLOSES:
            _close(visit.store, act)
        visit.store.add_act(act)
    log(logging.INFO, "acted", who=visit.session.who, issue=str(act.reference), what=act.what)
    query = filters.query
    return go_to(issue_href(*after, query)) if after else go_to(list_href(query))


def _close(store: Store, act: Act) -> None:
    issue = store.get_issue(act.repository, act.number, lock=True)  # two people may close it at the same moment
    if issue is None or issue.state != "open":
        state = "gone" if issue is None else issue.state
        raise ProblemError(409, "conflict", f"the issue is {state} on GitHub already")
    others = [other for other in store.acts(act.reference) if other.what in CLOSES]
    if any(other.is_pending and other.undone_at is None for other in others):
        raise ProblemError(409, "conflict", "somebody has closed the issue here already; GitHub has not answered yet")
    if not write_back(store, act):
        raise ProblemError(409, "conflict", "the App is not on this repository, so nobody could close the issue there")


def undo_last(visit: Visit, at: float | None) -> IssueReference | None:
    """Undo the act of a time, or a person's newest act if it is newer than the newest decision; else None.

    A change already on GitHub stays there until GitHub has answered; see `became_of`.
    """
    act = newest_act(visit, at)
    if act is None:
        return None
    with visit.store.transaction():
        if visit.store.undo_act(act) and act.what != SNOOZE and not write_back(visit.store, act):
            visit.store.refuse_acts(act.reference, _NO_APP, visit.store.clock())
    log(logging.INFO, "act_undone", who=visit.session.who, issue=str(act.reference), what=act.what)
    return act.reference


def newest_act(visit: Visit, at: float | None = None) -> Act | None:
    """A person's newest act that can be undone, unless a decision is newer; or the act of a time."""
    act = visit.store.last_act(visit.session.who, visit.store.clock() - UNDO_S, visit.seen, at)
    if act is None:
        return None
    decided = visit.decisions.last(at)
    return None if decided and decided[0].at > act.at else act


def describe(act: Act) -> str:
    """An act for people."""
    if act.what == SNOOZE:
        return "Snoozed" if act.until is None else f"Snoozed until {moment(act.until)}"
    if act.what == ASK:
        return "Asked the author" if act.carried_out else "Not asked" if act.refused is not None else "To be asked"
    of = f" of #{act.duplicate_of}" if act.duplicate_of is not None else ""
    closed = "Closed" if act.carried_out else "Not closed" if act.refused is not None else "To be closed"
    return f"{closed} {CLOSES.get(act.what, act.what)}{of}"


def became_of(act: Act) -> str:
    """The fate, for people, of an act that GitHub does not show or that was undone; otherwise empty."""
    if act.undone_at is None:
        return "GitHub has not answered yet" if act.is_pending else act.refused or ""
    if act.carried_out:
        return f"undone here, but not on GitHub: {act.refused or 'it has not answered yet'}"
    return "undone"


def write_back(store: Store, act: Act) -> bool:
    """Have GitHub brought in step; False if the App is not on the repository."""
    known = store.get_repository(act.repository)
    if known is None or not known.has_app:
        return False
    job = (ask_job if act.what == ASK else close_job)(act.reference, known.installation_id)
    store.put_job(job, store.clock() + WRITE_BACK_AFTER_S)
    return True
