"""The queue's own parts, beside those of the application: one typed object under `app.state`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request

from distriage.base.references import IssueReference
from distriage.github.kept import Kept
from distriage_serving.github.app_auth import App
from distriage_serving.github.thread.reading import Thread
from distriage_serving.queue.login.attempts import Attempts
from distriage_serving.queue.login.sessions import Sessions
from distriage_serving.store import Store

KEEP_S: Final = 60.0  # opening a thread again asks GitHub nothing
MAX_KEPT: Final = 200


@dataclass(frozen=True, slots=True)
class Desk:
    """Store, sessions, failed logins, the GitHub App, if any, and threads read a moment ago."""

    store: Store
    sessions: Sessions
    attempts: Attempts
    app: App | None
    threads: Kept[IssueReference, Thread] = field(default_factory=lambda: Kept(MAX_KEPT, KEEP_S))


def desk(request: Request) -> Desk:
    """The desk of a request's application."""
    found: Desk = request.app.state.desk
    return found
