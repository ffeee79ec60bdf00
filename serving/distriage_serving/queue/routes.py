"""The queue's pages: the list, one issue, and the part of its page that takes the model a moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from distriage.answer.verdict import Verdict
from distriage.base.references import IssueReference
from distriage_serving.github.app_auth import open_app
from distriage_serving.queue import actions, closing, notices
from distriage_serving.queue.charts import routes as chart_routes
from distriage_serving.queue.history import decided_so_far, standing_of, view_history, view_suggestions
from distriage_serving.queue.issue_view import OTHER, question_of, view_axes, view_own, view_plan
from distriage_serving.queue.listing import ANY, ORDERS, age, filter_axes, issue_href, label_groups, list_href, moment
from distriage_serving.queue.login import routes as login
from distriage_serving.queue.login.attempts import Attempts
from distriage_serving.queue.login.desk import Desk
from distriage_serving.queue.login.sessions import ADMIN, Sessions
from distriage_serving.queue.many.left import read_left
from distriage_serving.queue.many.picked import MAX_BULK
from distriage_serving.queue.many.views import part_of_list, tabs
from distriage_serving.queue.pages import STATIC, WITH_PICTURES, PageRoute, go_to, lead, show
from distriage_serving.queue.past import routes as past_routes
from distriage_serving.queue.report.looked import Looked, look_up
from distriage_serving.queue.rows import edited_since, make_row, why_here
from distriage_serving.queue.thread import routes as threads
from distriage_serving.queue.visit import Visit
from distriage_serving.settings import Settings
from distriage_serving.store import ASK, CLOSES, IssueFilter, Store
from distriage_serving.web.problem import ProblemError

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)


def add_queue(app: FastAPI, settings: Settings, store: Store) -> None:
    """Put the queue into the application, which must hold its `Rooms`.

    Raises:
        ConfigError: the App's private key cannot be read.
    """
    app.state.desk = Desk(store, Sessions(settings, store), Attempts(), open_app(settings))
    app.include_router(router)
    for part in (login, chart_routes, actions, closing, past_routes, threads):
        app.include_router(part.router)


@router.get("/")
def with_slash(request: Request) -> Response:
    """As people write it."""
    return go_to(f"/queue?{request.url.query}" if request.url.query else "/queue")


@router.get("")
def queue(request: Request) -> Response:
    """The list."""
    with Visit.reading(request) as visit:
        page = _list_page(visit, request)
    return page()  # a page is rendered without a connection to the database


def _list_page(visit: Visit, request: Request) -> Callable[[], Response]:
    query = request.query_params
    filters, fields = visit.filters(query)
    chosen = visit.issue_filter(filters)
    shown = tabs(visit, filters)
    count = next((tab.count for tab in shown if tab.is_current), None)
    page, place = part_of_list(visit, chosen, filters.sort, query, count)
    if chosen.number is not None and len(page.items) == 1:  # it was named: no list of one
        found, _ = page.items[0]
        return partial(lead, request, issue_href(found.repository, found.number, filters.without("search")))
    now = visit.store.clock()
    keys = [(issue.repository, issue.number) for issue, _ in page.items]
    left, named = read_left(query)
    narrowed = filters.chosen.keys() - {"order", "search"}
    search = filters.chosen.get("search", "")
    everywhere = {"search": search, "status": ANY}
    reviews, refused, jobs = (
        visit.store.reviews_of(keys),
        visit.store.refused_acts(keys),
        visit.store.jobs_of_people(keys),
    )
    visible = [filters.chosen["repository"]] if "repository" in filters.chosen else [*visit.repositories()]
    gathered = len(visible) == 1 and visit.engine.past.has(visible[0])
    return partial(
        show,
        "list.html",
        visit.session,
        page="list",
        notice=notices.notice(visit, query),
        warnings=visit.warnings(filters.chosen.get("repository")),
        query=filters.query,
        tabs=shown,
        filters=fields,
        set=[
            (field.name, field.text, list_href(filters.without(field.key))) for field in fields if field.key in narrowed
        ],
        columns=[(axis.id, axis.name) for axis in filter_axes(visit.taxonomy)],
        any_issue=bool(page.items or visit.store.count_issues(IssueFilter(visit.seen, status=None, state=None))),
        here_only=not visit.reaches(filters.chosen.get("repository")),
        is_number=chosen.number is not None,
        search=search,
        without_search=list_href(filters.without("search")),
        everywhere=list_href(more=everywhere) if search and filters.chosen != everywhere else None,
        order=ORDERS[filters.sort],
        count=page.count,
        now=now,
        most=MAX_BULK,
        days=closing.DAYS,
        labels=[(axis, label_groups(axis)) for axis in visit.taxonomy.axes.values()],
        rows=[
            make_row(
                issue,
                stored,
                reviews.get((issue.repository, issue.number), ()),
                visit.taxonomy,
                visit.spelled(issue.repository, issue.number),
                filters.query,
                now,
                refused.get((issue.repository, issue.number), ""),
                decision_waits=(issue.repository, issue.number, "decide") in jobs,
            )
            for issue, stored in page.items
        ],
        place=place,
        more=list_href(filters.query, {"after": page.next}) if page.next else None,
        clusters=f"/queue/{visible[0]}/clusters" if gathered else None,
        left=left,
        named=[
            (issue_href(repository, number, filters.query), visit.spelled(repository, number), why)
            for repository, number, why in named
            if repository in visit.repositories()
        ],
    )


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Style, scripts, icon."""
    file = STATIC.get(name)
    if file is None:
        raise ProblemError(404, "not-found", "no such file")
    return Response(
        file.content, media_type=file.media_type, headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )


