"""An issue's thread: a part of its page that is read from GitHub when opened, and a page without scripts."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from distriage.base.errors import GitHubError
from distriage_serving.github.app_auth import Patience
from distriage_serving.github.thread.reading import Thread, read_thread
from distriage_serving.github.timeline import MAINTAINERS
from distriage_serving.queue.listing import age, issue_href, moment
from distriage_serving.queue.login.desk import desk
from distriage_serving.queue.pages import PageRoute, show_part
from distriage_serving.queue.report.rendered import render
from distriage_serving.queue.visit import Visit
from distriage_serving.store import Issue

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)
MAX_CHARS: Final = 1500  # of a comment
_PATIENCE: Final = Patience(4.0, 0.0)  # for each of up to six requests, together below the 30 s of a page


def why_not(request: Request, visit: Visit, repository: str) -> str:
    """Why the threads of a repository cannot be read here; empty if they can."""
    if not visit.reaches(repository):
        return "The App is not installed on this repository, so the thread is only on GitHub."
    return (
        "" if desk(request).app is not None else "This server has no key of the App, so the thread is only on GitHub."
    )


@router.get("/{owner}/{name}/{number:issue}/thread")
def thread(request: Request, owner: str, name: str, number: int) -> Response:
    """The last comments, the assignees and the linked changes."""
    visit = Visit(request)
    issue, _ = visit.issue(f"{owner}/{name}", number)
    why = why_not(request, visit, issue.repository)
    found: Thread | None = None
    if not why:
        try:
            found = _read(request, visit, issue)
        except GitHubError as error:
            why = f"GitHub does not show the thread now: {error}"
    shown = _view(found, visit.store.clock()) if found is not None else {}
    return show_part(
        "thread.html",
        request,
        visit.session,
        reference=visit.spelled(issue.repository, number),
        back=issue_href(issue.repository, number, request.url.query),
        why=why,
        **shown,
    )


def _read(request: Request, visit: Visit, issue: Issue) -> Thread:
    kept, app = desk(request).threads, desk(request).app
    known = visit.store.get_repository(issue.repository)
    found = kept.get(issue.reference)
    if found is None:
        assert app is not None and known is not None and known.installation_id is not None  # see `why_not`
        client = app.installation_client(known.installation_id, patience=_PATIENCE)
        kept.put(issue.reference, found := read_thread(client, issue.reference))
    return found


def _view(thread: Thread, now: float) -> dict[str, Any]:
    said = [
        {
            "who": comment.who,
            "role": "bot" if comment.by != "person" else "maintainer" if comment.association in MAINTAINERS else "",
            "at": moment(comment.at),
            "age": age(now - comment.at),
            "html": render(comment.body[:MAX_CHARS], {})[0],
            "is_cut": len(comment.body) > MAX_CHARS,
            "url": comment.url,
        }
        for comment in thread.comments
    ]
    return {"said": said, "earlier": thread.count - len(said), "thread": thread}
