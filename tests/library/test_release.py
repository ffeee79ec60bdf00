"""What a release consists of: distributions, workflows, issue forms, and the version in all places."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import distriage

from support import package_index
from support.checkout import REPOSITORY
from support.pictures import BADGES, IMAGES, badge

GITHUB = REPOSITORY / ".github"


def run(*command: object, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert project["version"] == distriage.__version__
    assert re.search(rf"^## {re.escape(project['version'])}\b", changelog, re.MULTILINE)


def test_the_wheel_built_from_the_source_holds_model_taxonomy_and_playbooks(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    (source,) = distributions.glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    model = (REPOSITORY / "models" / "DEFAULT").read_text(encoding="utf-8").strip()
    assert {
        "distriage/model/taxonomy.toml",
        "distriage/facts/frameworks.toml",
        "distriage/facts/compatibility/known_bad.toml",
        "distriage/segments/prefixes.toml",
        "distriage/answer/playbooks/symptom.toml",
        f"distriage/models/{model}/model.onnx",
        "distriage_serving/queue/templates/issue.html",
        "distriage_training/py.typed",
    } <= names
    assert not [name for name in names if name.startswith(("tests", "training/", "docs"))]
    with tarfile.open(source) as archive:
        assert not [name for name in archive.getnames() if "/corpus/annotations" in name or "/tests/" in name]


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_what_github_reads_is_valid(schema: str, pattern: str) -> None:
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema: pip install 'distriage[dev]'")
    files = sorted(GITHUB.glob(pattern))
    assert files
    checked = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
    assert checked.returncode == 0, checked.stdout


def test_every_action_is_pinned_to_a_commit_with_its_version() -> None:
    files = [file.read_text(encoding="utf-8") for file in GITHUB.glob("workflows/*.yml")]
    used = [action for text in files for action in re.findall(r"uses: (.+)", text)]
    assert used and [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action)] == []


# ---------------------------------------------------------------- the workflow of a release


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    workflow: dict[str, Any] = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text(encoding="utf-8"))
    return cast(dict[str, Any], workflow["jobs"])


def with_of(job: Mapping[str, Any], action: str) -> list[dict[str, Any]]:
    return [step.get("with", {}) for step in job["steps"] if step.get("uses", "").startswith(f"{action}@")]


UV_AS_PIP = """#!/bin/sh
[ "$1" = --python ] && { python=$2; shift 2; }
exec uv "pip" "$@" --python "${python:-$(dirname "$0")/python}"
"""
STORED = """import gzip, zlib
zlib.Z_DEFAULT_COMPRESSION = 0
gzip.GzipFile.__init__.__defaults__ = (None, None, 0, None, None)
"""


@pytest.mark.container
@pytest.mark.slow
def test_each_step_that_builds_a_release_can_be_carried_out(jobs: dict[str, Any], tmp_path: Path) -> None:
    """With uv as pip, and without compression: a third of the time."""
    uv = pytest.importorskip("uv", reason="needs uv: pip install 'distriage[dev]'").find_uv_bin()
    checkout, tools = tmp_path / "checkout", tmp_path / "tools"
    for name in ("src", "serving/distriage_serving", "training/distriage_training", "models", "examples", "docs"):
        ignored = shutil.ignore_patterns("__pycache__", "images")
        shutil.copytree(REPOSITORY / name, checkout / name, ignore=ignored)
    for file in REPOSITORY.iterdir():
        if file.is_file():
            shutil.copy(file, checkout)
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, tools], check=True)
    (tools / "bin" / "pip").write_text(UV_AS_PIP, encoding="utf-8")
    (tools / "bin" / "pip").chmod(0o755)
    (tmp_path / "sitecustomize.py").write_text(STORED, encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment = inherited | package_index.ENVIRONMENT
    environment |= {
        "PATH": f"{tools / 'bin'}:{Path(uv).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_REF_NAME": f"v{distriage.__version__}",
    }
    bare = checkout.with_name("bare")
    probe = [uv, "pip", "install", "-q", "--no-deps", "--target", str(bare), "hatchling"]
    if subprocess.run(probe, env=environment, capture_output=True, check=False).returncode:
        pytest.skip("uv reaches no package index")
    for step in jobs["build"]["steps"]:
        if script := step.get("run"):
            command = ["bash", "-e", "-c", script]
            done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
            if step.get("name") == "No placeholder is left":
                assert done.returncode == ("OWNER/" in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
                continue
            assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert sorted(file.suffix for file in (checkout / "dist").iterdir()) == [".gz", ".whl"]

    bill = json.loads((checkout / "sbom" / "distriage.cdx.json").read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "distriage")
    assert "timestamp" not in bill["metadata"] and str(tmp_path) not in json.dumps(bill)
    listed = {(part["name"].lower().replace("_", "-"), part["version"]) for part in bill["components"]}
    lock = (REPOSITORY / "requirements-action.txt").read_text(encoding="utf-8")
    assert listed <= set(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.MULTILINE))  # some twice, by platform
    assert {"numpy", "onnxruntime", "pydantic", "tokenizers"} <= {name for name, _ in listed}


def test_a_release_is_built_with_the_tools_of_its_group_pinned_by_hashes(jobs: dict[str, Any]) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {re.split(r"\W", name.replace("-", "_"))[0] for name in project["dependency-groups"]["release"]}
    lock = (REPOSITORY / "requirements-release.txt").read_text(encoding="utf-8")
    pins = {name.replace("-", "_") for name in re.findall(r"^([\w.-]+)==.*\\\n +--hash=sha256:", lock, re.MULTILINE)}
    assert wanted and wanted <= pins
    script = "\n".join(step.get("run", "") for step in jobs["build"]["steps"])
    installs = re.findall(r"pip (?:--python \S+ )?install (--require-hashes|--no-deps dist)", script)
    assert installs == ["--require-hashes", "--require-hashes", "--no-deps dist"]


def test_what_is_published_is_what_was_built_and_attested(jobs: dict[str, Any]) -> None:
    origin, contents = with_of(jobs["attest"], "actions/attest")
    assert (origin, contents["sbom-path"]) == ({"subject-path": "dist/*"}, "sbom/distriage.cdx.json")
    assert with_of(jobs["pypi"], "pypa/gh-action-pypi-publish") == [{"attestations": True}]
    (image,) = with_of(jobs["image"], "docker/build-push-action")
    assert image["platforms"] == "linux/amd64,linux/arm64" and image["sbom"] is True and image["provenance"]
    (attested,) = with_of(jobs["image"], "actions/attest")
    (name,) = (names["images"] for names in with_of(jobs["image"], "docker/metadata-action"))
    assert attested["subject-name"] == name and attested["push-to-registry"] is True
    assert attested["subject-digest"] == "${{ steps.push.outputs.digest }}"
    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {"build": None, "attest": "build", "pypi": "attest", "image": "build", "release": ["pypi", "image"]}
    signing = {name for name, job in jobs.items() if job["permissions"].get("id-token") == "write"}
    assert signing == {"attest", "pypi", "image"}  # never the job that runs what an index brought


@pytest.mark.container
def test_the_image_s_packages_have_wheels_for_arm64(tmp_path: Path) -> None:
    uv = pytest.importorskip("uv", reason="needs uv: pip install 'distriage[dev]'").find_uv_bin()
    command = [uv, "pip", "install", "--dry-run", "--target", tmp_path / "none", "--require-hashes"]
    command += ["--only-binary", ":all:", "--python-version", "3.11", "-r", "requirements-serve.txt"]
    for platform in ("aarch64-manylinux_2_28", "x86_64-manylinux_2_28"):
        environment = os.environ | package_index.ENVIRONMENT
        done = subprocess.run(
            [*map(str, command), "--python-platform", platform],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 and "Would install" in done.stderr, done.stderr[-2000:]


def test_the_form_for_a_wrong_verdict_asks_for_what_the_classifier_needs() -> None:
    text = (GITHUB / "ISSUE_TEMPLATE" / "verdict.yml").read_text(encoding="utf-8")
    for needed in ("Title and body", "traceback", "NCCL versions", "GPUs and nodes", "launch command", "--explain"):
        assert needed in text


def test_the_badges_are_true_and_made_by_the_script() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert BADGES["python"][1] == project["requires-python"].removeprefix(">=") + "+"
    assert BADGES["licence"][1] == project["license"]
    for file, (name, value) in BADGES.items():
        assert (IMAGES / f"badge-{file}.svg").read_text(encoding="utf-8") == badge(name, value)
