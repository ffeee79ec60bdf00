"""Puts the queue into the application."""

from __future__ import annotations

from fastapi import FastAPI

from distriage_serving.queue import actions, chart_routes, login, routes
from distriage_serving.queue.sessions import Sessions
from distriage_serving.settings import Settings


def add_queue(app: FastAPI, settings: Settings) -> None:
    """Add the pages; `app.state` must hold settings, engine and store."""
    app.state.sessions = Sessions(settings)
    for module in (login, routes, chart_routes, actions):
        app.include_router(module.router)
