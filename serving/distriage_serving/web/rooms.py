"""The parts of an application that its routes use: one typed object under `app.state`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI
from starlette.requests import Request

from distriage_serving.metrics import Metrics
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.door import Door
from distriage_serving.web.engine import Engine

WRITERS: Final = 8  # threads of each kind


class Writers:
    """The threads of one application that write, for people and for machines."""

    def __init__(self) -> None:
        self.people = CapacityLimiter(WRITERS)
        self.machines = CapacityLimiter(WRITERS)


@dataclass(frozen=True, slots=True)
class Rooms:
    """The parts of one application.

    Attributes:
        works: Whether the bot's threads in this process do; True without any.
    """

    settings: Settings
    metrics: Metrics
    engine: Engine
    store: Store | None
    door: Door
    works: Callable[[], bool]
    writers: Writers = field(default_factory=Writers)


def rooms_of(app: FastAPI) -> Rooms:
    """The parts of an application that `create_app` built."""
    found: Rooms = app.state.rooms
    return found


def rooms(request: Request) -> Rooms:
    """The parts of a request's application."""
    return rooms_of(request.app)
