"""Actions of the queue's forms: accept, correct, dismiss, one or many, and undo."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from distriage.base.references import IssueReference
from distriage_serving.queue.closing import carry_out, read_act, undo_last
from distriage_serving.queue.decisions import IssueDecision, Target, accepted, dismissed, labelled, read_choices
from distriage_serving.queue.duplicates import check_other
from distriage_serving.queue.history import NOBODY, decided_so_far, meanwhile, standing_of
from distriage_serving.queue.listing import issue_href, list_href, read_number
from distriage_serving.queue.login.sessions import Fields, read_form
from distriage_serving.queue.many.left import left_query
from distriage_serving.queue.many.picked import Picked, pick
from distriage_serving.queue.notices import NOTHING_UNDONE
from distriage_serving.queue.pages import PageRoute, StaleError, go_to
from distriage_serving.queue.visit import Visit
from distriage_serving.web.problem import ProblemError
from distriage_serving.web.threads import write

_ANEW: Final = "The issue was classified anew meanwhile."

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)


@router.post("/bulk")
async def act_on_many(request: Request) -> Response:
    """Decide on all issues that are selected, or act on them."""
    fields = await read_form(request)
    picked = await run_in_threadpool(_pick, request, fields)
    return await write(request, _act_on_many, request, fields, picked)


def _pick(request: Request, fields: Fields) -> Picked:
    visit = Visit(request, fields)
    picked = pick(visit, fields)
    check_other(request, fields, picked.issues)
    return picked


def _act_on_many(request: Request, fields: Fields, picked: Picked) -> Response:
    visit = Visit(request, fields)
    if "action" in fields:
        left = _decide_many(visit, fields, picked)
    else:
        left = carry_out(visit, read_act(visit, fields), picked.issues)
    rest = left_query(left, picked.count - len(picked.issues))
    query = visit.sent(fields).query
    if rest or picked.last is None:  # the top of the list reports the rest
        return go_to(list_href(query, rest))
    return go_to(list_href(query, {"at": picked.last}))


def _decide_many(visit: Visit, fields: Fields, picked: Picked) -> dict[IssueReference, str]:
    """Decide on each.

    Returns:
        As `carry_out`.
    """
    action = fields["action"][0]
    if action not in {"accept", "dismiss", "label"}:
        raise ProblemError(400, "bad-request", f"action: {action[:80]!r}; expected accept, dismiss or label")
    if action == "accept" and picked.is_whole:
        raise ProblemError(400, "bad-request", "accept: confirms only labels that you have seen; select their rows")
    axis, _, label = fields.get("label", [""])[0].partition(":")
    if action == "label" and (axis not in visit.taxonomy.axes or label not in visit.taxonomy.axes[axis].label_ids):
        raise ProblemError(400, "bad-request", f"label: {axis[:80]!r}; expected one of those that the page offers")
    reviews = visit.store.reviews_of([(issue.repository, issue.number) for issue in picked.issues])
    decisions = []
    left = dict.fromkeys(picked.issues, "meanwhile")
    for target, stored in picked.current:
        standing = standing_of(reviews.get((stored.repository, stored.number), ()))
        if action == "label":
            said = labelled(stored, visit.taxonomy, standing, axis, label)
        else:
            said = accepted(stored, visit.taxonomy, standing) if action == "accept" else dismissed(stored, standing)
        left[stored.reference] = "no-axis" if action == "label" else "unsure"
        if said:
            decisions.append(IssueDecision(stored, target.decided, said))
            del left[stored.reference]
    return left | {one.stored.reference: "meanwhile" for one in visit.decisions.decide(decisions)}


@router.post("/undo")
async def undo(request: Request) -> Response:
    """Undo the act or decision named by the page, or else the person's latest one."""
    return await write(request, _undo, request, await read_form(request))


def _undo(request: Request, fields: Fields) -> Response:
    visit = Visit(request, fields)
    query = visit.sent(fields).query
    at = _read_time(fields.get("at", [""])[0])
    acted = {(issue.repository, issue.number) for issue in undo_last(visit, at)}
    issues = acted or {(row.repository, row.number) for row in visit.decisions.undo(at)}
    if not issues:
        return go_to(list_href(query, NOTHING_UNDONE))
    first = min(issues)
    if len(issues) == 1 and "list" not in fields:
        return go_to(issue_href(*first, query))
    return go_to(list_href(query, {"at": str(IssueReference(*first))}))


@router.post("/{owner}/{name}/{number:issue}")
async def decide_one(request: Request, owner: str, name: str, number: int) -> Response:
    """Accept, correct or dismiss one issue, and go on to the next."""
    return await write(request, _decide_one, request, await read_form(request), f"{owner}/{name}", number)


def _decide_one(request: Request, fields: Fields, repository: str, number: int) -> Response:
    visit = Visit(request, fields)
    filters = visit.sent(fields)
    query = filters.query
    seen_id = read_number(fields.get("verdict", [""])[0])
    target = Target(repository, number, seen_id or 0, fields.get("decided", [NOBODY])[0])
    stored = visit.decisions.current(target)
    again = issue_href(repository, number, query)
    if stored is None:
        raise StaleError(_ANEW, again)
    action = fields.get("action", [""])[0]
    standing = standing_of(visit.store.reviews(issue=IssueReference(repository, number)))
    if action == "accept":
        choices = read_choices(fields, stored, visit.taxonomy, standing)
    elif action == "dismiss":
        choices = dismissed(stored, standing)
    else:
        raise ProblemError(400, "bad-request", f"action: {action[:80]!r}; expected accept or dismiss")
    if not choices:
        raise ProblemError(400, "bad-request", "every axis is left open; choose a label, or dismiss")
    issue, _ = visit.issue(repository, number)
    _, after = visit.store.neighbours(issue, visit.issue_filter(filters), filters.sort)
    if visit.decisions.decide([IssueDecision(stored, target.decided, choices)]):
        reviews = visit.store.reviews(issue=IssueReference(repository, number), undone=True)
        if decided_so_far(reviews) == target.decided:
            raise StaleError(_ANEW, again)
        seen_review = read_number(target.decided.partition(".")[0]) or 0
        raise StaleError(meanwhile(reviews, seen_review, visit.taxonomy, visit.session.who), again)
    return go_to(issue_href(*after, query)) if after else go_to(list_href(query))


def _read_time(text: str) -> float | None:
    """Time of the act to undo: another tab may have done something since."""
    try:
        return float(text) if text else None
    except ValueError:
        raise ProblemError(400, "bad-request", f"at: {text[:80]!r}; expected seconds since 1970") from None
