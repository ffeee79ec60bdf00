"""Acts on issues beside the verdict, on one or on many: close, mark as duplicate, snooze, assign, ask."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from distriage.base.references import IssueReference
from distriage_serving.logs import log
from distriage_serving.queue.decisions import UNDO_S, pieces, write_back
from distriage_serving.queue.duplicates import check_other, read_other
from distriage_serving.queue.issue_view import question_of
from distriage_serving.queue.listing import issue_href, list_href, moment
from distriage_serving.queue.login.sessions import ADMIN, Fields, read_form
from distriage_serving.queue.many.left import REASONS as REASONS_LEFT
from distriage_serving.queue.pages import PageRoute, go_to
from distriage_serving.queue.visit import Visit
from distriage_serving.store import ASK, ASSIGN, CLOSES, SNOOZE, Act, Job, Store, ask_job, close_job
from distriage_serving.web.problem import ProblemError
from distriage_serving.web.threads import write

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)
REASONS: Final[Mapping[str, str]] = {
    "duplicate": "as a duplicate",
    "completed": "as completed",
    "not_planned": "as not planned",
}
NAMES: Final[Mapping[str, str]] = {  # of an act that is undone
    "duplicate": "closing {these} as a duplicate of #{act.duplicate_of}",
    "completed": "closing {these} as completed",
    "not_planned": "closing {these} as not planned",
    SNOOZE: "snoozing {these}",
    ASSIGN: "assigning {these} to {act.assignee}",
    ASK: "asking the author of {these}",
}
_NO_APP: Final = "the App is not on the repository"
MAX_QUESTION_CHARS: Final = 5000
DAYS: Final[Mapping[str, str]] = {"1": "a day", "7": "a week", "30": "a month"}
_LOGIN: Final = re.compile(rf"@?((?:{ADMIN}[\w.-]{{1,60}})|[A-Za-z0-9][A-Za-z0-9-]{{0,38}})", re.ASCII)


@router.post("/{owner}/{name}/{number:issue}/act")
async def act_on(request: Request, owner: str, name: str, number: int) -> Response:
    """Act on one issue, and go on to the next."""
    fields, issue = await read_form(request), IssueReference(f"{owner}/{name}", number)
    await run_in_threadpool(check_other, request, fields, [issue])
    return await write(request, _act_on, request, fields, issue)


def _act_on(request: Request, fields: Fields, reference: IssueReference) -> Response:
    visit = Visit(request, fields)
    issue, _ = visit.issue(reference.repository, reference.number)
    filters = visit.sent(fields)
    _, after = visit.store.neighbours(issue, visit.issue_filter(filters), filters.sort)
    for why in carry_out(visit, read_act(visit, fields), [issue.reference]).values():
        raise ProblemError(409, "conflict", REASONS_LEFT[why])
    query = filters.query
    return go_to(issue_href(*after, query)) if after else go_to(list_href(query))


def read_act(visit: Visit, fields: Fields) -> dict[str, Any]:
    """The act that a form asks for: fields of `Act`.

    Raises:
        ProblemError: one that no form holds (400).
    """
    days = fields.get("days", [""])[0]
    what = fields.get("what", [SNOOZE if days else ""])[0]
    act: dict[str, Any] = {"what": what, "who": visit.session.who, "at": visit.store.clock()}
    if what == SNOOZE:
        if days not in DAYS:
            raise ProblemError(400, "bad-request", f"days: {days[:80]!r}; expected {', '.join(DAYS)}")
        act["until"] = act["at"] + int(days) * 86400
    elif what == ASSIGN:
        to = next((text.strip() for text in fields.get("to", ()) if text.strip()), "")
        match = _LOGIN.fullmatch(to or visit.session.who)
        if match is None:
            raise ProblemError(400, "bad-request", f"Assign to {to[:80]!r}: expected a login, such as octocat")
        act["assignee"] = match[1].lower()
    elif what == "duplicate":
        act["duplicate_of"] = read_other(fields)
    elif what == ASK:
        act["text"] = text = fields.get("text", [""])[0].replace("\r\n", "\n").strip()
        if "text" in fields and not 0 < len(text) <= MAX_QUESTION_CHARS:
            expected = f"expected 1 to {MAX_QUESTION_CHARS:,}"
            raise ProblemError(400, "bad-request", f"text: {len(text):,} characters; {expected}")
    elif what not in REASONS:
        raise ProblemError(400, "bad-request", f"what: {what[:80]!r}; expected {', '.join(NAMES)}")
    return act


def carry_out(visit: Visit, act: Mapping[str, Any], issues: Sequence[IssueReference]) -> dict[IssueReference, str]:
    """Do the same on each issue, all at one moment, so that one undo reverses it.

    Returns:
        Issues that were left as they were -> why, a key of `left.REASONS`.
    """
    left: dict[IssueReference, str] = {}
    in_order = sorted(issues, key=lambda issue: (issue.repository, issue.number))
    for piece in pieces(in_order):  # as `Decisions.decide`
        with visit.store.transaction():
            for issue in piece:
                this = Act(repository=issue.repository, number=issue.number, **act)
                if this.what == ASK:
                    this.text = this.text or question_of(visit.store.latest_verdict(this.repository, this.number))
                if (why := _hindrance(visit.store, this)) is not None:
                    left[issue] = why
                    continue
                if this.what == ASSIGN and (this.assignee or "").startswith(ADMIN):
                    this.refused = "only here: GitHub does not know this person"
                if this.is_pending and not _write_back(visit.store, this):
                    this.refused = f"only here: {_NO_APP}"
                visit.store.add_act(this)
        for issue in piece:
            if issue not in left:
                log(logging.INFO, "acted", who=act["who"], issue=str(issue), what=act["what"])
    return left


def _hindrance(store: Store, act: Act) -> str | None:
    """Why an act cannot be done, if so: a key of `left.REASONS`."""
    issue = store.get_issue(act.repository, act.number, lock=True)  # two people may close it at the same moment
    if issue is not None and act.what not in {ASK, *CLOSES}:
        return None
    if issue is None or issue.state != "open":
        return "gone" if issue is None else issue.state
    if act.duplicate_of == act.number:
        return "itself"
    if act.what == ASK and not act.text:
        return "complete"
    acts = store.acts(act.reference)
    if any(other.what in CLOSES and other.is_pending and other.undone_at is None for other in acts):
        return "closing"
    if act.what == ASK and any(other.awaits_answer for other in acts):
        return "asked"
    known = store.get_repository(act.repository)
    return None if known is not None and known.has_app else "no-app"


def undo_last(visit: Visit, at: float | None) -> list[IssueReference]:
    """Undo the acts of a time, or a person's newest ones if they are newer than the newest decision.

    A change already on GitHub stays there until GitHub has answered; see `became_of`.
    """
    acts = newest_acts(visit, at)
    for piece in pieces(acts):
        with visit.store.transaction():
            for act in piece:
                on_github = act.what in {ASK, *CLOSES} or (act.what == ASSIGN and act.refused is None)
                if visit.store.undo_act(act) and on_github and not _write_back(visit.store, act):
                    visit.store.refuse_acts(act.reference, _NO_APP, visit.store.clock())
        for act in piece:
            log(logging.INFO, "act_undone", who=visit.session.who, issue=str(act.reference), what=act.what)
    return [act.reference for act in acts]


def newest_acts(visit: Visit, at: float | None = None) -> list[Act]:
    """A person's newest acts that can be undone, unless a decision is newer; or the acts of a time."""
    acts = visit.store.last_acts(visit.session.who, visit.store.clock() - UNDO_S, visit.seen, at)
    decided = visit.decisions.last(at) if acts else []
    return [] if decided and decided[0].at > acts[0].at else acts


