"""`distriage bench`: it measures with units, and refuses bad input before it begins."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from distriage.base.errors import DistriageError
from distriage.base.types import IssueReport
from distriage_training.bench import load, queue, run
from distriage_training.bench.parts import STEPS
from distriage_training.bench.spawn import in_child

from support.command_line import Command, assert_one_line
from support.databases import fresh_postgresql
from support.toys import write_lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "graph"], "--only graph: expected one of parts, start, many, http, queue"),
        (["--reports", "bad.jsonl"], "bad.jsonl: holds no usable report"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_it_begins(
    options: list[str], said: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_text("not json\n", encoding="utf-8")
    assert_one_line(command("bench", *options), said)


def test_parts_of_a_model_are_measured(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    reports = tmp_path / "reports.jsonl"
    reports.write_text('{"title": "it hangs", "body": ""}\nnot json\n', encoding="utf-8")
    options = ("--model", keyword_bundle, "--reports", reports, "--count", 2, "--rounds", 1, "--only", "parts")
    done = command("bench", *options)
    assert done.code == 0 and done.err.splitlines() == ["bench: parts"]
    found = json.loads(done.out.splitlines()[-1])
    assert found["reports"] == {"file": "reports.jsonl", "count": 2} and found["model"] == "toy"
    assert all(found["parts"][name]["p50"] > 0 for name in (*STEPS, "whole", "but the graph"))
    assert set(run.SECTIONS) & found.keys() == {"parts"}
    assert "A verdict, part by part" in done.out and "run the graph" in done.out


class _EverySecond(BaseHTTPRequestHandler):
    """Answers every second request, and refuses the others."""

    protocol_version = "HTTP/1.1"
    count = 0
    lock = threading.Lock()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            type(self).count += 1
            refused = self.count % 2 == 0
        self.send_response(503 if refused else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # more clients at once than the 5 that wait by default


@pytest.fixture
def refusing() -> Iterator[str]:
    with _Server(("127.0.0.1", 0), _EverySecond) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_only_answers_count_as_requests_and_refusals_are_told_apart(refusing: str) -> None:
    found = load.measure(load.Target(refusing, [{"title": "x"}]), 0.1)
    assert list(found) == ["1", "8", "64", "overload"]
    for row in found.values():
        assert (
            set(row["codes"]) == {"200", "503"}
            and row["refused_p50_ms"] > 0
            and row["requests_per_s"] > 0
            and row["p99_ms"] >= row["p50_ms"]
        )
    best = max(found[clients]["requests_per_s"] for clients in ("1", "8", "64"))
    overload = found["overload"]
    assert overload["offered_per_s"] == pytest.approx(4 * best, rel=0.01)
    assert overload["share_of_best"] == pytest.approx(overload["requests_per_s"] / best, abs=0.01)


@pytest.fixture
def two_reports(tmp_path: Path) -> Path:
    rows = [{"title": "it hangs"}, {"title": "how", "body": "to run it on two nodes"}]
    return write_lines(tmp_path / "reports.jsonl", rows)


def test_ctrl_c_keeps_the_tables_of_what_was_measured(
    command: Command, keyword_bundle: Path, two_reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "local_engine", interrupted)
    options = ("--model", keyword_bundle, "--reports", two_reports, "--count", 1, "--rounds", 1)
    done = command("bench", *options, "--only", "parts", "--only", "many")
    assert done.code == 130 and "A verdict, part by part" in done.out and "run the graph" in done.out


def test_a_measurement_that_fails_says_why(tmp_path: Path) -> None:
    reports = tmp_path / "reports.jsonl"
    reports.write_text('{"title": "it hangs", "body": ""}\n', encoding="utf-8")
    with pytest.raises(DistriageError, match=r"BundleError: .*expected a model bundle"):
        in_child("parts", bundle=tmp_path, reports=reports, count=1, rounds=1)


@pytest.mark.slow
def test_a_machine_is_measured_from_a_cold_start_in_bulk_and_by_http(
    command: Command, keyword_bundle: Path, two_reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "cores", lambda: 1)
    options = ("--model", keyword_bundle, "--reports", two_reports, "--count", 2, "--many", 4, "--rounds", 1)
    sections = ("--only", "start", "--only", "many", "--only", "http")
    done = command("bench", *options, "--seconds", 0.1, *sections)
    assert done.code == 0, done.err
    found = json.loads(done.out.splitlines()[-1])
    assert found["start"]["classify"]["wall_s"] > found["start"]["interpreter"]["wall_s"] > 0
    assert found["start"]["ready"]["distriage"]["peak_mib"] > 0
    assert found["many"]["distriage"]["reports_per_s"] > 0 and "ratio" not in found["many"]
    assert found["http"]["distriage"]["1"]["codes"]["200"] > 0 and found["missing"] == {}
    assert "Over HTTP" in done.out and "reports/s" in done.out


@pytest.mark.slow
@pytest.mark.database
def test_pages_of_a_queue_are_measured_on_both_databases(
    command: Command,
    keyword_bundle: Path,
    two_reports: Path,
    postgresql_server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "CHARTS", 2)
    options = ("--model", keyword_bundle, "--reports", two_reports, "--count", 2, "--queue-issues", 60)
    with fresh_postgresql(postgresql_server) as url:
        done = command("bench", *options, "--only", "queue", "--database", url)
        assert done.code == 0, done.err
        with pytest.raises(DistriageError, match="expected an empty database; this one holds issues"):
            queue.fill(keyword_bundle, [IssueReport("it hangs", "")], 60, url, tmp_path)
    found = json.loads(done.out.splitlines()[-1])
    assert found["queue"]["issues"] == 60 and list(found["queue"]["pages"]) == ["SQLite", "PostgreSQL"]
    for pages in found["queue"]["pages"].values():
        assert list(pages) == ["list", "issue", "search", "charts"]
        assert all(0 < page["p50"] <= page["p95"] and page["kb"] > 4 for page in pages.values())
    assert "as its autovacuum does" in " ".join(done.out.split())
    assert "The triage queue with 60 open issues" in done.out and "PostgreSQL: search" in done.out
