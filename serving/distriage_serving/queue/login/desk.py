"""The queue's own parts, beside those of the application: one typed object under `app.state`."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from distriage_serving.github.app_auth import App
from distriage_serving.queue.login.attempts import Attempts
from distriage_serving.queue.login.sessions import Sessions


@dataclass(frozen=True, slots=True)
class Desk:
    """Sessions, failed logins, and the GitHub App, if any."""

    sessions: Sessions
    attempts: Attempts
    app: App | None


def desk(request: Request) -> Desk:
    """The desk of a request's application."""
    found: Desk = request.app.state.desk
    return found
