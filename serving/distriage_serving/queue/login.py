"""/login and /logout: by the administrator's token, or with GitHub."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from distriage.errors import GitHubError
from distriage_serving.queue.github_oauth import authorize_url, who_may_write
from distriage_serving.queue.pages import LoginNeededError, PageRoute, go_to, show
from distriage_serving.queue.sessions import ADMIN, MAX_REPOSITORIES, Session, Sessions, read_form
from distriage_serving.settings import Settings

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_OWN_PAGE: Final = re.compile(r"/queue(?:[/?][\w./?=&%+:~-]{0,500})?", re.ASCII)
_CODE: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)


def session_of(request: Request) -> Session:
    """The session of a person who is logged in.

    Raises:
        LoginNeededError: nobody is.
    """
    session = _sessions(request).read(request)
    if not session.who:
        raise LoginNeededError
    return session


def _sessions(request: Request) -> Sessions:
    sessions: Sessions = request.app.state.sessions
    return sessions


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


def _login_page(request: Request, session: Session, error: str = "", status: int = 200) -> Response:
    settings = _settings(request)
    page = show(
        "login.html",
        session,
        status,
        error=error,
        with_token=settings.admin_token is not None,
        with_github=settings.github_client_id is not None,
        github_href=f"/login/github?{urlencode({'then': session.then})}",
    )
    _sessions(request).write(page, session)
    return page


@router.get("/login")
async def login_page(request: Request) -> Response:
    """The form."""
    if _sessions(request).read(request).who:
        return go_to("/queue")
    return _login_page(request, Session(then=_own(request.query_params.get("then", ""))))


@router.post("/login")
async def login(request: Request) -> Response:
    """Log in with the administrator's token."""
    session = _sessions(request).read(request)
    fields = await read_form(request, session)
    expected = _settings(request).admin_token
    given = fields.get("token", [""])[0]
    if expected is None or not hmac.compare_digest(_digest(given), _digest(expected.get_secret_value())):
        return _login_page(request, session, "This is not the administrator's token.", 403)
    return _enter(request, Session(who=ADMIN, repositories=None), session.then)


@router.get("/login/github")
async def login_with_github(request: Request) -> Response:
    """Send the browser to GitHub."""
    settings = _settings(request)
    if settings.github_client_id is None:
        return go_to("/login")
    session = Session(state=secrets.token_urlsafe(24), verifier=secrets.token_urlsafe(48), then=_own(request.query_params.get("then", "")))
    response = go_to(authorize_url(settings, session.state, session.verifier))
    _sessions(request).write(response, session)
    return response


@router.get("/login/github/callback")
async def login_from_github(request: Request) -> Response:
    """GitHub sends the browser back here."""
    session = _sessions(request).read(request)
    code = request.query_params.get("code", "")
    begun = Session(then=session.then)
    if not session.state or not hmac.compare_digest(session.state.encode(), request.query_params.get("state", "").encode()):
        return _login_page(request, begun, "This login was not begun here, or too long ago; begin again.", 403)
    if not _CODE.fullmatch(code):
        return _login_page(request, begun, "GitHub did not let you in.", 403)
    try:
        who, repositories = await who_may_write(_settings(request), code, session.verifier)
    except GitHubError as error:
        return _login_page(request, begun, str(error), 403)
    if not repositories:
        return _login_page(request, begun, "You have no write access to a repository with this App.", 403)
    if len(repositories) > MAX_REPOSITORIES:
        return _login_page(request, begun, f"You may write to more than {MAX_REPOSITORIES} repositories with this App; use the administrator's token.", 403)
    return _enter(request, Session(who=who, repositories=tuple(repositories)), session.then)


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the session in this browser."""
    await read_form(request, session_of(request))
    response = go_to("/login")
    _sessions(request).end(response)
    return response


def _enter(request: Request, session: Session, then: str) -> Response:
    response = go_to(_own(then) or "/queue")
    _sessions(request).write(response, session)
    return response


def _own(place: str) -> str:
    return place if _OWN_PAGE.fullmatch(place) else ""


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
