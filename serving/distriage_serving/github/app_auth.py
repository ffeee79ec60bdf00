"""Who the bot is: the App's own token (RS256 JWT) and those of its installations. Network I/O.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Final

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from distriage.base.errors import ConfigError, GitHubError, NotFoundError, RefusedError
from distriage.github.client import TIMEOUT_S, Client
from distriage.github.limits import Limits
from distriage_serving.settings import Settings

BACKDATE_S: Final = 60  # GitHub's advice against clocks that run ahead
LIFETIME_S: Final = 540  # GitHub takes at most 600
MARGIN_S: Final = 300  # a job must not outlive its token
FRESH_S: Final = 60.0  # a token that is younger knows of all permissions


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that one request may take, and that a client's requests together may wait for limits and in between."""

    timeout_s: float
    max_wait_s: float


WORK: Final = Patience(TIMEOUT_S, 10.0)  # of a worker; a longer wait defers it
A_PERSON_WAITS: Final = Patience(8.0, 0.0)  # one attempt; token, App and issue together stay below a request's 30 s


def private_key(settings: Settings) -> str:
    """The App's private key, PEM."""
    assert settings.github_private_key is not None
    return settings.github_private_key.get_secret_value().replace("\\n", "\n")  # the form in an .env file


def load_key(pem: str) -> RSAPrivateKey:
    """Read an App's private key.

    Raises:
        ConfigError: not an unencrypted RSA key in PEM.
    """
    try:
        key = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise ConfigError(
            "DISTRIAGE_GITHUB_PRIVATE_KEY: expected the App's RSA key as GitHub gives it, "
            "-----BEGIN RSA PRIVATE KEY----- and so on"
        )
    return key


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    ends_at: float
    made_at: float


class App:
    """A GitHub App. Safe to use from several threads.

    Args:
        api: Base URL; default as for `Client`.
        clock: Unix time in seconds.
    """

    def __init__(
        self, app_id: str, key: RSAPrivateKey, api: str | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._app_id = app_id
        self._key = key
        self._api = api
        self._clock = clock
        self._tokens: dict[int, _Token] = {}
        self._forgotten = 0  # times
        self._login: str | None = None
        self._lock = threading.Lock()

    def client(self, patience: Patience = WORK) -> Client:
        """A client that speaks as the App itself, for some minutes."""
        now = int(self._clock())
        claims = {"iat": now - BACKDATE_S, "exp": now + LIFETIME_S, "iss": self._app_id}
        return Client(jwt.encode(claims, self._key, algorithm="RS256"), self._api, **asdict(patience))

    def installation_client(
        self,
        installation_id: int,
        *,
        patience: Patience = WORK,
        before_write: Callable[[], None] | None = None,
        limits: Limits | None = None,
    ) -> Client:
        """A client that speaks as one installation.

        Args:
            before_write: Called before each request that changes something; may raise.
            limits: Shared by all clients of the installation.

        Raises:
            GitHubError: as `token` and `login`.
        """
        token = self.token(installation_id, patience)
        return Client(
            token,
            self._api,
            **asdict(patience),
            login=self.login(patience),
            before_write=before_write,
            renew=partial(self.renew, installation_id, token, patience),
            limits=limits,
        )

    def login(self, patience: Patience = WORK) -> str:
        """The account under which the bot acts, such as `distriage[bot]`.

        Raises:
            GitHubError: GitHub cannot be reached or refuses.
        """
        if self._login is None:
            slug = self.client(patience).json("/app").get("slug")
            if not isinstance(slug, str):
                raise GitHubError("GET /app: GitHub's answer holds no slug")
            self._login = f"{slug}[bot]"
        return self._login

    def token(self, installation_id: int, patience: Patience = WORK) -> str:
        """A token of an installation, valid for at least `MARGIN_S`.

        Raises:
            NotFoundError: the App is no longer installed there, or is suspended.
            GitHubError: GitHub cannot be reached or refuses.
        """
        with self._lock:
            known, forgotten = self._tokens.get(installation_id), self._forgotten
        if known is None or known.ends_at - MARGIN_S <= self._clock():
            path = f"/app/installations/{installation_id}/access_tokens"
            # Not under the lock: all installations would wait. That two threads fetch a token of one does no harm.
            try:
                answer = self.client(patience).write("POST", path, {}, repeatable=True)
            except RefusedError as error:
                if error.status == 403 and "suspended" in str(error):  # as if it had left, until its owner wants it
                    raise NotFoundError(str(error), error.status) from None
                raise
            known = _read_token(answer, self._clock())
            with self._lock:
                if forgotten == self._forgotten:  # else it may predate the reason to forget
                    self._tokens[installation_id] = known
        return known.text

    def renew(self, installation_id: int, old: str, patience: Patience) -> str | None:
        """A token to replace one that GitHub refused; None if that one is the newest possible.

        Older tokens lack an installation's new permissions, and only one process hears of their grant.
        """
        with self._lock:
            known = self._tokens.get(installation_id)
            if known is not None and known.text == old:
                if self._clock() - known.made_at < FRESH_S:
                    return None
                del self._tokens[installation_id]
                self._forgotten += 1
        return self.token(installation_id, patience)

    def forget(self, installation_id: int) -> None:
        """Forget a token that GitHub refused, so that the next call asks for a new one."""
        with self._lock:
            self._tokens.pop(installation_id, None)
            self._forgotten += 1


def open_app(settings: Settings) -> App | None:
    """The App of the settings, if they have one.

    Raises:
        ConfigError: its private key cannot be read.
    """
    if settings.github_app_id is None:
        return None
    return App(settings.github_app_id, load_key(private_key(settings)))


def _read_token(answer: object, now: float) -> _Token:
    match answer:
        case {"token": str(text), "expires_at": str(ends)}:
            return _Token(text, datetime.fromisoformat(ends).timestamp(), now)
    raise GitHubError("POST access_tokens: GitHub's answer holds no token")
