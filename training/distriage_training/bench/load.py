"""HTTP under load: clients that wait for each answer, and then four times the load that the server can carry.

The clients send bytes that were made before, over connections that they keep: an HTTP library would take as much of the
processors as the server that it measures.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx

from distriage.base.errors import DistriageError
from distriage_training.bench.inputs import summary

CLIENTS = (1, 8, 64)
OVERLOAD = 4  # times the best rate that clients who wait for their answer reach
READY_S = 120
ANSWER_S = 60
LONGEST_ANSWER = 64 << 20  # bytes
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.I)


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
    await _closed(target, 2, min(1.0, seconds))
    found: dict[str, Any] = {str(count): await _closed(target, count, seconds) for count in CLIENTS}
    best = max(figures["requests_per_s"] for figures in found.values())
    found["overload"] = await _open(target, OVERLOAD * best, seconds)
    found["overload"]["share_of_best"] = round(found["overload"]["requests_per_s"] / best, 3) if best else 0.0
    return found


async def _closed(target: Target, clients: int, seconds: float) -> dict[str, Any]:
    load = _Load(target)
    started = time.perf_counter()

    async def ask() -> None:
        while time.perf_counter() - started < seconds:
            await load.ask()

    await asyncio.gather(*(ask() for _ in range(clients)))
    return load.figures(time.perf_counter() - started)


async def _open(target: Target, rate: float, seconds: float) -> dict[str, Any]:
    """Requests at a steady rate, whether answered or not."""
    load = _Load(target)
    started = time.perf_counter()
    tasks = []
    for number in range(round(rate * seconds)):
        await asyncio.sleep(max(0.0, number / rate - (time.perf_counter() - started)))
        tasks.append(asyncio.create_task(load.ask()))
    await asyncio.gather(*tasks)
    return {"offered_per_s": round(rate, 2), **load.figures(time.perf_counter() - started)}


class _Load:
    """Requests to one target over kept-alive connections, and their outcomes."""

    def __init__(self, target: Target) -> None:
        address = urlsplit(target.url)
        self._place = (address.hostname or "", address.port or 80)
        self._requests = cycle(_as_bytes(address.netloc, address.path, body) for body in target.bodies)
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._times: dict[int, list[float]] = {}  # status -> milliseconds of each; 0: no answer

    async def ask(self) -> None:
        """Send one request and read the answer."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(ANSWER_S):
                status = await self._send(next(self._requests))
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            status = 0
        self._times.setdefault(status, []).append((time.perf_counter() - started) * 1000)

    async def _send(self, request: bytes) -> int:
        reader, writer = (
            self._idle.pop() if self._idle else await asyncio.open_connection(*self._place, limit=LONGEST_ANSWER)
        )
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            if length is None:
                raise ValueError("an answer without Content-Length")
            await reader.readexactly(int(length[1]))
        except BaseException:
            writer.close()
            raise
        if head.startswith(b"HTTP/1.0") or b"\r\nconnection: close" in head.lower():
            writer.close()
        else:
            self._idle.append((reader, writer))
        return int(head.split(b" ", 2)[1])

    def figures(self, seconds: float) -> dict[str, Any]:
        """Close the connections; rates and latencies, those of refusals apart."""
        for _, writer in self._idle:
            writer.close()
        answered = self._times.get(200, [])
        refused = [took for status, times in self._times.items() if status in {429, 503} for took in times]
        return {
            "requests_per_s": round(len(answered) / seconds, 2),
            **{f"{name}_ms": round(value, 2) for name, value in _percentiles(answered).items()},
            "refused_p50_ms": round(_percentiles(refused)["p50"], 2),
            "codes": {str(code): len(times) for code, times in sorted(self._times.items())},
        }


def _as_bytes(host: str, path: str, body: Mapping[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    if not times:
        return {"p50": 0.0, "p95": 0.0, "p99": 0.0}
    return {**summary(times), "p99": sorted(times)[min(len(times) - 1, int(0.99 * len(times)))]}


@contextmanager
def ours(bundle: Path, processes: int, log: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """`distriage serve` with a process a core, each with one thread; its address."""
    port = free_port()
    settings = {"DISTRIAGE_PROCESSES": str(processes), "DISTRIAGE_THREADS": "1", **settings}
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
    """A free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
