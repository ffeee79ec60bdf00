"""/login and /logout: by an administrator's token, or with GitHub."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from distriage.base.errors import GitHubError
from distriage_serving.administrators import DEFAULT
from distriage_serving.github.oauth import authorize_url, who_may_triage
from distriage_serving.logs import log
from distriage_serving.queue.login.desk import desk
from distriage_serving.queue.login.sessions import ADMIN, Fields, Login, Session, check_form, read_form
from distriage_serving.queue.pages import LoginNeededError, PageRoute, go_to, show
from distriage_serving.web.arrivals import peer_of
from distriage_serving.web.rooms import rooms
from distriage_serving.web.threads import write

router = APIRouter(route_class=PageRoute, include_in_schema=False)
# A search has up to 200 characters, in Chinese 9 each in an address. A cookie holds it too, of at most 4096 bytes.
_OWN_PAGE: Final = re.compile(r"/queue(?:[/?][\w./?=&%+:*~-]{0,2500})?", re.ASCII)
_CODE: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)


def session_of(request: Request) -> Session:
    """The session of a person who is logged in. Reads the database.

    Raises:
        LoginNeededError: not logged in.
    """
    session = desk(request).sessions.read(request)
    if not session.who:
        raise LoginNeededError
    return session


def _login_page(request: Request, login: Login, error: str = "", status: int = 200) -> Response:
    settings = rooms(request).settings
    if status == 403:
        log(logging.WARNING, "login_refused", peer=peer_of(request.scope))
    page = show(
        "login.html",
        Session(csrf=login.csrf),
        status,
        error=error,
        ended="ended" in request.query_params,
        then=login.then,
        with_token=settings.has_administrators,
        with_name=bool(settings.admins),
        default_name=DEFAULT,
        with_github=settings.github_client_id is not None,
        github_href=f"/login/github?{urlencode({'then': login.then})}",
    )
    desk(request).sessions.write_login(request, page, login)
    return page


def _login(request: Request, then: str) -> Login:
    """The login that this browser has begun, in another tab perhaps, or a new one."""
    return replace(desk(request).sessions.read_login(request) or Login(), then=_own(then))


@router.get("/login")
def login_page(request: Request) -> Response:
    """The form."""
    if desk(request).sessions.read(request).who:  # in another tab
        return go_to(_own(request.query_params.get("then", "")) or "/queue")
    return _login_page(request, _login(request, request.query_params.get("then", "")))


@router.post("/login")
async def login(request: Request) -> Response:
    """Log in with an administrator's token."""
    fields = await read_form(request)
    attempts = desk(request).attempts
    peer = peer_of(request.scope)
    wait_s = attempts.wait_s(peer)
    if wait_s:
        return await run_in_threadpool(_wait_page, request, wait_s)
    delay_s = attempts.delay_s()
    attempts.failed(peer)  # until it has succeeded: concurrent attempts must find it counted
    await asyncio.sleep(delay_s)
    try:
        response = await write(request, _log_in, request, fields)
    except Exception:  # such as a database that cannot be reached
        attempts.take_back(peer)
        raise
    if response.status_code == 303:
        attempts.succeeded(peer)
    return response


def _wait_page(request: Request, wait_s: int) -> Response:
    page = _login_page(request, _login(request, ""), f"Too many failed logins; try again in {wait_s} s.", 429)
    page.headers["Retry-After"] = str(wait_s)
    return page


def _log_in(request: Request, fields: Fields) -> Response:
    sessions = desk(request).sessions
    begun = sessions.read_login(request)
    begun = begun or Login(csrf="")
    check_form(fields, begun.csrf)
    then = fields.get("then", [begun.then])[0]
    name, token = fields.get("name", [""])[0].strip() or DEFAULT, fields.get("token", [""])[0]
    if not sessions.administrators.knows(name, token):
        return _login_page(request, _login(request, then), "This is not the token of an administrator.", 403)
    response = go_to(_own(then) or "/queue")
    sessions.begin(request, response, ADMIN + name, None)
    return response


@router.get("/login/github")
def login_with_github(request: Request) -> Response:
    """Send the browser to GitHub."""
    settings = rooms(request).settings
    if settings.github_client_id is None:
        return go_to("/login")
    login = replace(
        _login(request, request.query_params.get("then", "")),
        state=secrets.token_urlsafe(24),
        verifier=secrets.token_urlsafe(48),
    )
    response = go_to(authorize_url(settings, login.state, login.verifier))
    desk(request).sessions.write_login(request, response, login)
    return response


@router.get("/login/github/callback")
async def login_from_github(request: Request) -> Response:
    """GitHub sends the browser back here."""
    login = await run_in_threadpool(desk(request).sessions.read_login, request) or Login()
    code = request.query_params.get("code", "")
    begun = Login(csrf=login.csrf, then=login.then)
    if not login.state or not hmac.compare_digest(login.state.encode(), request.query_params.get("state", "").encode()):
        detail = "This login was not begun here, or too long ago; begin again."
        return await run_in_threadpool(_login_page, request, login, detail, 403)  # another tab's may be on its way
    if not _CODE.fullmatch(code):
        return await run_in_threadpool(_login_page, request, begun, "GitHub did not let you in.", 403)
    try:
        who, repositories = await who_may_triage(rooms(request).settings, code, login.verifier)
    except GitHubError as error:
        return await run_in_threadpool(_login_page, request, begun, str(error), 403)
    if not repositories:
        detail = "You may not label the issues of any repository with this App; the role triage is needed."
        return await run_in_threadpool(_login_page, request, begun, detail, 403)
    response = go_to(_own(login.then) or "/queue")
    await write(request, desk(request).sessions.begin, request, response, who, tuple(repositories))
    return response


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the session."""
    return await write(request, _log_out, request, await read_form(request))


def _log_out(request: Request, fields: Fields) -> Response:
    check_form(fields, session_of(request).csrf)
    response = go_to("/login")
    desk(request).sessions.end(request, response)
    return response


def _own(place: str) -> str:
    return place if _OWN_PAGE.fullmatch(place) else ""
