"""Bodies on their way in, in one loop: which of two events comes first is the test's choice."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from unittest.mock import Mock

import pytest
from starlette.types import Message, Scope
from uvicorn.config import Config
from uvicorn.server import ServerState

from distriage_serving.metrics import Metrics
from distriage_serving.web.arrivals import FREE_BYTES, Arrivals, Body
from distriage_serving.web.connections import Connection, Waiting
from distriage_serving.web.door import Door
from distriage_serving.web.problem import ProblemError
from distriage_serving.web.signature import Signature


def scope(peer: str) -> Scope:
    return {"type": "http", "client": (peer, 1), "headers": [(b"transfer-encoding", b"chunked")]}


def chunk(content: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


def test_a_body_that_is_pushed_aside_as_its_last_chunk_comes_is_not_handed_on_in_part() -> None:
    async def run() -> None:
        first, last, others = b"a" * (FREE_BYTES + 10), b"b", b"c" * (FREE_BYTES + 5)
        signed = hmac.new(b"key", first + last, hashlib.sha256).hexdigest()
        arrivals = Arrivals(places=8, max_bytes=len(first) + len(others) + 5, timeout_s=10)
        theirs: asyncio.Queue[Message] = asyncio.Queue()
        other = Body(arrivals, scope("192.0.2.2"), "webhook", 1 << 20, None)
        aside = Body(arrivals, scope("192.0.2.1"), "webhook", 1 << 20, Signature(b"key", f"sha256={signed}"))
        ours: asyncio.Queue[Message] = asyncio.Queue()
        with aside, other:
            reading = [asyncio.create_task(body.read(queue.get)) for body, queue in ((aside, ours), (other, theirs))]
            ours.put_nowait(chunk(first))
            theirs.put_nowait(chunk(others))
            await asyncio.sleep(0.01)
            theirs.put_nowait(chunk(b"c" * 6))  # no room: who holds more gives way
            ours.put_nowait(chunk(last, more=False))
            with pytest.raises(ProblemError) as refused:
                await reading[0]
            assert refused.value.status == 408
            theirs.put_nowait(chunk(b"", more=False))
            assert await reading[1] == others + b"c" * 6

    asyncio.run(run())


@pytest.mark.parametrize(("kind", "status"), [("api", 503), ("webhook", 408), ("people", 408)])
def test_a_classification_that_is_pushed_aside_is_told_when_to_come_back(kind: str, status: int) -> None:
    async def run() -> ProblemError:
        arrivals = Arrivals(places=1, max_bytes=1 << 20, timeout_s=10)
        silent: asyncio.Queue[Message] = asyncio.Queue()
        aside, newcomer = (Body(arrivals, scope("192.0.2.1"), kind, 1 << 20, None) for _ in range(2))
        with aside, newcomer:
            reading = asyncio.create_task(aside.read(silent.get))
            await asyncio.sleep(0.01)
            newcomers: asyncio.Queue[Message] = asyncio.Queue()
            newcomers.put_nowait(chunk(b"x", more=False))
            assert await newcomer.read(newcomers.get) == b"x"
            with pytest.raises(ProblemError) as refused:
                await reading
            return refused.value

    problem = asyncio.run(run())
    assert problem.status == status and problem.headers.get("Retry-After") == ("1" if status == 503 else None)
    assert "within 10 s" not in problem.detail  # which would send the reader to look for a slow network


def test_a_body_that_is_late_says_so() -> None:
    async def run() -> None:
        silent: asyncio.Queue[Message] = asyncio.Queue()
        body = Body(Arrivals(8, 1 << 20, timeout_s=0.01), scope("192.0.2.1"), "api", 1 << 20, None)
        with body, pytest.raises(ProblemError, match=r"did not arrive within 0\.01 s") as refused:
            await body.read(silent.get)
        assert refused.value.status == 408

    asyncio.run(run())


def test_the_addresses_of_one_ipv6_customer_are_one_peer() -> None:
    async def run() -> str:
        waiting, config = Waiting(limit=8, timeout_s=10), Config(lambda *_: None)
        config.load()
        for address in ("203.0.113.5", "203.0.113.5", *(f"2001:db8::{number:x}" for number in range(1, 7))):
            transport = Mock(asyncio.Transport)
            transport.get_extra_info.side_effect = {"peername": (address, 1), "sockname": ("::", 80)}.get
            transport.is_closing.return_value = False
            Connection(waiting, Door(1, Metrics()), config, ServerState(), {}).connection_made(transport)
        longest = waiting.longest()
        assert longest is not None
        return longest.peer

    assert asyncio.run(run()) == "2001:db8::/64"
