"""The page that `bench --page` makes: it shows the figures, README says the same, none is missing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from distriage.base.errors import DistriageError
from distriage_research.bench import layout, page
from distriage_research.needs import INSTALL
from distriage_training.bench.inputs import PACKAGES
from distriage_training.bench.layout import tables
from distriage_training.bench.parts import STEPS

from support.checkout import REPOSITORY
from support.command_line import Command


def timing(p50: float, ratio: float = 1.0) -> dict[str, float]:
    return {"p50": p50, "p95": 2 * p50, "ratio": ratio}


@pytest.fixture
def figures() -> dict[str, Any]:
    """Of a run with two peers, on one core."""
    row = {
        "requests_per_s": 10.0,
        "p50_ms": 90.0,
        "p95_ms": 100.0,
        "p99_ms": 120.0,
        "refused_p50_ms": 1.0,
        "codes": {"200": 9, "503": 3},
    }
    contestants = {"distriage": timing(30), "transformers pipeline": timing(60, 0.5)}
    return {
        "format": page.FORMAT,
        "made": "2026-01-01",
        "model": "toy",
        "reports": {"file": "x.jsonl", "count": 2},
        "machine": {
            "cpu": "A <fast> one",
            "instructions": ["avx2"],
            "cores": 1,
            "memory_gib": 4,
            "system": "Linux 6",
            "python": "3.11.7",
            "load": 0.12,
        },
        "versions": {"distriage": "0.1.0"},
        "rounds": 1,
        "missing": {"infinity-emb": "needs --infinity", "Ray": f"needs ray: {INSTALL}"},
        "parts": {"mean_tokens": 200.0}
        | {name: timing(2) for name in (*STEPS, "but the graph")}
        | {"whole": timing(33)},
        "start": {
            "classify": {"wall_s": 0.5, "cpu_s": 0.45, "peak_mib": 155.4},
            "interpreter": {"wall_s": 0.02},
            "steps_s": {"session": 0.05},
            "ready": {"distriage": {"ready_s": 0.4, "peak_mib": 150.0}},
        },
        "graph": {"1": contestants},
        "text": {
            "1": {
                "all": contestants,
                "lengths": [{"tokens": "1 to 64", "reports": 2, "p50": {"distriage": 9.0, "SetFit predict": 20.0}}],
            }
        },
        "many": {
            "reports": 100,
            "distriage": {"workers": 1, "reports_per_s": 51.2, "peak_mib": 160.0},
            "transformers pipeline": {"batch": 16, "reports_per_s": 25.6, "peak_mib": 500.0},
            "ratio": 2.0,
        },
        "http": {"distriage": {"1": row, "8": row, "64": row, "overload": {**row, "offered_per_s": 40.0}}},
        "past": {
            "issues": 100_000,
            "reports": 2000,
            "processes": 2,
            "indexed_per_s": 120.4,
            "file_mb": 113.2,
            "load_s": 1.5,
            "find_ms": timing(12),
            "peak_mib": 900.0,
        },
        "queue": {"issues": 10_000, "pages": {"SQLite": {"list": {"p50": 31.0, "p95": 42.0, "kb": 99.0}}}},
    }


def test_a_page_and_readme_are_made_of_the_figures(figures: dict[str, Any], research: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'distriage[train]'")
    (tmp_path / "docs" / "images").mkdir(parents=True)
    (tmp_path / "README.md").write_text("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n", encoding="utf-8")
    given = tmp_path / "figures.json"
    given.write_text("a table\n" + json.dumps(figures), encoding="utf-8")
    done = research("bench", "--figures", given, "--page", tmp_path)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out.splitlines()[-1]) == figures
    assert "needs ray: pip install -r training/research/requirements.txt" in done.out
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("before\n<!-- bench -->\n- **33 ms a report**") and readme.endswith("after\n")
    assert "0.50 of what a transformers pipeline takes" in readme and "old" not in readme
    assert "**0.50 s and 155 MiB**" in readme and "2.0 times a pipeline's best" in readme
    shown = (tmp_path / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for text in (
        "A <fast> one (avx2)",
        "| 40 requests/s offered | 10.0 | 90 | 120 | 3 |",
        "infinity-emb | needs",
        "| SQLite: list | 31 | 42 | 99 |",
    ):
        assert text.replace("| 40", "| distriage, 40") in shown
    for name in ("latency", "parts", "clients"):
        assert f"(images/bench-{name}.svg)" in shown
        assert (tmp_path / "docs" / "images" / f"bench-{name}.svg").stat().st_size > 1000


def test_the_requirements_bring_every_package_that_the_page_names() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    lines = (REPOSITORY / "training" / "research" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    needs = [Requirement(need) for line in lines if (need := line.partition("#")[0].strip())]
    own = next(need for need in needs if need.name == "distriage")
    needs += [Requirement(need) for extra in own.extras for need in extras[extra]]
    missing = set(PACKAGES) - {need.name for need in needs}
    assert missing == {"numpy", "onnxruntime", "tokenizers", "sentence-transformers"}  # Distriage's own, and SetFit's


def test_the_page_and_readme_of_this_checkout_are_those_of_its_figures() -> None:
    said = (REPOSITORY / page.README).read_text(encoding="utf-8").partition("<!-- bench -->\n")[2]
    if not (REPOSITORY / page.FIGURES).exists():  # a model that was not measured yet
        assert said.startswith("<!-- /bench -->") and not (REPOSITORY / page.PAGE).exists()
        return
    figures = page.read_figures(REPOSITORY / page.FIGURES)
    assert (REPOSITORY / page.PAGE).read_text(encoding="utf-8") == page.page_of(figures)
    assert said.startswith(page.readme_of(figures) + "<!-- /bench -->")


def test_a_section_that_was_not_measured_makes_no_page(figures: dict[str, Any], tmp_path: Path) -> None:
    del figures["http"]
    assert "Over HTTP" not in [table.title for table in tables(figures, layout.BUILDERS)]
    with pytest.raises(DistriageError, match="not measured: http"):
        page.write_page(figures, tmp_path)
