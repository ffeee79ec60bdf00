"""Login with GitHub: OAuth of the App, with state and PKCE. Reads GitHub; keeps no token.

Facts: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Any, Final
from urllib.parse import urlencode

import httpx

from distriage.errors import GitHubError
from distriage_serving.settings import Settings

TIMEOUT_S: Final = 8.0
MAX_PAGES: Final = 10
PAGE_ITEMS: Final = 100
_API_VERSION: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


def authorize_url(settings: Settings, state: str, verifier: str) -> str:
    """Where a person says yes."""
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


def _api() -> str:
    return (os.environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/")


async def who_may_write(settings: Settings, code: str, verifier: str) -> tuple[str, list[str]]:
    """Exchange a code and ask GitHub what its owner may do.

    Returns:
        Login, and the repositories with the App on them to which this person may write, in lower case.

    Raises:
        GitHubError: GitHub cannot be reached, or refuses.
    """
    assert settings.github_client_secret is not None
    form = {
        "client_id": settings.github_client_id,
        "client_secret": settings.github_client_secret.get_secret_value(),
        "code": code,
        "redirect_uri": _redirect_uri(settings),
        "code_verifier": verifier,
    }
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            answer = await client.post(f"{_web()}/login/oauth/access_token", data=form, headers={"Accept": "application/json"})
            token = _object(answer).get("access_token")
            if not isinstance(token, str) or not token:
                raise GitHubError("GitHub refused the login; begin again")
            client.headers.update({**_API_VERSION, "Authorization": f"Bearer {token}"})
            login = _object(await client.get(f"{_api()}/user")).get("login")
            if not isinstance(login, str) or not login:
                raise GitHubError("GitHub's answer about the account holds no login")
            repositories: list[str] = []
            for installation in await _all(client, "/user/installations", "installations"):
                found = await _all(client, f"/user/installations/{int(installation['id'])}/repositories", "repositories")
                repositories += [str(item["full_name"]).casefold() for item in found if item.get("permissions", {}).get("push") is True]
    except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
        raise GitHubError(f"GitHub cannot be asked: {type(error).__name__}") from None
    return login, sorted(set(repositories))


async def _all(client: httpx.AsyncClient, path: str, key: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for page in range(1, MAX_PAGES + 1):
        part = _object(await client.get(f"{_api()}{path}", params={"per_page": PAGE_ITEMS, "page": page}))[key]
        items += part
        if len(part) < PAGE_ITEMS:
            break
    return items


def _object(answer: httpx.Response) -> dict[str, Any]:
    answer.raise_for_status()
    value = answer.json()
    if not isinstance(value, dict):
        raise ValueError
    return value
