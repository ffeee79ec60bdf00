"""`bench` of the experiments: peers stand beside ours, and those that cannot be measured are named."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from distriage.base.errors import DistriageError
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_research.bench import equal, infinity, peers, run

from support import bench_in_one
from support.command_line import Command, assert_one_line
from support.toys import write_lines


def test_a_difference_is_counted(keyword_classifier: Classifier) -> None:
    one, other = (
        json.loads(keyword_classifier.classify(IssueReport(title, "")).model_dump_json())
        for title in ("it hangs", "a segfault")
    )
    near = json.loads(json.dumps(one))
    near["axes"]["symptom"]["probability"] += 0.0001
    assert equal.differences([one, one, one], [one, near, other]) == {"decisions": 1, "verdicts": 2}


def test_a_server_that_does_not_start_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(DistriageError, match="no-such-program"),
        infinity.started("no-such-program", tmp_path, tmp_path / "log"),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "nonsense"], "--only nonsense: expected one of parts"),
        (["--figures", "none.json"], "--figures none.json: expected the JSON"),
        (["--page", "."], "--page .: expected a checkout of Distriage"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_it_begins(
    options: list[str], said: str, research: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_line(research("bench", *options), said)


@pytest.fixture
def two_reports(tmp_path: Path) -> Path:
    rows = [{"title": "it hangs"}, {"title": "how", "body": "to run it on two nodes"}]
    return write_lines(tmp_path / "reports.jsonl", rows)


def needs_setfit() -> None:
    if importlib.util.find_spec("setfit") is None:
        pytest.skip("needs setfit: pip install -r training/research/requirements.txt")


def test_peers_that_are_installed_are_found(keyword_bundle: Path, two_reports: Path, tmp_path: Path) -> None:
    needs_setfit()
    given = {"bundle": keyword_bundle, "reports": two_reports, "count": 2}
    others = run.in_child("files", **given, encoder=tmp_path, folder="")
    assert others == {"missing": {}, "labels": 8, "encoder": str(tmp_path)}


def test_one_thread_and_a_thread_a_core_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "cores", lambda: 3)
    monkeypatch.setattr(run, "in_child", lambda task, **given: (task, given["threads"], given["others"]))
    order = SimpleNamespace(count=1, rounds=1, given={})
    assert run.by_threads("graphs", order, {}) == {"1": ("graphs", 1, {}), "3": ("graphs", 3, {})}  # type: ignore[arg-type]


@pytest.fixture
def peers_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Peers run in this process, which tests of training gave PyTorch, and on one core."""
    monkeypatch.setattr(run, "in_child", bench_in_one.measured)
    monkeypatch.setattr(run, "cores", lambda: 1)
    monkeypatch.setattr("distriage_training.bench.run.cores", lambda: 1)
    monkeypatch.setattr(peers, "_quiet", lambda: None)  # it would quieten all tests after this one


@pytest.mark.usefixtures("peers_here")
@pytest.mark.filterwarnings("ignore")  # of the peers, about themselves
def test_whole_processes_graphs_and_servers_are_measured(
    keyword_bundle: Path, tiny_run: Path, two_reports: Path, research: Command
) -> None:
    needs_setfit()
    sections = ("start", "graph", "text", "many", "http", "past")
    done = research(
        *("bench", "--model", keyword_bundle, "--reports", two_reports, "--encoder", tiny_run / "encoder"),
        *("--count", 2, "--many", 4, "--rounds", 1, "--seconds", 0.1, "--issues", 300),
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
