# ruff: noqa: F401, F811  # fixtures
"""The GitHub Action: what a run does to an issue, and what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from distriage_serving.action import workflow_commands

from support import faults
from support.action import TITLE, Act, act, double, outputs, runner, summary, write_event
from support.checkout import REPOSITORY
from support.faults import Trouble
from support.github import GitHub
from support.github_shapes import account

LABELS = ["symptom: hang"]


def test_a_new_issue_is_labelled(double: GitHub, runner: Path, act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    assert act() == 0
    assert double.labels("owner/repo#1") == LABELS
    assert json.loads(outputs(runner)["labels-added"]) == LABELS
    assert json.loads(outputs(runner)["prediction"])["axes"]["symptom"]["label"] == "hang"
    assert "| Symptom | `hang` |" in summary(runner) and "**Labels** to add: `symptom: hang` (new)" in summary(runner)
    assert TITLE not in capsys.readouterr().out


def test_a_dry_run_makes_no_write(double: GitHub, runner: Path, act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    double.files["owner/repo/.github/distriage.yml"] = "comment: true\nneeds-triage: true\n"
    assert act(dry_run="true") == 0
    asked = [request for request in double.requests if request.path != "/graphql"]  # which is asked who we are
    assert asked and {request.method for request in asked} == {"GET"} and not double.written
    assert double.written == [] and double.labels("owner/repo#1") == []
    said = capsys.readouterr().out
    done = r"[1-9] labels? added(?:, 1 comment written)?"
    assert re.search(rf"^distriage: would be done \(dry run\): {done}; see the step summary$", said, re.M)
    assert "| verdict | p | second guess | p | why |" in summary(runner), "the terminal's words"
    assert "would be added (dry run)" in summary(runner) and outputs(runner)["labels-added"] == "[]"


def test_a_dry_run_tries_a_configuration_that_is_not_committed(
    double: GitHub, runner: Path, act: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = tmp_path / "tried.yml"
    tried.write_text("axes: {symptom: {labels: {hang: Tried}}, kind: false}\n", encoding="utf-8")
    assert act(dry_run="true", config=tried) == 0
    assert "`Tried`" in summary(runner) and double.written == []
    act(config=tried)
    assert "--config tries a configuration in a dry run; expected --dry-run true" in capsys.readouterr().out
    assert double.written == []


def test_the_configuration_s_dry_run_holds_too(double: GitHub, act: Act) -> None:
    double.files["owner/repo/.github/distriage.yml"] = "dry-run: true\n"
    assert act(dry_run="false") == 0
    assert double.written == []


def test_an_issue_may_be_named(double: GitHub, runner: Path, act: Act) -> None:
    double.open("owner/repo#7", "Memory exhausted", "memory exhausted exhausted")
    write_event(runner, {"issue": None, "action": None})
    assert act(issue_number="7") == 0
    assert double.labels("owner/repo#7") == ["symptom: oom"] and double.labels("owner/repo#1") == []


def test_the_configuration_maps_names_and_mode(double: GitHub, act: Act) -> None:
    double.files["owner/repo/.github/distriage.yml"] = (
        "mode: best\naxes:\n  symptom: {labels: {hang: stuck}}\n  fix: {mode: precise, prefix: 'how/'}\n"
    )
    assert act() == 0
    assert double.labels("owner/repo#1") == ["stuck", "how/tuning"]


def test_a_bot_s_event_is_ignored(double: GitHub, runner: Path, act: Act) -> None:
    write_event(runner, {"sender": {"login": "x[bot]", "type": "Bot"}})
    assert act() == 0
    assert double.written == [] and "a bot caused the event" in summary(runner)


def test_hostile_text_stays_text(double: GitHub, runner: Path, act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    title = "hangs hangs\n::error::x | @octocat <b>`[a](b)\nlabels-added<<EOF"
    double.open("owner/repo#1", title, "hangs\ndistriage_0\n::set-output name=a::b")
    assert act() == 0
    assert not re.search(r"^::(?!warning)", capsys.readouterr().out, re.M)
    assert "`hangs hangs ::error::x ¦ @octocat <b>ˋ[a](b) labels-added<<EOF`" in summary(runner)
    assert set(outputs(runner)) == {"labels-added", "prediction"}


PREDICTABLE: dict[str, Callable[[GitHub, Path], dict[str, Any]]] = {
    "no token": lambda _d, _r: {"token": ""},
    "bad token": lambda _d, _r: {"token": "ghp_wrong"},
    "no issue in the event": lambda _d, r: write_event(r, {"issue": None}) or {},  # type: ignore[func-returns-value]
    "event that is not JSON": lambda _d, r: ((r / "event.json").write_text("{") and {}) or {},
    "no event file": lambda _d, r: {"event_path": str(r / "none.json")},
    "issue number that is none": lambda _d, _r: {"issue_number": "1; rm -rf /"},
    "issue number of many digits": lambda _d, _r: {"issue_number": "1" * 5000},
    "repository that is none": lambda _d, _r: {"repository": "../../x"},
    "mode that is none": lambda _d, _r: {"mode": "fast"},
    "dry-run that is none": lambda _d, _r: {"dry_run": "perhaps"},
    "no such model": lambda _d, _r: {"model": "no-such-model"},
    "configuration with an unknown key": lambda d, _r: (
        d.files.update({"owner/repo/.github/distriage.yml": "\nmod: x\n"}) or {}
    ),  # type: ignore[func-returns-value]
    "no such configuration": lambda _d, _r: {"configuration_path": "none.yml"},
    "issue that was deleted": lambda d, _r: d.gone.add("owner/repo#1") or {},  # type: ignore[func-returns-value]
    "empty issue": lambda d, _r: d.open("owner/repo#1", " ", "") and {},
    "rate limit": lambda d, _r: d.troubles.append(Trouble("GET", faults.rate_limit(4_000_000_000), times=99)) or {},  # type: ignore[func-returns-value]
    "unreachable GitHub": lambda d, _r: d.troubles.append(Trouble("", reset=True, times=99)) or {"max_wait_s": 0.1},  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize("name", PREDICTABLE)
def test_what_can_be_foreseen_is_a_warning_and_no_failure(
    double: GitHub, runner: Path, act: Act, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    changes = PREDICTABLE[name](double, runner)
    assert act(**changes) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "read one by one" not in line]
    assert len(lines) == 1 and lines[0].startswith("::warning title=Distriage::")
    assert act("true", **changes) == 2
    assert double.labels("owner/repo#1") == [] and "ghp_" not in lines[0]


@pytest.mark.parametrize(("strict", "kind", "code"), [("", "warning", 0), ("true", "error", 2)])
def test_a_refused_write_is_a_warning_or_an_error_and_the_summary_shows_it(
    double: GitHub, runner: Path, act: Act, capsys: pytest.CaptureFixture[str], strict: str, kind: str, code: int
) -> None:
    """The message names the label and the missing permission."""
    double.troubles.append(Trouble("POST .*1/labels$", faults.integration()))
    assert act(strict) == code
    out = capsys.readouterr().out
    assert f"::{kind} title=Distriage::the label 'symptom: hang' could not be added" in out and "issues: write" in out
    assert "**Warning**" in summary(runner)


def test_what_cannot_be_foreseen_shows_no_text(
    act: Act, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret\n::error::x")

    monkeypatch.setattr("distriage_serving.action.run.look", fail)
    assert act() == 0
    out = capsys.readouterr().out
    assert (
        out.startswith("::warning title=Distriage::unexpected RuntimeError at test_action.py:") and "secret" not in out
    )
    assert act("true") == 1


def test_a_summary_stays_below_a_mebibyte(runner: Path) -> None:
    workflow_commands.write_summary("é" * 400_000)
    workflow_commands.write_summary("é" * 400_000)
    assert 1_000_000 < (runner / "GITHUB_STEP_SUMMARY").stat().st_size < 1 << 20
    assert "cut here" in summary(runner)


def process(
    runner: Path, double: GitHub, bundle: Path, event: Path, **changes: str
) -> subprocess.CompletedProcess[str]:
    """`distriage action` as action.yml calls it."""
    environment = {
        **os.environ,
        "GITHUB_TOKEN": double.token,
        "GITHUB_API_URL": double.url,
        "GITHUB_EVENT_PATH": str(event),
        "DISTRIAGE_MODEL": str(bundle),
        **dict.fromkeys(("DISTRIAGE_ISSUE_NUMBER", "DISTRIAGE_MODE", "DISTRIAGE_STRICT", "DISTRIAGE_DRY_RUN"), ""),
        "DISTRIAGE_CONFIGURATION_PATH": ".github/distriage.yml",
        **changes,
    }
    environment.pop("GITHUB_REPOSITORY", None)
    del runner
    return subprocess.run(
        [sys.executable, "-m", "distriage", "action"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(("login", "graphql"), [("github-actions[bot]", False), ("", True), ("", False)])
def test_what_another_bot_did_is_not_ours_where_the_account_is_known(
    double: GitHub, act: Act, login: str, graphql: bool
) -> None:
    # GraphQL tells an App's token its account; GitHub Enterprise Server has it elsewhere.
    known = login != "" or graphql
    if not graphql:
        double.troubles.append(Trouble("POST /graphql", faults.status(404), times=9))
    double.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true}\nneeds-triage: true\n"
    other = account("other[bot]", 5, "Bot")
    double.label("owner/repo#1", "needs-triage", other)
    assert act(login=login) == 0
    assert double.labels("owner/repo#1") == ["needs-triage", "symptom: hang"]  # no description of ours is on it
    double.unlabel("owner/repo#1", "symptom: hang", other)
    assert act(login=login) == 0
    assert ("symptom: hang" in double.labels("owner/repo#1")) is not known


@pytest.mark.slow
def test_end_to_end(double: GitHub, runner: Path, keyword_bundle: Path) -> None:
    dry = process(runner, double, keyword_bundle, runner / "event.json", DISTRIAGE_DRY_RUN="true")
    assert (dry.returncode, dry.stderr, double.written) == (0, "", [])
    done = process(runner, double, keyword_bundle, runner / "event.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert double.labels("owner/repo#1") == LABELS
    assert summary(runner).count("### Distriage: `owner/repo#1`") == 2


@pytest.fixture(scope="session")
def recorded_event(node_modules: Path) -> dict[str, Any]:
    """GitHub's own payload of an opened issue, from the npm package @octokit/webhooks-examples."""
    events = json.loads(
        (node_modules / "@octokit/webhooks-examples/api.github.com/index.json").read_text(encoding="utf-8")
    )
    examples = next(event["examples"] for event in events if event["name"] == "issues")
    found: dict[str, Any] = next(
        example for example in examples if example["action"] == "opened" and example["issue"]["body"]
    )
    return found


