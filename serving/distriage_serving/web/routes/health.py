"""GET /livez, /readyz and /metrics, for orchestrators and Prometheus."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from distriage_serving.metrics import MEDIA_TYPE
from distriage_serving.store import UnavailableError
from distriage_serving.web.problem import unavailable
from distriage_serving.web.rooms import rooms
from distriage_serving.web.threads import write_soon

DATABASE_RETRY_AFTER_S: Final = 5

router = APIRouter()


class Alive(BaseModel):
    """The process answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """The model is loaded, and the database, where bot or queue write to one, can be written to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["ready"] = "ready"
    model: str


@router.get("/livez", summary="Is the process alive?")
async def livez(request: Request) -> Alive:
    """Restart the process if this fails: a thread of the bot in it has ended, or has come to no end for minutes."""
    if not rooms(request).works():
        raise unavailable("not-ready", "the bot does not work any more", DATABASE_RETRY_AFTER_S)
    return Alive()


@router.get("/readyz", summary="Can it do its work?")
async def readyz(request: Request) -> Ready:
    """Send requests only while this succeeds. It is a 503 before the model is loaded, and while the database of the bot
    or the queue cannot be written to.
    """
    here = rooms(request)
    name = here.engine.bundle.manifest.name
    store = here.store
    if store is not None and (here.settings.has_bot or here.settings.has_queue):  # else it is only read
        try:
            await write_soon(request, store.check)
        except UnavailableError as error:
            detail = "the database's disk is full" if error.disk_is_full else "the database cannot be written to"
            raise unavailable("not-ready", detail, DATABASE_RETRY_AFTER_S) from None
    return Ready(model=name)


@router.get(
    "/metrics",
    summary="Counters for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Text format 0.0.4. Holds no name and no text of a report."""
    counters = rooms(request).metrics
    store = rooms(request).store
    if store is not None:
        try:
            counters.stored(await asyncio.to_thread(store.figures))
        except UnavailableError:
            counters.stored({})
    return Response(counters.text(), media_type=MEDIA_TYPE)