def describe(act: Act) -> str:
    """An act for people."""
    if act.what == SNOOZE:
        return "Snoozed" if act.until is None else f"Snoozed until {moment(act.until)}"
    if act.what == ASSIGN:
        return f"Assigned to {(act.assignee or '').removeprefix(ADMIN)}"
    if act.what == ASK:
        return "Asked the author" if act.carried_out else "Not asked" if act.refused is not None else "To be asked"
    of = f" of #{act.duplicate_of}" if act.duplicate_of is not None else ""
    closed = "Closed" if act.carried_out else "Not closed" if act.refused is not None else "To be closed"
    return f"{closed} {REASONS.get(act.what, act.what)}{of}"


def became_of(act: Act, job: Job | None) -> str:
    """The fate, for people, of an act that GitHub does not show or that was undone; otherwise empty.

    Args:
        job: See `job_of`.
    """
    if act.undone_at is None:
        return waits_for(job) if act.is_pending else act.refused or ""
    if act.carried_out:
        return f"undone here, but not on GitHub: {act.refused or waits_for(job)}"
    return "undone"


def job_of(act: Act, jobs: Mapping[tuple[str, int, str], Job]) -> Job | None:
    """The job that brings an act to GitHub, out of the store's jobs of people."""
    return jobs.get((act.repository, act.number, "ask" if act.what == ASK else "close"))


def waits_for(job: Job | None) -> str:
    """Why GitHub does not show yet what a person did."""
    if job is None or job.state != "waiting" or job.last_error is None or job.due_at is None:
        return "GitHub has not answered yet"
    if job.attempts == 0:  # put off, without a failure
        return f"waits for GitHub's rate limit until {moment(job.due_at)}"
    return f"GitHub did not answer; the next try is at {moment(job.due_at)}"


def _write_back(store: Store, act: Act) -> bool:
    return write_back(store, act.reference, ask_job if act.what == ASK else close_job)