def test_end_to_end_with_a_recorded_payload(
    double: GitHub, runner: Path, keyword_bundle: Path, recorded_event: dict[str, Any]
) -> None:
    event = runner / "recorded.json"
    event.write_text(json.dumps(recorded_event), encoding="utf-8")
    issue = recorded_event["issue"]
    reference = f"{recorded_event['repository']['full_name']}#{issue['number']}"
    double.issues[reference] = {**issue, "body": f"{issue['body']} hangs hangs"}
    double.define(reference.partition("#")[0], *(label["name"] for label in issue["labels"]))
    before = double.labels(reference)
    done = process(runner, double, keyword_bundle, event)
    assert (done.returncode, done.stderr) == (0, "")
    assert double.labels(reference) == [*before, *LABELS]
    assert all(write.method == "POST" for write in double.written)


def test_action_yml_is_as_the_command_expects() -> None:
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
    assert set(action["inputs"]) >= {"repo-token", "configuration-path", "issue-number", "dry-run", "strict", "mode"}
    assert set(action["outputs"]) == {"labels-added", "prediction"}
    added = action["outputs"]["labels-added"]["value"]
    assert added.endswith("|| '[]' }}"), "fromJSON of an empty output would turn the next step red"
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an expression in a program"
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), "not pinned"
        else:
            assert step["shell"] == "bash"
    label = action["runs"]["steps"][-1]["env"]
    expected = {f"DISTRIAGE_{name.upper().replace('-', '_')}" for name in action["inputs"] if name != "repo-token"}
    expected.add("DISTRIAGE_LOGIN")
    assert {name for name in label if name.startswith("DISTRIAGE_")} == expected


def test_two_runs_for_one_issue_follow_each_other() -> None:
    """Both would find no comment yet, and write one each."""
    page = (REPOSITORY / "docs/github-action.md").read_text(encoding="utf-8")
    fences = re.findall(r"```yaml\n(.*?)```", page, re.S)
    workflow = next(text for text in fences if "issues:\n    types:" in text)
    assert "github.event.issue.number" in yaml.safe_load(workflow)["concurrency"]["group"]


def test_the_lock_holds_the_core_and_nothing_of_the_extras() -> None:
    lock = (REPOSITORY / "requirements-action.txt").read_text(encoding="utf-8")
    names = set(re.findall(r"^([a-z0-9-]+)==", lock, re.M))
    assert {"numpy", "onnxruntime", "tokenizers", "pydantic", "httpx", "typer", "rich", "pyyaml", "hatchling"} <= names
    assert names.isdisjoint({"torch", "transformers", "fastapi", "starlette", "uvicorn"})
    blocks = [block for block in re.split(r"\n(?=[a-z])", lock) if "==" in block and not block.startswith("#")]
    assert len(blocks) > 20 and all("--hash=sha256:" in block for block in blocks)
