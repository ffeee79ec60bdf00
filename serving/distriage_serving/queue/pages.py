"""HTML pages: templates, headers, errors as pages, static files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from distriage.base.pages import LOOK
from distriage.base.references import web_link
from distriage_serving.queue.listing import LIKELY, issue_href, list_href, percent
from distriage_serving.queue.login.sessions import Session, read_form
from distriage_serving.queue.visible import plain, visible, with_code
from distriage_serving.store import UnavailableError
from distriage_serving.web.context import request_id_of
from distriage_serving.web.problem import TITLES, Code, ProblemError, unavailable

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# Where a person asked for a report's pictures. `Referrer-Policy` keeps our address from their servers.
WITH_PICTURES: Final = HEADERS["Content-Security-Policy"].replace("img-src 'self'", "img-src 'self' https:")
_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
_SAID: Final[Mapping[str, str]] = {
    "suggest": "Perhaps",
    "abstain": "Not sure",
    "not-applicable": "Does not apply",
    "decided": "Decided by a person",
}


def said(outcome: str, probability: float) -> str:
    """An outcome in words that agree with the figure beside them: in the mode `best` any label is applied."""
    if outcome != "apply":
        return _SAID[outcome]
    return "Sure" if probability >= 0.9 else "Likely" if probability >= LIKELY else "Best guess"


@dataclass(frozen=True, slots=True)
class Static:
    """A file that browsers may keep for ever: its address holds its digest."""

    content: bytes
    media_type: str
    digest: str


def _read_static() -> dict[str, Static]:
    folder = resources.files("distriage_serving.queue").joinpath("static")
    files = {}
    for file in folder.iterdir():
        content = (LOOK.encode() if file.name == "queue.css" else b"") + file.read_bytes()
        files[file.name] = Static(
            content, _TYPES["." + file.name.rpartition(".")[2]], hashlib.sha256(content).hexdigest()[:12]
        )
    return files


STATIC: Final = _read_static()


def _static_url(name: str) -> str:
    return f"/queue/static/{name}?{STATIC[name].digest}"


_TEMPLATES: Final = Environment(
    loader=PackageLoader("distriage_serving.queue"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(
    visible=visible, with_code=with_code, plain=plain, said=said, web_link=web_link, percent=percent
)
_TEMPLATES.globals.update(static=_static_url, page="", notice=None, warnings=(), query="", swap=False)


def show(template: str, session: Session, http_status: int = 200, **context: Any) -> HTMLResponse:
    """A page."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(session=session, **context), http_status, HEADERS)


def show_part(template: str, request: Request, session: Session, **context: Any) -> HTMLResponse:
    """A part of an issue's page; without our script, a page of its own."""
    return show(template if "hx-request" in request.headers else "part_page.html", session, part=template, **context)


def go_to(path: str) -> Response:
    """Send the browser on, with GET."""
    return RedirectResponse(path, 303, HEADERS)


def lead(request: Request, path: str) -> Response:
    """Send the browser on with GET, even if our script asked for part of a page."""
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={**HEADERS, "HX-Redirect": path})
    return go_to(path)


def is_browser(request: Request) -> bool:
    """Whether a page is asked for."""
    return "text/html" in request.headers.get("accept", "")


class IssueNumber(IntegerConvertor):
    """The number of an issue in a path, `{number:issue}`: as many digits as Python reads and databases hold."""

    regex = "[0-9]{1,18}"


register_url_convertor("issue", IssueNumber())


class StaleError(ProblemError):
    """The person's page is too old, so nothing was stored: the issue has changed since (409).

    Attributes:
        again: The address of the current page.
    """

    def __init__(self, happened: str, again: str, status: int = 409, code: Code = "conflict") -> None:
        super().__init__(status, code, f"{happened} Nothing of yours was saved.")
        self.again = again


class LoginNeededError(Exception):
    """The request lacks a session."""


class PageRoute(APIRoute):
    """A route for people: without a session it leads to the login, and an error is a page if the browser asks for
    one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler with these two added."""
        handle = super().get_route_handler()

        async def handle_for_people(request: Request) -> Response:
            try:
                return await handle(request)
            except LoginNeededError:
                return await _to_login(request)
            except UnavailableError:
                problem = unavailable("not-ready", "the database cannot be reached", 5)
            except ProblemError as error:
                problem = error
            if not is_browser(request):
                raise problem
            again = await _form_page(request) if problem.status != 404 else None
            return error_page(problem, request_id_of(request.scope), again)

        return handle_for_people


def page_of(request: Request, query: str) -> str:
    """The address of a form's page: its issue's, or the list's."""
    path = request.path_params
    owner, name, number = path.get("owner"), path.get("name"), path.get("number")
    return issue_href(f"{owner}/{name}", number, query) if isinstance(number, int) else list_href(query)


async def _form_page(request: Request) -> str | None:
    """The page that a form of the queue was sent from; None if it is none."""
    if request.method == "GET" or not request.url.path.startswith("/queue/"):
        return None
    try:
        query = (await read_form(request)).get("query", [""])[0]
    except ProblemError:
        query = ""
    return page_of(request, query)


async def _to_login(request: Request) -> Response:
    """Go to the login, and from there back to the page; for a form, which is not stored, back to its page."""
    if request.method != "GET":
        page = await _form_page(request)  # logging out, which has none, loses nothing
        return go_to("/login" if page is None else f"/login?{urlencode({'then': page, 'ended': 1})}")
    asked = urlsplit(request.headers.get("hx-current-url", "")) if "hx-request" in request.headers else request.url
    back = asked.path + (f"?{asked.query}" if asked.query else "")
    return lead(request, f"/login?{urlencode({'then': back})}")


def error_page(problem: ProblemError, request_id: str, again: str | None = None) -> Response:
    """An error for people.

    Args:
        again: The page of the form that was refused.
    """
    is_stale = isinstance(problem, StaleError)
    is_refused = again is not None and not is_stale and problem.status < 500  # else a part may have been done
    page = show(
        "error.html",
        Session(),
        problem.status,
        heading="Nothing was changed" if is_refused else TITLES[problem.status],
        detail=f"{problem}"[:500],
        again=problem.again if isinstance(problem, StaleError) else again,
        is_stale=is_stale,
        request_id=request_id,
    )
    page.headers.update(problem.headers)
    return page
