"""`distriage serve` as a process of its own, with a model that the real pipeline built."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from distriage.answer.verdict import Verdict
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.store import Store

from support import local_http
from support.server import served
from support.waiting import WAIT_S, until


def test_sigterm_finishes_the_request_under_way_and_no_log_line_holds_its_text(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    body = json.dumps({"title": "zebra hangs", "body": "NCCL timeout", "id": "zebra#1"}).encode()
    log = tmp_path / "log"
    unused = {"DATABASE": "mysql://nobody/needs-it", "SECOND_READER": "http://h/v1", "SECOND_READER_MODEL": "m"}
    with (
        served(tiny_bundle, log, **{f"DISTRIAGE_{name}": value for name, value in unused.items()}) as (process, port),
        socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as connection,
    ):
        head = (
            f"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
            f"{len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body[:10])
        until(
            lambda: (
                b"distriage_http_requests_in_flight 2.0" in local_http.get(f"http://127.0.0.1:{port}/metrics").content
            )
        )
        process.send_signal(signal.SIGTERM)
        until(lambda: "Shutting down" in log.read_text())
        connection.sendall(body[10:])
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
        assert process.wait(WAIT_S) == -signal.SIGTERM
    assert answer.startswith(b"HTTP/1.1 200 ")
    verdict = Verdict.model_validate_json(answer.partition(b"\r\n\r\n")[2])
    assert (verdict.id, verdict.model) == ("zebra#1", "tiny")
    # Alone in its batch, even an int8 model says just what it says on the command line.
    scores = Classifier(tiny_bundle).predict(IssueReport("zebra hangs", "NCCL timeout")).scores
    assert {axis: said.probability for axis, said in verdict.axes.items()} == {
        axis: round(score.ranked()[0][1], 4) for axis, score in scores.items()
    }
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    said = {"listening", "ready", "request", "database_not_used", "second_reader_not_used"}
    assert said <= {line["event"] for line in lines}
    assert "zebra" not in log.read_text()


def test_a_server_for_callers_with_a_key_has_the_past_issues_in_the_database(
    keyword_bundle: Path, tmp_path: Path
) -> None:
    database, key = f"sqlite:///{tmp_path}/store.db", "k" * 16
    with Store.open(database) as store:
        store.begin_past("owner/repo", "toy")
    environment = {"DISTRIAGE_DATABASE": database, "DISTRIAGE_API_KEYS": key}
    with served(keyword_bundle, tmp_path / "log", **environment) as (_, port):
        asked = {"title": "It hangs", "duplicates": "owner/repo"}
        head = {"Authorization": f"Bearer {key}"}
        answer = local_http.post(f"http://127.0.0.1:{port}/v1/classify", json=asked, headers=head)
    assert answer.json()["duplicates"] == []


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_all_addresses_are_those_of_both_kinds(keyword_bundle: Path, tmp_path: Path) -> None:
    with served(keyword_bundle, tmp_path / "log", DISTRIAGE_HOST="::") as (_, port):
        for host in ("127.0.0.1", "[::1]"):
            assert local_http.get(f"http://{host}:{port}/livez").status_code == 200


def test_a_table_of_releases_that_is_none_ends_in_one_line_before_the_server_listens(
    keyword_bundle: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "distriage", "serve", "--port", "0", "--model", str(keyword_bundle)],
        env={**os.environ, "DISTRIAGE_RELEASES": str(tmp_path / "releases.json")},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and "releases.json" in done.stderr


@pytest.mark.slow
def test_a_damaged_model_ends_in_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "distriage", "serve", "--port", "0", "--model", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("distriage: ") and "bundle.json" in done.stderr and done.stderr.count("\n") == 1
    assert any(json.loads(line)["event"] == "model_not_loaded" for line in done.stdout.splitlines())
