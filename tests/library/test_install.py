from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import package_index
from support.checkout import REPOSITORY

pytestmark = pytest.mark.container

HEAVY = ("torch", "transformers", "datasets", "fastapi", "starlette", "sklearn", "scipy", "onnx", "matplotlib")
PROBE = f"""
import importlib.util, json, sys
import distriage
print(json.dumps({{
    "place": distriage.__file__,
    "version": distriage.__version__,
    "loaded": sorted({{"onnxruntime", "torch", "transformers", "fastapi", "numpy", "pydantic"}} & set(sys.modules)),
    "installed": [name for name in {HEAVY!r} if importlib.util.find_spec(name)],
    "packages": [bool(importlib.util.find_spec(f"distriage{{part}}")) for part in ("", "_training", "_serving")],
}}))
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment |= package_index.ENVIRONMENT
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_an_installation_without_extras_is_light_and_works(distributions: Path, tmp_path: Path) -> None:
    """What the wheel brings into a bare environment, seen from outside the checkout."""
    uv = pytest.importorskip("uv", reason="needs uv: pip install 'distriage[dev]'").find_uv_bin()
    environment = tmp_path / "venv"
    assert run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path).returncode == 0
    binaries = environment / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / "python"
    (wheel,) = distributions.glob("*.whl")
    installed = run(uv, "pip", "install", "-q", "--no-cache", "--python", python, wheel, cwd=tmp_path)
    if installed.returncode != 0:
        probe = run(uv, "pip", "install", "-q", "--no-deps", "--target", tmp_path / "probe", "hatchling", cwd=tmp_path)
        if probe.returncode != 0:
            pytest.skip(f"uv reaches no package index: {probe.stderr.strip().splitlines()[-1]}")
    assert installed.returncode == 0, installed.stderr

    found = json.loads(run(python, "-c", PROBE, cwd=tmp_path).stdout)
    assert Path(found["place"]).is_relative_to(environment)
    assert found["installed"] == []
    assert found["loaded"] == []
    assert found["packages"] == [True, True, True]

    version = run(binaries / "distriage", "--version", cwd=tmp_path)
    assert (version.returncode, version.stdout) == (0, f"distriage {found['version']}\n")
    taxonomy = run(binaries / "distriage", "taxonomy", "stage", "--json", cwd=tmp_path)
    assert taxonomy.returncode == 0, taxonomy.stderr
    assert json.loads(taxonomy.stdout)["axes"]["stage"]["labels"][0]["id"] == "build-import"

    training = run(binaries / "distriage", "train", REPOSITORY / "configs" / "tiny.toml", cwd=tmp_path)
    assert (training.returncode, training.stdout) == (2, "")
    assert training.stderr.count("\n") == 1 and "; type: pip install 'distriage[train]'" in training.stderr

    (tmp_path / "report.md").write_text("NCCL timeout\n\nall_reduce hangs on 2 nodes", encoding="utf-8")
    verdict = run(binaries / "distriage", "classify", "report.md", "--json", cwd=tmp_path)
    assert verdict.returncode == 0, verdict.stderr
    assert (
        json.loads(verdict.stdout)["model"] == (REPOSITORY / "models" / "DEFAULT").read_text(encoding="utf-8").strip()
    )