@router.get("/{owner}/{name}/{number:issue}")
async def issue_page(request: Request, owner: str, name: str, number: int) -> Response:
    """One issue. With `evidence` the lines that carried the verdict are marked at once, which takes a moment."""
    looked = await run_in_threadpool(look_up, request, f"{owner}/{name}", number)
    explained = await looked.explain() if "evidence" in request.query_params else None
    return await run_in_threadpool(_issue_page, looked, request, explained)


@router.get("/{owner}/{name}/{number:issue}/evidence")
async def evidence(request: Request, owner: str, name: str, number: int) -> Response:
    """The report with its evidence marked, and similar issues: a part of the page, loaded after it."""
    looked = await run_in_threadpool(look_up, request, f"{owner}/{name}", number)
    return await run_in_threadpool(_evidence_part, looked, request.query_params, await looked.explain())


def _evidence_part(looked: Looked, query: QueryParams, explained: Verdict | None) -> Response:
    parts = looked.parts(explained, "", pictures="pictures" in query)
    return show("evidence.html", looked.visit.session, swap=True, **parts)


def _issue_page(looked: Looked, request: Request, explained: Verdict | None) -> Response:
    visit, issue, stored, acts = looked.visit, looked.issue, looked.stored, looked.acts
    with visit.store.reading():
        query = request.query_params
        past = visit.engine.past.has(issue.repository)
        filters, _ = visit.filters(query)
        now, place = visit.store.clock(), (issue.repository, issue.number)
        reviews = visit.store.reviews(issue=IssueReference(*place), undone=True)
        standing = standing_of(reviews)
        chosen = visit.issue_filter(filters)
        before, after = visit.store.neighbours(issue, chosen, filters.sort)
        verdict = stored.verdict if stored is not None else None
        last = [act for act in acts if act.what in {ASK, *CLOSES}][:1]
        closes = [act for act in acts if act.what in CLOSES and act.is_pending and act.undone_at is None]
        jobs = visit.store.jobs_of_people([place])
        decides = jobs.get((*place, "decide"))
        page = partial(
            show,
            "issue.html",
            visit.session,
            page="issue",
            notice=notices.notice(visit, query),
            query=filters.query,
            list_href=list_href(filters.query, {"at": f"{issue.repository}#{issue.number}"}),
            warnings=visit.warnings(issue.repository),
            previous=issue_href(*before, filters.query) if before else None,
            next=issue_href(*after, filters.query) if after else None,
            place=visit.store.place_in_list(issue, chosen, filters.sort),
            action=issue_href(*place),
            reference=visit.spelled(*place),
            issue=issue,
            plan=(plan := view_plan(stored)),
            closing=closing.waits_for(closing.job_of(closes[0], jobs)) if closes else "",
            not_there=closing.waits_for(decides) if decides is not None and standing else "",
            assignee=issue.assignee.removeprefix(ADMIN),
            why=why_here(
                stored, visit.taxonomy, standing, waits_s=now - issue.created_at, edited=edited_since(issue, standing)
            )
            if issue.status == "open"
            else "",
            refused=[
                *(f"{closing.describe(act)}: {closing.became_of(act, None)}" for act in last if act.is_refused),
                *plan.refused,
            ],
            age=age(now - issue.created_at),
            filed=moment(issue.created_at),
            verdict_id=stored.id if stored is not None else 0,
            decided=decided_so_far(reviews),
            axes=view_axes(verdict, visit.taxonomy, standing) if verdict is not None else [],
            own=view_own(verdict, standing),
            other=OTHER,
            snooze_days=closing.DAYS,
            asked=any(act.awaits_answer for act in acts),
            question=question_of(stored),
            active=age(now - issue.updated_at),
            here_only=not visit.reaches(issue.repository),
            past_href=f"{issue_href(*place)}/past?{filters.query}" if past else None,
            acts=[
                (
                    closing.describe(act),
                    act.who,
                    age(now - act.at),
                    closing.became_of(act, closing.job_of(act, jobs)),
                    act.undone_at is not None,
                )
                for act in acts
            ],
            verdict=verdict,
            history=view_history(reviews, visit.taxonomy, now),
            suggested=view_suggestions(visit.store.suggestions(IssueReference(*place)), now),
            thread_off=threads.why_not(request, visit, issue.repository),
        )
    pictures = "pictures" in query
    response = page(**looked.parts(explained, filters.query, pictures=pictures))
    if pictures:
        response.headers["Content-Security-Policy"] = WITH_PICTURES
    return response
