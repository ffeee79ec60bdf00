"""What a release consists of: distributions, workflows, issue forms, and the version in all places."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import distriage

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


def test_wheel_and_source_pass_twine_s_check(distributions: Path) -> None:
    pytest.importorskip("twine", reason="needs twine: pip install 'distriage[dev]'")
    checked = run(sys.executable, "-m", "twine", "check", "--strict", *sorted(distributions.iterdir()))
    assert checked.returncode == 0 and checked.stdout.count("PASSED") == 2, checked.stdout


def test_the_wheel_built_from_the_source_holds_model_taxonomy_and_playbooks(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    (source,) = distributions.glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    model = (REPOSITORY / "models" / "DEFAULT").read_text(encoding="utf-8").strip()
    assert {
        "distriage/model/taxonomy.toml",
        "distriage/facts/frameworks.toml",
        "distriage/facts/known_bad.toml",
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


def test_every_action_is_pinned_to_a_commit() -> None:
    files = [file.read_text(encoding="utf-8") for file in GITHUB.glob("workflows/*.yml")]
    used = [action for text in files for action in re.findall(r"uses: (\S+)", text)]
    assert used and [action for action in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", action)] == []


def test_a_release_is_built_with_tools_that_hashes_pin() -> None:
    workflow = (GITHUB / "workflows" / "release.yml").read_text(encoding="utf-8")
    installs = re.findall(r"pip install (--require-hashes -r|--no-deps|.+)", workflow)
    assert installs == ["--require-hashes -r", "--require-hashes -r", "--no-deps"]
    assert "python -m build --no-isolation" in workflow
    pinned = (REPOSITORY / "requirements-release.txt").read_text(encoding="utf-8")
    assert {"build", "hatchling", "twine"} <= set(re.findall(r"^([\w.-]+)==", pinned, re.MULTILINE))


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
