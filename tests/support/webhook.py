"""Deliveries as GitHub signs and sends them."""

from __future__ import annotations

import hashlib
import hmac
import uuid

import httpx

from support.app_key import APP_ID, app_key_pem
from support.server import Running

SECRET = "a secret that only GitHub knows"
BOT = {"github_app_id": APP_ID, "github_private_key": app_key_pem(), "github_webhook_secret": SECRET}


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def post(server: Running, body: bytes, **headers: str) -> httpx.Response:
    given = {
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": sign(body),
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return server.client.post(
        "/github/webhook",
        content=body,
        headers={name: value.encode("latin-1") for name, value in given.items() if value},
    )
