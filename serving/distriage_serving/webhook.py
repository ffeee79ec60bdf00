"""POST /github/webhook: keep the delivery, answer. Nothing else happens inside the request."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from distriage_serving.bot.deliveries import installation_of, number_of, repository_of
from distriage_serving.store import Delivery, Store, UnavailableError
from distriage_serving.web.guard import WEBHOOK
from distriage_serving.web.problem import ProblemError, unavailable
from distriage_serving.web.threads import write_soon

_EVENT: Final = re.compile(r"[a-z0-9_]{1,64}")
# Taking a repository off the App and putting it back sends the same body twice. A replay's claim is checked with
# GitHub anyway.
_TIMELESS: Final = frozenset({"installation_repositories"})
_ID: Final = re.compile(r"[A-Za-z0-9-]{8,64}")


def webhook_router(store: Store) -> APIRouter:
    """The route. The guard has checked the signature, while the body came in."""
    router = APIRouter()

    @router.post(WEBHOOK, include_in_schema=False)
    async def webhook(request: Request) -> Response:
        """202: kept. 200: it was kept before. 409: its body came before under another id."""
        assert request.scope["distriage.signed"]  # the guard let it through
        body = await request.body()
        try:
            return await write_soon(request, _keep, store, request.headers, body)
        except UnavailableError:
            raise unavailable("not-ready", "the delivery cannot be kept now", 10) from None

    return router


def _keep(store: Store, headers: Mapping[str, str], body: bytes) -> Response:
    event, delivery_id = headers.get("x-github-event", ""), headers.get("x-github-delivery", "")
    for name, value, form, expected in (
        ("X-GitHub-Event", event, _EVENT, "1 to 64 of a-z, 0-9 and _"),
        ("X-GitHub-Delivery", delivery_id, _ID, "8 to 64 letters, digits and hyphens"),
    ):
        if not form.fullmatch(value):
            raise ProblemError(400, "bad-request", f"{name}: {value[:80]!r}; expected {expected}")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(
            415,
            "unsupported-media-type",
            "expected a webhook with content type application/json",
            headers={"Accept": "application/json"},
        )
    text, payload = _read(body)
    action = payload.get("action")
    delivery = Delivery(
        id=delivery_id,
        event=event,
        payload=text,
        body_sha256=hashlib.sha256(body).hexdigest() if event not in _TIMELESS else None,
        received_at=store.clock(),
        action=action if isinstance(action, str) else "",
        repository=repository_of(payload),
        issue=number_of(payload),
        installation_id=installation_of(payload),
    )
    added = store.add_delivery(delivery)
    if not added and not store.knows_delivery(delivery_id):
        raise ProblemError(409, "conflict", "this body came before, under another X-GitHub-Delivery")
    return JSONResponse({"status": "kept" if added else "known"}, 202 if added else 200)


def _read(body: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        text = body.decode()
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict):
        raise ProblemError(400, "bad-request", "the body is not a JSON object")
    return text, payload
