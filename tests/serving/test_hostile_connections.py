# ruff: noqa: F401, F811  # fixtures
"""What strangers can hold open: heads half sent, bodies that trickle, bodies by the gigabyte.

Against real processes.
"""

from __future__ import annotations

import json
import logging
import resource
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import h11
import pytest

from distriage.classifier import Classifier
from distriage_serving.logs import LOGGER, OthersAtMost
from distriage_serving.store import Store
from distriage_serving.web.problem import Problem

from support import local_http
from support.app_key import APP_ID, app_key_pem
from support.databases import new_sqlite
from support.http_api import log_lines
from support.queue_server import TOKEN
from support.server import Running, running, served
from support.waiting import WAIT_S, until
from support.webhook import BOT, SECRET, sign

pytestmark = pytest.mark.slow
SENDERS, SIZE = 128, 1 << 20  # as many as are let in at once; together 128 MiB, where less than 64 may be held
PATIENCE_S = 9.5  # GitHub's is 10. Who holds something open here does it for longer: a minute


@pytest.fixture(scope="module")
def process(
    keyword_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[subprocess.Popen[bytes], int, Path]]:
    """The server with bot and queue, allowed 1,024 files."""
    folder = tmp_path_factory.mktemp("process")
    settings = {
        "DISTRIAGE_DATABASE": new_sqlite(folder / "store.db"),
        "DISTRIAGE_GITHUB_APP_ID": APP_ID,
        "DISTRIAGE_GITHUB_PRIVATE_KEY": app_key_pem(),
        "DISTRIAGE_GITHUB_WEBHOOK_SECRET": SECRET,
        "DISTRIAGE_ADMIN_TOKEN": TOKEN,
        "DISTRIAGE_WORKERS": "0",
        "DISTRIAGE_HEAD_TIMEOUT_S": "60",
    }
    with served(keyword_bundle, folder / "log", **settings) as (started, port):
        resource.prlimit(started.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        yield started, port, folder / "log"


def deliver(port: int) -> None:
    """Send a signed delivery, which is accepted before GitHub gives up."""
    body = json.dumps({"zen": str(uuid.uuid4())}).encode()
    headers = {
        "X-GitHub-Event": "ping",
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": sign(body),
        "Content-Type": "application/json",
    }
    url = f"http://127.0.0.1:{port}/github/webhook"
    answer = local_http.post(url, content=body, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 202, answer.text


def get(port: int, path: str) -> int:
    """Status of the answer to a stranger's request."""
    return local_http.get(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_S).status_code


def memory(process: subprocess.Popen[bytes], field: str) -> int:
    """VmRSS (now) or VmHWM (at most, since the last reset) in bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


def send_large(port: int, extra: str, begun: threading.Barrier) -> None:
    """`SIZE` but for the last byte, or as much of it as is taken."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(
            f"POST /github/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: {SIZE}\r\n{extra}\r\n".encode()
        )
        begun.wait(60)
        try:
            connection.sendall(bytes(SIZE - 1))
            connection.recv(1000)
        except OSError:  # refused and closed
            pass


@pytest.mark.parametrize("extra", ["", f"X-Hub-Signature-256: sha256={'0' * 64}\r\n"], ids=["unsigned", "forged"])
def test_a_flood_of_large_deliveries_costs_little_memory(
    process: tuple[subprocess.Popen[bytes], int, Path], extra: str
) -> None:
    server, port, _ = process
    deliver(port)
    Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # the peak begins anew
    before = memory(server, "VmRSS")
    begun = threading.Barrier(SENDERS)
    senders = [threading.Thread(target=send_large, args=(port, extra, begun)) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(120)
    risen = memory(server, "VmHWM") - before
    assert risen < 64 << 20, f"{risen:,}"
    deliver(port)


@contextmanager
def half_sent(port: int, number: int, text: bytes) -> Iterator[list[socket.socket]]:
    """Connections that sent a part of a request, and stay."""
    with ExitStack() as stack:
        connections = []
        for _ in range(number):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            with suppress(OSError):  # refused and closed meanwhile
                connection.sendall(text)
            connections.append(connection)
        yield connections


def test_half_sent_heads_shut_nobody_out_and_write_no_log(process: tuple[subprocess.Popen[bytes], int, Path]) -> None:
    _, port, log = process
    size = log.stat().st_size
    with half_sent(port, 1100, b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: "):
        deliver(port)
        assert get(port, "/livez") == get(port, "/login") == 200
    assert log.stat().st_size - size < 10_000


# ---------------------------------------------------------------- in this process


@pytest.fixture(scope="module")
def server(keyword_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options: dict[str, Any] = {"max_requests": 4, "head_timeout_s": 60, "body_timeout_s": 60, "max_connections": 40}
    with (
        Store.open(new_sqlite(tmp_path_factory.mktemp("store") / "store.db")) as store,
        running(
            partial(Classifier, keyword_bundle, threads=1),
            store=store,
            workers=0,
            admin_token=TOKEN,
            max_held_bytes=26 << 20,
            **options,
            **BOT,
        ) as started,
    ):
        yield started


def read_all(connection: socket.socket) -> bytes:
    """All until the end, which may be a reset where the other side had not read everything."""
    answer = b""
    connection.settimeout(WAIT_S)
    with suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


def problem_of(answer: bytes) -> Problem:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head and b"connection: close" in head.lower()
    return Problem.model_validate_json(body)


@pytest.mark.parametrize("first", [b"", b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["new", "kept alive"])
def test_a_head_that_does_not_arrive_in_time_is_given_up(
    server: Running, monkeypatch: pytest.MonkeyPatch, log_lines: list[str], first: bytes
) -> None:
    monkeypatch.setattr(server.waiting, "timeout_s", 0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as connection:
        connection.sendall(first)
        answer = connection.recv(65536) if first else b""
        with suppress(OSError):  # on a busy machine it may be over by now
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        answer += read_all(connection)
    *before, last = answer.split(b"HTTP/1.1 ")[1:]
    assert [part[:3] for part in before] == ([b"200"] if first else [])
    assert last.startswith(b"408 ") and problem_of(last).code == "head-timeout"
    until(lambda: any(f'"request_id": "{problem_of(last).request_id}"' in line for line in log_lines))


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",  # no Host
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000,
        b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ids=["nonsense", "no host", "two lengths", "http 2", "huge", "length and chunks"],
)
def test_what_is_not_http_is_refused_in_the_one_form_of_errors(
    server: Running, request_: bytes, log_lines: list[str]
) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(request_)
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ") and problem_of(answer).code == "bad-request"
    until(lambda: any(f'"request_id": "{problem_of(answer).request_id}"' in line for line in log_lines))


def test_a_client_that_offers_http_2_gets_its_answer_without_a_warning(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"}
    assert server.client.get("/livez", headers=offer).status_code == 200
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("path", ["/login", "/github/webhook", "/v1/classify", "/nothing"])
def test_a_body_in_tiny_chunks_is_refused_before_most_of_it_is_parsed(
    server: Running, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    events = []
    parse = h11.Connection.next_event
    monkeypatch.setattr(h11.Connection, "next_event", lambda self: events.append(parse(self)) or events[-1])
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with half_sent(server.port, 1, head + b"1\r\na\r\n" * 20_000) as [connection]:
        answer = read_all(connection)
    assert len(events) < 400
    if answer:  # else it was lost, since the body was still being sent
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 ")) and problem_of(answer).request_id == "mine"
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("size", [16, 64], ids=["few", "large enough"])
def test_a_body_in_chunks_of_a_sensible_size_is_read(server: Running, size: int) -> None:
    report = json.dumps({"title": "It hangs", "body": "x" * (60_000 if size == 64 else 3_000)}).encode()
    chunks = (report[start : start + size] for start in range(0, len(report), size))
    headers = {"Content-Type": "application/json"}
    assert server.client.post("/v1/classify", content=chunks, headers=headers).status_code == 200


def test_slow_bodies_shut_out_neither_webhook_nor_queue_nor_login(server: Running) -> None:
    slow = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
    with (
        half_sent(server.port, 8, slow % b"/login") as logins,
        half_sent(server.port, 8, slow % b"/v1/classify"),
        half_sent(server.port, 8, slow % b"/nothing"),
    ):
        deliver(server.port)
        assert server.client.get("/queue", follow_redirects=True).status_code == 200
        token = server.client.get("/login").text.partition('name="csrf" value="')[2].partition('"')[0]
        form = {"csrf": token, "token": TOKEN}
        assert server.client.post("/login", data=form).headers["location"] == "/queue"
        assert server.client.post("/v1/classify", json={"title": "It hangs"}).status_code == 200
        assert b"408" in read_all(logins[0])[:20]  # the oldest gave its place


def test_whoever_holds_most_bytes_gives_way(server: Running) -> None:
    head = f"POST /github/webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256={'0' * 64}\r\n"
    sent = f"{head}Content-Length: {25 << 20}\r\n\r\n".encode() + bytes(24 << 20)
    with half_sent(server.port, 1, sent) as [greedy]:
        until(lambda: server.client.get("/livez").status_code == 200)
        with half_sent(server.port, 1, sent) as [second]:
            until(lambda: _any_answer(greedy, second))
        deliver(server.port)
    deliver(server.port)


def _any_answer(*connections: socket.socket) -> bool:
    for connection in connections:
        connection.settimeout(0.1)
        try:
            if connection.recv(65536).startswith((b"HTTP/1.1 503 ", b"HTTP/1.1 408 ")):
                return True
        except TimeoutError:
            continue
        except ConnectionResetError:  # its answer was lost, since it was still sending
            return True
    return False


def test_newcomers_get_the_place_of_idle_connections(server: Running) -> None:
    with half_sent(server.port, 60, b"") as idle:
        assert get(server.port, "/livez") == 200
        idle[0].settimeout(PATIENCE_S)
        assert idle[0].recv(10) == b""  # without a word


@pytest.mark.slow
def test_other_libraries_lines_are_counted_by_the_minute() -> None:
    now = 0.0
    counted = OthersAtMost(2, lambda: now)

    def line(name: str, number: int) -> logging.LogRecord:
        return logging.LogRecord(name, logging.ERROR, "selector_events.py", number, "accept failed", (), None)

    assert [counted.filter(line("asyncio", 1)) for _ in range(4)] == [True, True, False, False]
    assert counted.filter(line("asyncio", 2))
    assert all(counted.filter(line(LOGGER.name, 1)) for _ in range(4))
    now = 61.0
    assert counted.filter(line("asyncio", 1))
