"""The application: routes, errors, and the layers around them."""

from __future__ import annotations

import asyncio
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
from distriage_serving.bot.service import Workers
from distriage_serving.bot.webhook import webhook_router
from distriage_serving.context import RequestContext, request_id_of
from distriage_serving.docs import SECURITY_POLICY, docs_page
from distriage_serving.engine import Engine
from distriage_serving.guard import WEBHOOK, Guard
from distriage_serving.metrics import Metrics
from distriage_serving.openapi import build_openapi
from distriage_serving.problem import ProblemError, of_status
from distriage_serving.queue.application import add_queue
from distriage_serving.routes import classify, health, model
from distriage_serving.settings import Settings
from distriage_serving.store import Store

# FastAPI's own telemetry, where a host application configures it, would carry bodies and messages of exceptions.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}


def create_app(settings: Settings, load: Callable[[], Classifier] | None = None, store: Store | None = None) -> FastAPI:
    """Build the application.

    Args:
        load: Makes the classifier, in a thread; default: from the settings.
        store: Needed by the bot and the queue; the caller closes it.

    Returns:
        The application; `state.engine` holds the model, loaded once its lifespan has begun.

    Raises:
        ConfigError: the bot's private key cannot be read.
    """
    metrics = Metrics()
    paths: set[str] = set()
    engine = Engine(settings, metrics, load)
    workers = Workers(settings, store) if settings.has_bot and store is not None else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        working = asyncio.create_task(_start(workers, engine, settings.workers)) if workers is not None else None
        yield
        if workers is not None and working is not None:
            working.cancel()
            await asyncio.to_thread(workers.close)
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
    app.state.settings, app.state.metrics, app.state.engine, app.state.store = settings, metrics, engine, store
    for module in (classify, model, health):
        app.include_router(module.router)
    if store is not None and settings.github_webhook_secret is not None:
        app.include_router(webhook_router(store, settings.github_webhook_secret))
    if store is not None and settings.has_queue:
        add_queue(app, settings)
    document = build_openapi(app.routes, settings)
    app.openapi = lambda: document  # type: ignore[method-assign]
    page = docs_page(document)
    paths.update(document["paths"], ("/openapi.json", "/docs", WEBHOOK))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(document)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": SECURITY_POLICY})

    return app


async def _start(workers: Workers, engine: Engine, number: int) -> None:
    classifier = await engine.loaded()
    if classifier is not None:
        workers.start(classifier, number)


async def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.response(request_id_of(request.scope))


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return of_status(error.status_code, error.headers).response(request_id_of(request.scope))
