"""Who is logged in. Sessions are rows of the store, so that they can be ended; their cookie is a random number.

Nothing is stored before the login: its data is in a separate cookie, signed with a random key kept in the database,
which is independent of all secrets.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Final
from urllib.parse import parse_qsl

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from distriage_serving.administrators import Administrators
from distriage_serving.logs import log
from distriage_serving.settings import Settings
from distriage_serving.store import LoginSession, Store
from distriage_serving.web.arrivals import peer_of
from distriage_serving.web.problem import ProblemError

COOKIE: Final = "distriage_session"
LOGIN_COOKIE: Final = "distriage_login"
LOGIN_AGE_S: Final = 3600
ADMIN_AGE_S: Final = 12 * 3600
GITHUB_AGE_S: Final = (
    3600  # a person who lost access on GitHub sees the queue no longer than this; the next login is one click
)
MAX_FIELDS: Final = 4000
ADMIN: Final = "admin:"  # no GitHub login has a colon

Fields = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Session:
    """One person's session.

    Attributes:
        who: GitHub login, or `admin:NAME`; empty before the login.
        repositories: Visible to this person, in lower case; all if None.
    """

    who: str = ""
    repositories: tuple[str, ...] | None = ()
    csrf: str = ""

    @property
    def name(self) -> str:
        """For people."""
        name = self.who.removeprefix(ADMIN)
        return self.who if name == self.who else f"{name} (administrator)"

    def sees(self, repository: str) -> bool:
        """Whether a repository's issues may be shown to this person."""
        return bool(self.who) and (self.repositories is None or repository.casefold() in self.repositories)


@dataclass(frozen=True, slots=True)
class Login:
    """A login on its way, the same for all tabs of a browser.

    Attributes:
        state, verifier: Those of a login with GitHub.
        then: The page to go to after it.
    """

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    state: str = ""
    verifier: str = ""
    then: str = ""


class Sessions:
    """Reads and writes sessions and cookies. Every method may read the database: call them in a thread."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store

    @cached_property
    def _key(self) -> str:
        return self._store.shared_value("session-key", lambda: secrets.token_hex(32))

    @cached_property
    def _signer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._key, salt="login", signer_kwargs={"digest_method": hashlib.sha256})

    @cached_property
    def administrators(self) -> Administrators:
        """Those that the settings name."""
        return Administrators(self._settings.admins, self._settings.admin_token, bytes.fromhex(self._key)[:16])

    @cached_property
    def _credentials(self) -> frozenset[tuple[str, str]]:
        return frozenset((ADMIN + name, value) for name, value in self.administrators.credentials.items())

    def read(self, request: Request) -> Session:
        """The session of a request, perhaps an empty one."""
        row = self._row(request)
        if row is None:
            return Session()
        return Session(row.who, None if row.repositories is None else tuple(row.repositories), row.csrf)

    def _row(self, request: Request) -> LoginSession | None:
        token = request.cookies.get(COOKIE, "")
        row = self._store.get_session(_digest(token)) if token else None
        return row if row is not None and self.lets_in(row) else None

    def lets_in(self, row: LoginSession) -> bool:
        """Whether the settings still know the credential of a session."""
        if not row.who.startswith(ADMIN):
            return row.credential == self._settings.github_client_id
        return (row.who, row.credential) in self._credentials

    def begin(self, request: Request, response: Response, who: str, repositories: tuple[str, ...] | None) -> None:
        """Log a person in: a new session, which ends this browser's earlier one."""
        token = secrets.token_urlsafe(32)
        by_github = not who.startswith(ADMIN)
        credential = (
            self._settings.github_client_id
            if by_github
            else self.administrators.credentials.get(who.removeprefix(ADMIN))
        )
        now = self._store.clock()
        row = LoginSession(
            id=_digest(token),
            who=who,
            csrf=secrets.token_urlsafe(18),
            credential=credential or "",
            created_at=now,
            ends_at=now + (GITHUB_AGE_S if by_github else ADMIN_AGE_S),
            repositories=None if repositories is None else list(repositories),
        )
        if before := request.cookies.get(COOKIE):
            self._store.end_sessions(_digest(before))
        self._store.add_session(row)
        self._set(request, response, COOKIE, token)
        self._delete(request, response, LOGIN_COOKIE)
        log(logging.INFO, "logged_in", who=who, peer=peer_of(request.scope))

    def end(self, request: Request, response: Response) -> None:
        """Log out: from now on the cookie is worthless, even a copy."""
        log(logging.INFO, "logged_out", who=self.read(request).who)
        self._store.end_sessions(_digest(request.cookies.get(COOKIE, "")))
        self._delete(request, response, COOKIE)

    def read_login(self, request: Request) -> Login | None:
        """The login on its way in this browser."""
        try:
            return Login(**self._signer.loads(request.cookies.get(LOGIN_COOKIE, ""), max_age=LOGIN_AGE_S))
        except (BadData, TypeError):
            return None

    def write_login(self, request: Request, response: Response, login: Login) -> None:
        """Note a login on its way."""
        self._set(request, response, LOGIN_COOKIE, self._signer.dumps(asdict(login)))

    def _set(self, request: Request, response: Response, name: str, value: str) -> None:
        response.set_cookie(name, value, httponly=True, samesite="lax", secure=self._is_secure(request), path="/")

    def _delete(self, request: Request, response: Response, name: str) -> None:
        response.delete_cookie(name, httponly=True, samesite="lax", secure=self._is_secure(request), path="/")

    def _is_secure(self, request: Request) -> bool:
        """Whether the browser uses https, as the operator says or the proxy in front."""
        return (self._settings.public_url or "").startswith("https://") or request.url.scheme == "https"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


async def read_form(request: Request) -> Fields:
    """The fields of a form.

    Raises:
        ProblemError: not a form (415), or unreadable (400).
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise ProblemError(
            415, "unsupported-media-type", "expected a form: Content-Type: application/x-www-form-urlencoded"
        )
    fields: Fields = {}
    try:
        for name, value in parse_qsl(
            (await request.body()).decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        ):
            fields.setdefault(name, []).append(value)
    except ValueError:
        raise ProblemError(
            400, "bad-request", f"the form cannot be read; expected UTF-8 and at most {MAX_FIELDS:,} fields"
        ) from None
    return fields


def check_form(fields: Fields, token: str) -> None:
    """Refuse a form that was not sent from one of our own pages.

    Raises:
        ProblemError: it lacks the token of the session, or of the login (403).
    """
    given = fields.get("csrf", [""])[0]
    if not token or not hmac.compare_digest(given.encode(), token.encode()):
        raise ProblemError(403, "forbidden", "the form is too old or was not sent from this page; load the page again")
