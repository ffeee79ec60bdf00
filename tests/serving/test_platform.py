# ruff: noqa: F401, F811  # fixtures
"""GitHub as it is: pinned actions, other servers than github.com, and what they say when they refuse."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from distriage.base.errors import BrokenError, ConfigError, GitHubError, RefusedError
from distriage.base.references import IssueReference
from distriage.github.address import graphql_address
from distriage.github.client import Client
from distriage_serving.action.run import _FALSE, _TRUE
from distriage_serving.configuration.draft import TheirLabel, best_match, draft
from distriage_serving.configuration.file import load_config, parse_config
from distriage_serving.configuration.problems import RepositoryConfigError
from distriage_serving.github.files import read_config
from distriage_serving.github.issue import read_issue
from distriage_serving.github.timeline import own_login
from distriage_serving.settings import load_settings

from support import faults, local_http
from support.app_key import app_key_pem
from support.bot import CONFIG, HANG, ISSUE, OTHER_BOT, Bot, bot, github, make, store
from support.checkout import REPOSITORY
from support.command_line import Command, assert_one_line
from support.faults import Fault, Trouble
from support.github import PERSON, GitHub
from support.http_api import server
from support.plans import TAXONOMY
from support.server import Running

# ---------------------------------------------------------------- actions

PINNED = ("action.yml", ".github/workflows/*.yml", "docs/*.md")
# The first major whose action.yml says `using: node24`, as pull requests of 2026 that looked at it say
# (py-feat#348, isovar#203, ngx-gauge#222, linux-kernel-internals#566); of attest, the one in use. Looked up on
# 2026-11-29; no package holds an action's metadata, so look again when you change a pin.
NODE_24 = {
    "actions/attest": 4,
    "actions/cache": 5,
    "actions/checkout": 5,
    "actions/deploy-pages": 5,
    "actions/download-artifact": 7,
    "actions/setup-python": 6,
    "actions/upload-artifact": 6,
    "actions/upload-pages-artifact": 5,
    "docker/build-push-action": 7,
    "docker/login-action": 4,
    "docker/metadata-action": 6,
    "docker/setup-buildx-action": 4,
    "docker/setup-qemu-action": 4,
}


def test_pinned_actions_run_on_node_24_and_have_one_pin_each() -> None:
    pins: dict[str, set[tuple[str, str]]] = {}
    for pattern in PINNED:
        for file in REPOSITORY.glob(pattern):
            text = file.read_text(encoding="utf-8")
            for name, commit, version in re.findall(r"uses: (\w+/[\w-]+)[\w/-]*@([0-9a-f]{40}) # v([\d.]+)", text):
                pins.setdefault(name, set()).add((commit, version))
            assert len(re.findall(r"uses: actions/", text)) == len(
                re.findall(r"uses: actions/[\w/-]+@[0-9a-f]{40} # v", text)
            )
    pins.pop("pypa/gh-action-pypi-publish")  # no JavaScript
    assert pins.keys() == NODE_24.keys() and all(len(found) == 1 for found in pins.values())
    for name, ((_, version),) in ((name, tuple(found)) for name, found in pins.items()):
        assert int(version.split(".")[0]) >= NODE_24[name], name


def test_the_action_saves_no_cache_since_its_runs_may_not() -> None:
    steps = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    assert not any("cache" in step.get("uses", "") for step in steps)


def install(tmp_path: Path, path: str, *, only_search: bool = False, strict: str = "", code: int = 0) -> str:
    """What the Action's install step says where setup-python found nothing."""
    steps = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    script: str = next(step for step in steps if step["name"] == "Install")["run"]
    if only_search:
        script = script.partition("environment=")[0] + 'echo "$found"'
    environment = {"PYTHON": "", "PATH": path, "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "out")}
    environment["DISTRIAGE_STRICT"] = strict
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout.strip()


def test_a_runner_that_setup_python_does_not_know_uses_the_python_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    (tmp_path / "python3.13").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")  # without venv
    (tmp_path / "python3.13").chmod(0o755)
    assert install(tmp_path, str(tmp_path), only_search=True) == "python3"
    assert "needs Python 3.11 or newer with venv; setup-python has none" in install(tmp_path, str(tmp_path / "empty"))


@pytest.mark.parametrize("strict", [*sorted(_TRUE), "TRUE", "Yes", *sorted(_FALSE), "False"])
def test_strict_means_the_same_where_nothing_could_be_installed(tmp_path: Path, strict: str) -> None:
    install(tmp_path, str(tmp_path / "empty"), strict=strict, code=int(strict.lower() in _TRUE))


# ---------------------------------------------------------------- GitHub Enterprise Server


@pytest.mark.parametrize(
    ("rest", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://ghes.example.com/api/v3", "https://ghes.example.com/api/graphql"),
        ("https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql"),
    ],
)
def test_graphql_has_an_address_of_its_own(rest: str, graphql: str) -> None:
    assert graphql_address(rest) == graphql


def test_whose_token_it_is_is_asked_of_an_enterprise_server_too(github: GitHub) -> None:
    github.tokens["t"] = float("inf")
    github.behind = "/api/v3"
    assert own_login(Client("t", f"{github.url}/api/v3")) == "distriage[bot]"
    asked = [request.path for request in github.requests]
    assert asked == ["/api/v3/user", "/api/graphql"]


# ---------------------------------------------------------------- Prow


@pytest.mark.parametrize("line", ["needs-discussion", "accepted needs-information", "build-watcher"])
def test_labels_of_prow_are_left_to_prow(bot: Bot, line: str) -> None:
    words = {f"triage/{word}" for word in (*line.split(), "build-watcher")}
    bot.github.define("owner/repo", *sorted(words))
    bot.issue("opened")
    before = bot.writes()
    bot.say(f"/triage {line}")
    assert bot.writes() == before and bot.job().state == "ignored"


def test_what_is_neither_ours_nor_prows_is_explained(bot: Bot) -> None:
    bot.github.define("owner/repo", "triage/accepted")
    bot.issue("opened")
    comment = bot.say("/triage needs-discussion")
    assert bot.github.reactions[comment["id"]] == ["confused"]


# ---------------------------------------------------------------- a page that GitHub cannot build


class Heavy:
    """A GitHub that cannot build pages of more items than this."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, request: Any) -> Trouble | None:
        is_heavy = int(request.query.get("per_page", "0")) > self.most
        return Trouble("", faults.server_error(502)) if is_heavy else None


@pytest.mark.parametrize("path", ["/repos/owner/repo/issues", "/repos/owner/repo/labels"])
@pytest.mark.parametrize("from_page", [1, 2])
def test_a_page_that_github_cannot_build_is_asked_for_in_smaller_ones(
    github: GitHub, monkeypatch: pytest.MonkeyPatch, path: str, from_page: int
) -> None:
    monkeypatch.setattr(Client, "pause", lambda *_: True)
    github.tokens["t"] = float("inf")
    for number in range(2, 251):
        github.open(f"owner/repo#{number}", "t")
    github.define("owner/repo", *(f"label {number}" for number in range(250)))
    heavy, found = Heavy(20), []
    for number, (items, _) in enumerate(Client("t", github.url).pages(path, {}), 1):
        found += [item["id"] for item in items]
        if number + 1 >= from_page:
            github.misfortune = heavy
    assert len(found) == len(set(found)) == 250


def test_a_github_that_builds_no_page_at_all_ends_it(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "pause", lambda *_: True)
    github.tokens["t"], github.misfortune = float("inf"), Heavy(0)
    with pytest.raises(BrokenError, match=r"GitHub fails \(502\)"):
        list(Client("t", github.url).items("/repos/owner/repo/labels"))


# ---------------------------------------------------------------- messages


@pytest.fixture
def client(github: GitHub) -> Client:
    github.tokens["t"] = float("inf")
    return Client("t", github.url)


def test_issues_that_are_switched_off_are_said_to_be(github: GitHub, client: Client) -> None:
    github.without_issues.add("owner/repo")
    for read in (
        lambda: read_issue(client, IssueReference("owner/repo", 1)),
        lambda: list(client.items("/repos/owner/repo/issues")),
    ):
        with pytest.raises(GitHubError, match=r"is gone \(410\): Issues are disabled for this repo$"):
            read()


def test_a_configuration_that_the_token_may_not_read_names_the_permission(github: GitHub, client: Client) -> None:
    github.troubles.append(Trouble("GET .*/contents/", faults.integration()))
    with pytest.raises(RefusedError, match=r"permission `contents: read`\): .*Resource not accessible by integration"):
        read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY)


@pytest.mark.parametrize("status", [200, 404, 406])
def test_an_address_without_api_v3_is_named(github: GitHub, client: Client, status: int) -> None:
    github.troubles.append(Trouble("GET", Fault(status, "<html>Sign in", {"Content-Type": "text/html"}), times=9))
    with pytest.raises(GitHubError, match=r"nothing of GitHub answers at http://\S+; expected https://HOST/api/v3"):
        client.json("/repos/owner/repo/issues/1")


@pytest.mark.parametrize("text", ["    - [RFC]*\n", "    - *x*\n", "    [*x*]\n"])
def test_a_pattern_without_quotes_is_named(text: str) -> None:
    with pytest.raises(RepositoryConfigError, match=r'quote a pattern, as in "\[RFC\]\*"'):
        parse_config(f"ignore:\n  titles:\n{text}", "a.yml", TAXONOMY)


def test_other_faults_of_yaml_say_nothing_of_patterns() -> None:
    with pytest.raises(RepositoryConfigError) as refused:
        parse_config("axes: {symptom: [a}\n", "a.yml", TAXONOMY)
    assert "quote" not in str(refused.value)


# ---------------------------------------------------------------- encodings


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_labels_and_configurations_are_read_as_powershell_writes_them(
    command: Command, tmp_path: Path, encoding: str
) -> None:
    labels, config = tmp_path / "labels.json", tmp_path / "distriage.yml"
    labels.write_text(json.dumps([{"name": "Hänger", "description": "a hang"}], ensure_ascii=False), encoding=encoding)
    config.write_text("axes: {symptom: {labels: {runtime-hang: Hänger}}}\n", encoding=encoding)
    done = command("config", "init", "--labels", labels)
    assert done.code == 0 and "Hänger" in done.out
    assert load_config(config, TAXONOMY).axes["symptom"].labels["runtime-hang"].name == "Hänger"


# ---------------------------------------------------------------- values that cannot work


BOT = {"github_app_id": "12345", "github_webhook_secret": "x" * 32}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("github_webhook_secret", "x" * 32 + "\n", "has a line feed or a blank at an end"),
        ("github_webhook_secret", " " + "x" * 32, "has a line feed or a blank at an end"),
        ("github_webhook_secret", '"' + "x" * 32 + '"', "has quotes around it"),
        ("github_app_id", '"12345"', "has quotes around it"),
        ("github_app_id", "'12345'", "has quotes around it"),
        ("github_client_id", '"Iv1.x"', "has quotes around it"),
        ("admin_token", "x" * 32 + "\r\n", "has a line feed or a blank at an end"),
    ],
)
def test_a_value_that_cannot_work_is_refused_at_the_start(name: str, value: str, why: str) -> None:
    given = {**BOT, "github_private_key": app_key_pem(), name: value}
    with pytest.raises(ConfigError, match=f"{name.upper()}: {why}|--{name}: {why}"):
        load_settings(given)


# ---------------------------------------------------------------- smaller rules


def test_of_two_labels_the_exact_name_wins() -> None:
    text = draft("owner/repo", [TheirLabel("[Bug]"), TheirLabel("bug")], TAXONOMY)
    assert 'bug: "bug"' in text and 'also possible, "[Bug]"' in text


def test_half_an_emoji_is_read_as_everywhere(server: Running) -> None:
    body = rb'{"reports": [{"title": "It hangs \ud83d", "body": "\\ud83d \ud83d\ude00 \udead"}]}'
    with local_http.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        answer = client.post("/v1/classify", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text
