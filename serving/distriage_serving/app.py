"""The application: routes, errors, and the layers around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

import distriage
from distriage.classifier import Classifier
from distriage_serving.context import RequestContext, request_id_of
from distriage_serving.docs import SECURITY_POLICY, docs_page
from distriage_serving.engine import Engine
from distriage_serving.guard import Guard
from distriage_serving.metrics import Metrics
from distriage_serving.openapi import build_openapi
from distriage_serving.problem import ProblemError, of_status
from distriage_serving.routes import classify, health, model
from distriage_serving.settings import Settings

# FastAPI's own telemetry, where a host application configures it, would carry bodies and messages of exceptions.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}


def create_app(settings: Settings, load: Callable[[], Classifier] | None = None) -> FastAPI:
    """Build the application.

    Args:
        load: Makes the classifier, in a thread; default: from the settings.

    Returns:
        The application; `state.engine` holds the model, loaded once its lifespan has begun.
    """
    metrics = Metrics()
    paths: set[str] = set()
    engine = Engine(settings, metrics, load)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.close()

    app = FastAPI(
        title="Distriage",
        version=distriage.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        middleware=[Middleware(RequestContext, metrics=metrics, paths=paths), Middleware(Guard, settings=settings, metrics=metrics)],
        exception_handlers={ProblemError: _answer_problem, HTTPException: _answer_http_exception},
        telemetry=_NO_TELEMETRY,
    )
    app.state.settings, app.state.metrics, app.state.engine = settings, metrics, engine
    for module in (classify, model, health):
        app.include_router(module.router)
    document = build_openapi(app.routes, settings)
    app.openapi = lambda: document  # type: ignore[method-assign]
    page = docs_page(document)
    paths.update(document["paths"], ("/openapi.json", "/docs"))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(document)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": SECURITY_POLICY})

    return app


async def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.response(request_id_of(request.scope))


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return of_status(error.status_code, error.headers).response(request_id_of(request.scope))
