"""What the double of GitHub answers to an App, beside `github_routes`."""

# ruff: noqa: ARG001  # the handlers of one table have one signature

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from support import faults, github_shapes
from support.faults import Fault
from support.github_http import Request
from support.github_routes import found, page, route

if TYPE_CHECKING:
    from support.github import GitHub

TOKEN_LIFETIME_S = 3600


@route("GET /app")
def _app(github: GitHub, request: Request) -> Fault:
    from support.app_key import APP_ID  # likewise

    return found(github_shapes.app(int(APP_ID), "distriage"))


@route("GET /installation/repositories")
def _installed(github: GitHub, request: Request) -> Fault:
    names = sorted({*github.repositories, *(reference.partition("#")[0] for reference in github.issues)})
    some = page(github, request, [{"full_name": name} for name in names])
    return found({"total_count": len(names), "repositories": json.loads(some.body)}, **some.headers)


@route("POST /app/installations/{number}/access_tokens")
def _access_token(github: GitHub, request: Request, number: str) -> Fault:
    if int(number) not in github.installations:
        return faults.status(404)
    token, ends = f"ghs_{len(github.tokens):036}", time.time() + TOKEN_LIFETIME_S
    github.tokens[token] = ends
    expires_at = datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return found({"token": token, "expires_at": expires_at, "permissions": {"issues": "write"}}, 201)


@route("GET /app/hook/deliveries")
def _hook_deliveries(github: GitHub, request: Request) -> Fault:
    return page(github, request, github.hook_deliveries, "cursor", 0)


@route("POST /app/hook/deliveries/{number}/attempts")
def _redeliver(github: GitHub, request: Request, number: str) -> Fault:
    github.redelivered.append(int(number))
    return Fault(202, "{}")
