"""Who is logged in: a signed cookie, no table. Its key is made from the secrets of the login, so whoever changes these ends all sessions."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from distriage_serving.problem import ProblemError
from distriage_serving.settings import Settings

COOKIE: Final = "distriage_session"
ADMIN: Final = "admin"
ADMIN_AGE_S: Final = 12 * 3600
GITHUB_AGE_S: Final = 3600  # so long a person whose access was taken away on GitHub still sees the queue; the next login is one click
MAX_REPOSITORIES: Final = 100  # a browser keeps a cookie of up to 4 KiB
MAX_FIELDS: Final = 4000


@dataclass(frozen=True, slots=True)
class Session:
    """One person's session.

    Attributes:
        who: GitHub login, or `admin`; empty before the login.
        repositories: The ones this person sees, in lower case; None: all.
        csrf: Stands in every form.
        state, verifier: Of a login with GitHub that is under way.
        then: The page to go to after the login.
    """

    who: str = ""
    repositories: tuple[str, ...] | None = ()
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    state: str = ""
    verifier: str = ""
    then: str = ""

    def sees(self, repository: str) -> bool:
        """Whether a repository's issues may be shown to this person."""
        return bool(self.who) and (self.repositories is None or repository.casefold() in self.repositories)


class Sessions:
    """Reads and writes the cookie."""

    def __init__(self, settings: Settings) -> None:
        given = [secret.get_secret_value() for secret in (settings.admin_token, settings.github_client_secret) if secret is not None]
        key = hashlib.sha256("\0".join(["distriage session", *given]).encode()).digest()
        self._signer = URLSafeTimedSerializer(key, salt="session", signer_kwargs={"digest_method": hashlib.sha256})
        self._secure = (settings.public_url or "").startswith("https://")

    def read(self, request: Request) -> Session:
        """The session of a request; a new one where the cookie is missing, forged or too old."""
        try:
            fields = self._signer.loads(request.cookies.get(COOKIE, ""), max_age=ADMIN_AGE_S)
            session = Session(**{**fields, "repositories": None if fields["repositories"] is None else tuple(fields["repositories"])})
            if session.who and session.repositories is not None:
                self._signer.loads(request.cookies[COOKIE], max_age=GITHUB_AGE_S)
        except (BadData, KeyError, TypeError):
            return Session()
        return session

    def write(self, response: Response, session: Session) -> None:
        """Send the cookie."""
        response.set_cookie(COOKIE, self._signer.dumps(asdict(session)), httponly=True, samesite="lax", secure=self._secure, path="/")

    def end(self, response: Response) -> None:
        """Take the cookie back."""
        response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=self._secure, path="/")


async def read_form(request: Request, session: Session) -> dict[str, list[str]]:
    """The fields of a form that was sent from one of our own pages.

    Raises:
        ProblemError: not a form (415), unreadable (400), or without the session's token (403).
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise ProblemError(415, "unsupported-media-type", "expected a form: Content-Type: application/x-www-form-urlencoded")
    fields: dict[str, list[str]] = {}
    try:
        for name, value in parse_qsl((await request.body()).decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS):
            fields.setdefault(name, []).append(value)
    except ValueError:
        raise ProblemError(400, "bad-request", f"the form cannot be read; expected UTF-8 and at most {MAX_FIELDS:,} fields") from None
    given = fields.get("csrf", [request.headers.get("x-csrf-token", "")])[0]
    if not hmac.compare_digest(given.encode(), session.csrf.encode()):
        raise ProblemError(403, "forbidden", "the form is too old or was not sent from this page; load the page again")
    return fields
