"""GET /livez, /readyz and /metrics, for orchestrators and Prometheus."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from distriage_serving.engine import Engine
from distriage_serving.metrics import MEDIA_TYPE, Metrics

router = APIRouter()


class Alive(BaseModel):
    """The process answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """The model is loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["ready"] = "ready"
    model: str


@router.get("/livez", summary="Is the process alive?")
async def livez() -> Alive:
    """Restart the process if this fails."""
    return Alive()


@router.get("/readyz", summary="Is the model loaded?")
async def readyz(request: Request) -> Ready:
    """Send requests only while this succeeds; before the model is loaded it is a 503."""
    engine: Engine = request.app.state.engine
    return Ready(model=engine.classifier.bundle.manifest.name)


@router.get(
    "/metrics", summary="Counters for Prometheus", response_class=Response, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
)
async def metrics(request: Request) -> Response:
    """Text format 0.0.4. Holds no name and no text of a report."""
    counters: Metrics = request.app.state.metrics
    return Response(counters.text(), media_type=MEDIA_TYPE)
