"""Bodies on their way in, in one loop: which of two events comes first is the test's choice."""

from __future__ import annotations

import asyncio
import hashlib
import hmac

import pytest
from starlette.types import Message, Scope

from distriage_serving.web.arrivals import FREE_BYTES, Arrivals, Body
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
