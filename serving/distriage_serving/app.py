"""The application: routes, errors, and the layers around them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from markupsafe import escape
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

import distriage
from distriage.classifier import Classifier
from distriage_serving.bot.service import Workers
from distriage_serving.judging.indexes import PastIndexes, show_indexes
from distriage_serving.metrics import Metrics
from distriage_serving.queue.pages import error_page, go_to, is_browser
from distriage_serving.queue.routes import add_queue
from distriage_serving.settings import Settings
from distriage_serving.store import Store
from distriage_serving.web.context import RequestContext, request_id_of
from distriage_serving.web.docs import SECURITY_POLICY, SERVER, docs_page
from distriage_serving.web.door import Door
from distriage_serving.web.engine import Engine
from distriage_serving.web.guard import PROTECTED, WEBHOOK, Guard
from distriage_serving.web.openapi import build_openapi
from distriage_serving.web.problem import ProblemError, of_status
from distriage_serving.web.rooms import Rooms
from distriage_serving.web.routes import classify, health, model
from distriage_serving.webhook import webhook_router

# FastAPI's own telemetry, if a host application configures it, would carry bodies and messages of exceptions.
_NO_TELEMETRY: Any = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(
    settings: Settings,
    load: Callable[[], Classifier] | None = None,
    store: Store | None = None,
    on_load_error: Callable[[], None] = lambda: None,
) -> FastAPI:
    """Build the application.

    Args:
        load: Makes the classifier, in a process; can be pickled; default: from the settings.
        store: Needed by bot, queue and past issues in a database; the caller closes it.
        on_load_error: Called in the event loop if the model cannot be loaded; the engine's `load_error` says why.

    Returns:
        The application; the engine of its `Rooms` loads the model once its lifespan has begun.

    Raises:
        ConfigError: the bot's private key cannot be read.
    """
    metrics = Metrics()
    door = Door(settings.max_requests, metrics)
    paths: set[str] = set()
    past = PastIndexes(settings.past, store)
    show_indexes(metrics, settings, past)
    engine = Engine(settings, metrics, load, on_load_error, past)
    workers = Workers(settings, store, metrics) if settings.has_bot and store is not None else None

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
        middleware=[
            Middleware(RequestContext, metrics=metrics, paths=paths),
            Middleware(Guard, settings=settings, metrics=metrics, door=door),
        ],
        exception_handlers={ProblemError: _answer_problem, HTTPException: _answer_http_exception},
        telemetry=_NO_TELEMETRY,
    )
    works = workers.are_alive if workers is not None else lambda: True
    app.state.rooms = Rooms(settings, metrics, engine, store, door, works)
    for module in (classify, model, health):
        app.include_router(module.router)
        paths.update(route.path for route in module.router.routes if isinstance(route, APIRoute))
    if store is not None and settings.github_webhook_secret is not None:
        app.include_router(webhook_router(store))
    if store is not None and settings.has_queue:
        add_queue(app, settings, store)
    else:
        for path in ("/queue", "/queue/{rest:path}"):
            app.add_api_route(path, _no_queue, include_in_schema=False)
    # Made when it is first asked for: it takes a tenth of a second, and most servers are never asked.
    document = cache(partial(build_openapi, app.routes, settings))
    page = cache(lambda: docs_page(document()))
    app.openapi = document  # type: ignore[method-assign]
    paths.update(("/openapi.json", "/docs", WEBHOOK))

    if store is not None and settings.has_queue:

        @app.get("/", include_in_schema=False)
        async def home(request: Request) -> Response:
            if is_browser(request):
                return go_to("/queue")
            raise HTTPException(404)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(await asyncio.to_thread(document))

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        here = str(escape(str(request.base_url).rstrip("/")))
        text = (await asyncio.to_thread(page)).replace(SERVER, here)
        return HTMLResponse(text, headers={"Content-Security-Policy": SECURITY_POLICY})

    return app


async def _no_queue() -> Response:
    raise ProblemError(
        404,
        "not-found",
        "nobody can log in, so there is no triage queue; set DISTRIAGE_ADMIN_TOKEN, or for a login with GitHub "
        "DISTRIAGE_GITHUB_CLIENT_ID, DISTRIAGE_GITHUB_CLIENT_SECRET and DISTRIAGE_PUBLIC_URL",
    )


async def _start(workers: Workers, engine: Engine, number: int) -> None:
    judge = await engine.judge()
    if judge is not None:
        workers.start(judge, number)


async def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return _shown(request, error)


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _shown(request, of_status(error.status_code, error.headers))


def _shown(request: Request, problem: ProblemError) -> Response:
    """A page for people if there is a queue, else the one form of errors."""
    request_id = request_id_of(request.scope)
    pages = hasattr(request.app.state, "desk") and not request.url.path.startswith(PROTECTED)
    return error_page(problem, request_id) if pages and is_browser(request) else problem.response(request_id)
