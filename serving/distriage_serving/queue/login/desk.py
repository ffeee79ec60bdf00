"""The queue's own parts, beside those of the application: one typed object under `app.state`."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from distriage_serving.github.app_auth import App
from distriage_serving.queue.login.attempts import Attempts
from distriage_serving.queue.login.sessions import Sessions


@dataclass(frozen=True, slots=True)
class Desk:
    """Who is logged in, who failed to, and the GitHub App, where there is one."""

    sessions: Sessions
    attempts: Attempts
    app: App | None


def desk(request: Request) -> Desk:
    """That of the application that answers a request."""
    found: Desk = request.app.state.desk
    return found
