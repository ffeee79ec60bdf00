"""Login with GitHub: OAuth of the App, with state and PKCE. Reads GitHub; keeps no token.

Facts: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app
"""

from __future__ import annotations

import base64
import hashlib
import os
import time
from itertools import islice
from typing import Any, Final
from urllib.parse import urlencode

import httpx
from starlette.concurrency import run_in_threadpool

from distriage.base.errors import GitHubError
from distriage.github.answer import Ok, read_answer
from distriage.github.client import Client
from distriage.github.http_client import connections
from distriage_serving.settings import Settings

TIMEOUT_S: Final = 8.0
MAX_PAGES: Final = 10


def authorize_url(settings: Settings, state: str, verifier: str) -> str:
    """The page on which a person lets the App see their permissions."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "client_id": settings.github_client_id,
        "redirect_uri": _redirect_uri(settings),
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return f"{_web()}/login/oauth/authorize?{urlencode(query)}"


def _redirect_uri(settings: Settings) -> str:
    return f"{(settings.public_url or '').rstrip('/')}/login/github/callback"


def _web() -> str:
    return (os.environ.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/")


async def who_may_triage(settings: Settings, code: str, verifier: str) -> tuple[str, list[str]]:
    """Exchange a code and ask GitHub for its owner's permissions.

    Returns:
        Login, and the repositories with the App whose issues this person may label (role triage and up), in lower case.

    Raises:
        GitHubError: GitHub is out of reach, or refuses.
    """
    return await run_in_threadpool(_who_may_triage, settings, code, verifier)


def _who_may_triage(settings: Settings, code: str, verifier: str) -> tuple[str, list[str]]:
    client = Client(_exchange(settings, code, verifier), timeout_s=TIMEOUT_S, max_wait_s=0.0)  # a person waits
    login = client.json("/user").get("login")
    if not isinstance(login, str) or not login:
        raise GitHubError("GitHub's answer about the account has no login")
    found = [
        repository["full_name"].casefold()
        for installation in _all(client, "/user/installations", "installations")
        for repository in _all(client, f"/user/installations/{installation.get('id')}/repositories", "repositories")
        if isinstance(repository.get("full_name"), str) and _may_triage(repository.get("permissions"))
    ]
    return login, sorted(set(found))


def _may_triage(permissions: object) -> bool:
    # An older GitHub Enterprise Server names no `triage`.
    return isinstance(permissions, dict) and True in {permissions.get("triage"), permissions.get("push")}


def _exchange(settings: Settings, code: str, verifier: str) -> str:
    """The person's token. It is GitHub's web server that gives it, not the API."""
    assert settings.github_client_secret is not None
    form = {
        "client_id": settings.github_client_id,
        "client_secret": settings.github_client_secret.get_secret_value(),
        "code": code,
        "redirect_uri": _redirect_uri(settings),
        "code_verifier": verifier,
    }
    try:
        response = connections().post(
            f"{_web()}/login/oauth/access_token",
            data=form,
            headers={"Accept": "application/json"},
            timeout=TIMEOUT_S,
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise GitHubError(f"GitHub cannot be reached: {type(error).__name__}") from None  # a message may show the code
    match read_answer(response.status_code, response.headers, response.content, time.time()):
        case Ok(value={"access_token": str(token)}) if token:
            return token
    raise GitHubError("GitHub refused the login; begin again")


def _all(client: Client, path: str, key: str) -> list[dict[str, Any]]:
    return [item for items, _ in islice(client.pages(path, {}, key=key), MAX_PAGES) for item in items]
