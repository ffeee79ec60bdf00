"""The queue's own parts, beside those of the application: one typed object under `app.state`."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request

from distriage_serving.github.app_auth import App
from distriage_serving.github.thread.kept import Kept
from distriage_serving.queue.login.attempts import Attempts
from distriage_serving.queue.login.sessions import Sessions
from distriage_serving.store import Store


@dataclass(frozen=True, slots=True)
class Desk:
    """Store, sessions, failed logins, the GitHub App, if any, and threads read a moment ago."""

    store: Store
    sessions: Sessions
    attempts: Attempts
    app: App | None
    threads: Kept = field(default_factory=Kept)


def desk(request: Request) -> Desk:
    """The desk of a request's application."""
    found: Desk = request.app.state.desk
    return found
