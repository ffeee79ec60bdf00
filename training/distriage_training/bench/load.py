"""HTTP under load: so many clients, each with one request at a time, and then four times what the server can take."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx

from distriage.base.errors import DistriageError
from distriage_training.bench.inputs import summary

CLIENTS = (1, 8, 64)
OVERLOAD = 4  # times the best rate that clients who wait for their answer reach
READY_S = 120
ANSWER_S = 60


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and how to ask it about a report.

    Attributes:
        url: Of the route.
        bodies: JSON of the requests, in turn.
    """

    url: str
    bodies: Sequence[Mapping[str, Any]]


def measure(target: Target, seconds: float) -> dict[str, Any]:
    """Requests/s and latencies at each number of clients, and under overload."""
    return asyncio.run(_measure(target, seconds))


async def _measure(target: Target, seconds: float) -> dict[str, Any]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=512)
    async with httpx.AsyncClient(timeout=ANSWER_S, limits=limits, trust_env=False) as client:
        await _closed(client, target, 2, min(1.0, seconds))
        found: dict[str, Any] = {str(count): await _closed(client, target, count, seconds) for count in CLIENTS}
        rate = OVERLOAD * max(figures["requests_per_s"] for figures in found.values())
        found["overload"] = await _open(client, target, rate, seconds)
    return found


async def _closed(client: httpx.AsyncClient, target: Target, clients: int, seconds: float) -> dict[str, Any]:
    times: list[float] = []
    codes: Counter[int] = Counter()
    bodies = cycle(target.bodies)
    started = time.perf_counter()

    async def ask() -> None:
        while time.perf_counter() - started < seconds:
            await _request(client, target, next(bodies), times, codes)

    await asyncio.gather(*(ask() for _ in range(clients)))
    return _figures(times, codes, time.perf_counter() - started)


async def _open(client: httpx.AsyncClient, target: Target, rate: float, seconds: float) -> dict[str, Any]:
    """Requests at a steady rate, whether answered or not."""
    times: list[float] = []
    codes: Counter[int] = Counter()
    started = time.perf_counter()
    tasks = []
    for number, body in zip(range(round(rate * seconds)), cycle(target.bodies), strict=False):
        await asyncio.sleep(max(0.0, number / rate - (time.perf_counter() - started)))
        tasks.append(asyncio.create_task(_request(client, target, body, times, codes)))
    await asyncio.gather(*tasks)
    return {"offered_per_s": round(rate, 2), **_figures(times, codes, time.perf_counter() - started)}


async def _request(
    client: httpx.AsyncClient, target: Target, body: Mapping[str, Any], times: list[float], codes: Counter[int]
) -> None:
    started = time.perf_counter()
    try:
        code = (await client.post(target.url, json=body)).status_code
    except httpx.HTTPError:
        code = 0  # no answer
    codes[code] += 1
    if code == httpx.codes.OK:
        times.append((time.perf_counter() - started) * 1000)


def _figures(times: Sequence[float], codes: Mapping[int, int], seconds: float) -> dict[str, Any]:
    answered = summary(times) if times else {"p50": 0.0, "p95": 0.0}
    p99 = sorted(times)[min(len(times) - 1, int(0.99 * len(times)))] if times else 0.0
    return {
        "requests_per_s": round(len(times) / seconds, 2),
        **{f"{name}_ms": round(value, 2) for name, value in answered.items()},
        "p99_ms": round(p99, 2),
        "codes": {str(code): count for code, count in sorted(codes.items())},
    }


@contextmanager
def ours(bundle: Path, processes: int, log: Path) -> Iterator[str]:
    """`distriage serve` with a process a core, each with one thread; its address."""
    port = free_port()
    settings = {"DISTRIAGE_PROCESSES": str(processes), "DISTRIAGE_THREADS": "1"}
    command = [sys.executable, "-m", "distriage", "serve", "--port", str(port), "--model", str(bundle)]
    with server(command, f"http://127.0.0.1:{port}", "/readyz", log, settings) as url:
        yield url


@contextmanager
def server(command: Sequence[str], url: str, ready: str, log: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """A server for as long as the context lasts; its address `url`, once it answers at the path `ready`.

    Raises:
        DistriageError: it does not start.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DISTRIAGE_")}
    with log.open("wb") as stream:
        try:
            process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env={**clean, **settings})
        except OSError as error:
            raise DistriageError(f"{command[0]} did not start: {error.strerror}") from None
    try:
        deadline = time.monotonic() + READY_S
        while not _answers(url + ready):
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise DistriageError(f"{command[0]} did not start: {said[-1] if said else 'it said nothing'}")
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        # Plain HTTP: certificates, which take a tenth of a second to read, are not looked at.
        return httpx.get(url, trust_env=False, timeout=2, verify=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
