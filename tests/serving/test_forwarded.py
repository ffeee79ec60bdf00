"""Who sends, as the proxy in front says: nobody chooses it where what documentation and manifest name is trusted."""

from __future__ import annotations

import asyncio
import re

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from distriage_serving.web.arrivals import peer_of

from support.checkout import REPOSITORY

TRUSTED = {
    "docs/operators.md": r"FORWARDED_ALLOW_IPS=([\d./,]+)",
    "deploy/kubernetes.yaml": r'FORWARDED_ALLOW_IPS, value: "([^"]+)"',
}


def peer(trusted: str, proxy: str, forwarded: str) -> str:
    """Who is taken for the sender of what `proxy` hands on with this header."""
    seen = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(peer_of(scope))

    scope = {"type": "http", "client": (proxy, 1), "headers": [(b"x-forwarded-for", forwarded.encode())]}
    asyncio.run(ProxyHeadersMiddleware(app, trusted)(scope, None, None))  # type: ignore[arg-type]
    return seen[0]


@pytest.mark.parametrize("file", TRUSTED)
def test_what_a_sender_writes_into_the_header_before_the_proxy_does_is_not_believed(file: str) -> None:
    found = re.findall(TRUSTED[file], (REPOSITORY / file).read_text(encoding="utf-8"))
    assert len(found) == 1 and "*" not in found[0]
    for proxy in ("172.17.0.1", "172.19.0.1", "192.168.16.1", "10.244.0.7"):
        assert peer(found[0], proxy, "203.0.113.5") == "203.0.113.5"
        assert peer(found[0], proxy, "10.9.8.7, 203.0.113.5") == "203.0.113.5"
    assert peer(found[0], "198.51.100.2", "10.9.8.7") == "198.51.100.2"  # no proxy of ours
