"""`distriage bench`: what it measures is said with its units, and what it cannot measure is named."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from distriage.base.errors import DistriageError
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_training.bench import equal, load, peers, run
from distriage_training.bench.parts import STEPS
from distriage_training.bench.spawn import in_child

from support import bench_in_one
from support.command_line import Command, assert_one_line
from support.toys import write_lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "nonsense"], "--only nonsense: expected one of parts"),
        (["--figures", "none.json"], "--figures none.json: expected the JSON"),
        (["--page", "."], "--page .: expected a checkout of Distriage"),
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
    reports.write_text('{"title": "it hangs"}\nnot json\n', encoding="utf-8")
    options = ("--model", keyword_bundle, "--reports", reports, "--count", 2, "--rounds", 1, "--only", "parts")
    done = command("bench", *options)
    assert done.code == 0 and done.err.splitlines() == ["bench: parts"]
    found = json.loads(done.out.splitlines()[-1])
    assert found["reports"] == {"file": "reports.jsonl", "count": 2} and found["model"] == "toy"
    assert all(found["parts"][name]["p50"] > 0 for name in (*STEPS, "whole", "but the graph"))
    assert set(run.SECTIONS) & found.keys() == {"parts"}


def test_a_difference_is_counted(keyword_classifier: Classifier) -> None:
    one, other = (
        json.loads(keyword_classifier.classify(IssueReport(title, "")).model_dump_json())
        for title in ("it hangs", "a segfault")
    )
    near = json.loads(json.dumps(one))
    near["axes"]["symptom"]["probability"] += 0.0001
    assert equal.differences([one, one, one], [one, near, other]) == {"decisions": 1, "verdicts": 2}


def test_a_measurement_that_fails_says_why(tmp_path: Path) -> None:
    reports = tmp_path / "reports.jsonl"
    reports.write_text('{"title": "it hangs"}\n', encoding="utf-8")
    with pytest.raises(DistriageError, match=r"BundleError: .*expected a model bundle"):
        in_child("files", bundle=tmp_path, reports=reports, count=1, encoder="", folder="")


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


@pytest.fixture
def refusing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _EverySecond) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_only_answers_count_as_requests_and_refusals_are_told_apart(refusing: str) -> None:
    found = load.measure(load.Target(refusing, [{"title": "x"}]), 0.1)
    assert list(found) == ["1", "8", "64", "overload"]
    for row in found.values():
        assert set(row["codes"]) == {"200", "503"} and row["requests_per_s"] > 0 and row["p99_ms"] >= row["p50_ms"]
    best = max(found[clients]["requests_per_s"] for clients in ("1", "8", "64"))
    assert found["overload"]["offered_per_s"] == pytest.approx(4 * best, rel=0.01)


def test_a_server_that_does_not_start_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(DistriageError, match="no-such-program"),
        load.infinity("no-such-program", tmp_path, tmp_path / "log"),
    ):
        pass


@pytest.fixture
def two_reports(tmp_path: Path) -> Path:
    rows = [{"title": "it hangs"}, {"title": "how", "body": "to run it on two nodes"}]
    return write_lines(tmp_path / "reports.jsonl", rows)


def test_ctrl_c_keeps_the_tables_of_what_was_measured(
    command: Command, keyword_bundle: Path, two_reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(task: str, **given: object) -> object:
        if task == "past":
            raise KeyboardInterrupt
        return in_child(task, **given)

    monkeypatch.setattr(run, "in_child", interrupted)
    options = (
        "--model",
        keyword_bundle,
        "--reports",
        two_reports,
        "--count",
        1,
        "--rounds",
        1,
        "--only",
        "parts",
        "--only",
        "past",
    )
    done = command("bench", *options)
    assert done.code == 130 and "A verdict, part by part" in done.out and "run the graph" in done.out


def needs_setfit() -> None:
    if importlib.util.find_spec("setfit") is None:
        pytest.skip("needs setfit: pip install 'distriage[bench]'")


def test_peers_that_are_installed_are_found(keyword_bundle: Path, two_reports: Path, tmp_path: Path) -> None:
    needs_setfit()
    given = {"bundle": keyword_bundle, "reports": two_reports, "count": 2}
    others = in_child("files", **given, encoder=tmp_path, folder="")
    assert others == {"missing": {}, "labels": 8, "encoder": str(tmp_path)}


def test_one_thread_and_a_thread_a_core_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "cores", lambda: 3)
    monkeypatch.setattr(run, "in_child", lambda task, **given: (task, given["threads"], given["others"]))
    order = SimpleNamespace(count=1, rounds=1)
    assert run.by_threads("graphs", order, {}, {}) == {"1": ("graphs", 1, {}), "3": ("graphs", 3, {})}  # type: ignore[arg-type]


@pytest.fixture
def peers_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Peers run in this process, which tests of training gave PyTorch, and on one core."""
    monkeypatch.setattr(run, "in_child", bench_in_one.measured)
    monkeypatch.setattr(run, "cores", lambda: 1)
    monkeypatch.setattr(peers, "_quiet", lambda: None)  # it would quieten all tests after this one


@pytest.mark.usefixtures("peers_here")
@pytest.mark.filterwarnings("ignore")  # of the peers, about themselves
def test_whole_processes_graphs_and_servers_are_measured(
    keyword_bundle: Path, tiny_run: Path, two_reports: Path, command: Command
) -> None:
    needs_setfit()
    sections = ("start", "graph", "text", "many", "http", "past")
    done = command(
        *("bench", "--model", keyword_bundle, "--reports", two_reports, "--encoder", tiny_run / "encoder"),
        *("--count", 2, "--many", 4, "--rounds", 1, "--seconds", 0.2, "--issues", 300),
        *(part for section in sections for part in ("--only", section)),
    )
    assert done.code == 0, done.err
    found = json.loads(done.out.splitlines()[-1])
    assert {"distriage", "onnxruntime fp32, defaults", "PyTorch fp32, eager"} <= found["graph"]["1"].keys()
    text = found["text"]["1"]
    assert list(text["all"]) == ["distriage", "transformers pipeline", "SetFit predict"]
    assert text["all"]["distriage"]["ratio"] == 1
    assert [row["reports"] for row in text["lengths"]] == [2]
    assert all(found["many"][name]["reports_per_s"] > 0 for name in ("distriage", "transformers pipeline"))
    assert found["start"]["classify"]["wall_s"] > found["start"]["interpreter"]["wall_s"] > 0
    ready = found["start"]["ready"]
    assert list(ready) == ["distriage", "transformers pipeline", "SetFit predict"]
    assert all(one["ready_s"] > 0 and one["peak_mib"] > 0 for one in ready.values())
    assert found["http"]["distriage"]["1"]["codes"]["200"] > 0
    assert found["missing"]["infinity-emb"]
    assert found["past"]["issues"] == 300 and found["past"]["reports"] == 4
    assert all(found["past"][figure] > 0 for figure in ("indexed_per_s", "peak_mib"))
    assert 0 < found["past"]["find_ms"]["p50"] <= found["past"]["find_ms"]["p95"]
    assert "Over HTTP" in done.out and "reports/s" in done.out
