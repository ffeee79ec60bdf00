# ruff: noqa: F401, F811  # fixtures
"""The configuration and the forms that the Action reads in one GraphQL request, against those that REST reads."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import ConfigError
from distriage.github import forms
from distriage.github.client import Client
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.action.files import QUERY, read_ahead
from distriage_serving.configuration.model import CONFIG_PATH, MISNAMED
from distriage_serving.github.files import find_config, is_there

from support import faults, github_graphql
from support.action import Act, act, double, runner
from support.faults import Fault, Trouble
from support.github import GitHub

OWN, GENERAL = f"owner/repo/{CONFIG_PATH}", f"owner/.github/{CONFIG_PATH}"
FORM = "owner/repo/.github/ISSUE_TEMPLATE/bug.yml"
A_FORM = "body:\n  - {type: input, attributes: {label: Version}}\n"
PERHAPS, DRY = "suggestions: perhaps\n", "dry-run: true\n"
FILES: dict[str, dict[str, str]] = {
    "none": {},
    "its own": {OWN: PERHAPS},
    "the owner's alone": {GENERAL: DRY},
    "both": {OWN: PERHAPS, GENERAL: DRY},
    "a misnamed one": {f"owner/repo/{MISNAMED}": PERHAPS, "owner/repo/.github/workflows/x.yml": "x"},
    "at another place": {"owner/repo/triage.yml": DRY, "owner/repo/src/x.py": "1"},
    "forms": {OWN: PERHAPS, FORM: A_FORM, "owner/repo/.github/ISSUE_TEMPLATE/config.yml": "x"},
    "the owner's forms": {GENERAL: DRY, FORM.replace("/repo/", "/.github/"): A_FORM},
    "a template with a space": {FORM.replace("bug.yml", "a bug.md"): "## Version\n"},
    "too large": {OWN: "#" * 70_000},
    "more than GraphQL gives": {OWN: "#" * 600_000, FORM: "#" * 600_000},
    "not a text": {OWN: "dry-run: \x00"},
    "no folder": {"owner/repo/.github/ISSUE_TEMPLATE": "one file of the name"},
}
LINKS = {"a link": {OWN: PERHAPS}}
VARIABLES = {"owner": "owner", "name": "repo", "folder": "HEAD:.github", "config": f"HEAD:{CONFIG_PATH}"}


@pytest.fixture(autouse=True)
def forget(github: GitHub) -> None:
    forms.forget_forms(Client(github.token, github.url), "owner/repo")


@pytest.fixture
def act_on_ghes(double: GitHub, act: Act, monkeypatch: pytest.MonkeyPatch) -> Act:
    """Runs the action on a GitHub Enterprise Server, whose REST API and GraphQL are below `/api`."""
    double.behind = "/api/v3"
    monkeypatch.setenv("GITHUB_API_URL", f"{double.url}/api/v3")
    return act


def read(github: GitHub, path: str, *, ahead: bool) -> tuple[list[Any], list[str]]:
    """All that a run reads of files, or its error; and the requests."""
    client, since = Client(github.token, github.url, sleep=lambda _: None), len(github.requests)
    forms.forget_forms(client, "owner/repo")
    found: list[Any] = [read_ahead(client, "owner/repo", path)] if ahead else [None]
    try:
        found += [find_config(client, "owner/repo", path, default_taxonomy())]
    except ConfigError as error:
        found += [str(error)]
    found += [forms.form_lines(client, "owner/repo"), is_there(client, "owner/repo", MISNAMED)]
    return found, [f"{request.method} {request.path}" for request in github.requests[since:]]


@pytest.mark.parametrize("name", [*FILES, *LINKS])
def test_graphql_finds_all_that_rest_finds(github: GitHub, name: str) -> None:
    github.files |= {**FILES, **LINKS}[name]
    github.links |= set(LINKS.get(name, ()))
    path = "triage.yml" if name == "at another place" else CONFIG_PATH
    (by_rest, _), (ahead, asked) = (read(github, path, ahead=way) for way in (False, True))
    assert ahead == by_rest
    assert asked[0] == "POST /graphql"
    one_by_one = {"more than GraphQL gives": 2, "a link": 1, "a misnamed one": 1, "not a text": 1, "no folder": 1}
    one_by_one["at another place"] = 1  # the name that is not read, which a run looks for only beside the usual one
    may_be_hidden = path == CONFIG_PATH and not any(file.startswith("owner/repo/.github/") for file in github.files)
    assert len(asked) == 1 + one_by_one.get(name, 0) + may_be_hidden, asked


REFUSALS = {
    "not found": faults.status(404),
    "not for this token": faults.integration(),
    "limit": Fault(200, json.dumps({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit"}]}), {}),
    "no answer": Fault(200, "[]", {}),
    "a part": Fault(
        200,
        json.dumps(
            {
                "data": {"own": {"folder": None, "config": None, "forms": None}, "general": None},
                "errors": [
                    {"type": "FORBIDDEN", "path": [repository], "message": "Resource not accessible by integration"}
                    for repository in ("own", "general")
                ],
            }
        ),
        {},
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_where_graphql_is_refused_each_file_is_read(
    double: GitHub, act: Act, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    double.files |= {OWN: "axes: {symptom: false}\n", GENERAL: DRY, FORM: A_FORM}
    double.troubles.append(Trouble("POST /graphql", REFUSALS[name], times=9))
    assert act(login="bot") == 0
    said = capsys.readouterr().out
    assert said.count("its files are read one by one") == 1
    asked = [request.path for request in double.requests if "/contents/" in request.path]
    assert len(asked) == 4 and double.written == []


def test_where_graphql_is_broken_each_file_is_read(github: GitHub) -> None:
    github.files |= {OWN: PERHAPS, FORM: A_FORM}
    github.troubles.append(Trouble("POST /graphql", faults.status(502), times=9))
    (by_rest, _), (ahead, asked) = (read(github, CONFIG_PATH, ahead=way) for way in (False, True))
    assert "POST /graphql" in ahead[0] and ahead[1:] == by_rest[1:]
    assert len({line for line in asked if "/contents/" in line}) == 5


def test_a_server_of_one_s_own_has_graphql_elsewhere(
    double: GitHub, act_on_ghes: Act, capsys: pytest.CaptureFixture[str]
) -> None:
    double.files[OWN] = DRY
    assert act_on_ghes(login="bot") == 0 and double.written == []
    assert "one by one" not in capsys.readouterr().out
    assert double.requests[0].path == "/api/graphql"
    assert not [request for request in double.requests if "/contents/" in request.path]


def test_a_proxy_that_passes_rest_alone_is_enough(
    double: GitHub, act_on_ghes: Act, capsys: pytest.CaptureFixture[str]
) -> None:
    double.files[OWN] = DRY
    double.troubles.append(Trouble("POST .*/graphql", Fault(404, "<html>", {"Content-Type": "text/html"})))
    assert act_on_ghes("true", login="bot") == 0 and double.written == []
    assert capsys.readouterr().out.count("its files are read one by one") == 1


def test_nothing_is_said_where_only_the_owner_has_no_files(
    double: GitHub, act: Act, capsys: pytest.CaptureFixture[str]
) -> None:
    double.files[OWN] = PERHAPS
    assert act(login="bot") == 0
    assert "one by one" not in capsys.readouterr().out
    assert not [request for request in double.requests if "/contents/" in request.path]


def test_files_that_are_hidden_without_a_word_are_not_taken_for_absent(
    double: GitHub, act: Act, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = {"data": {"own": {"folder": None, "config": None, "forms": None}, "general": None}}
    double.troubles.append(Trouble("POST /graphql", Fault(200, json.dumps(hidden), {})))
    double.troubles.append(Trouble("GET /repos/owner/repo/contents/", faults.integration()))
    assert act(login="bot") == 0
    assert "permission `contents: read`" in capsys.readouterr().out and double.written == []


def test_a_folder_that_github_does_not_list_is_not_taken_for_empty(double: GitHub, act: Act) -> None:
    double.files |= {OWN: DRY, FORM: A_FORM}
    unlisted = {"folder": {"entries": None}, "config": None, "forms": {"entries": None}}
    answer = json.dumps({"data": {"own": unlisted, "general": unlisted}})
    double.troubles.append(Trouble("POST /graphql", Fault(200, answer, {})))
    assert act("true", login="bot") == 0 and double.written == []  # as the configuration asks
    assert len([request for request in double.requests if "/contents/" in request.path]) == 4


def test_the_query_and_the_double_s_answers_are_as_github_s_schema_says(node_modules: Path) -> None:
    sets = [(name, files) for name, files in {**FILES, **LINKS}.items() if files]
    cases = [{"files": files, "links": sorted(LINKS.get(name, ()))} for name, files in sets]
    asked = {"query": QUERY, "variables": VARIABLES, "cases": cases, "modules": str(node_modules)}
    command = ["node", str(Path(github_graphql.__file__).with_suffix(".mjs"))]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=120, check=True)
    for (name, files), answer in zip(sets, json.loads(done.stdout), strict=True):
        assert "errors" not in answer, (name, answer["errors"][:1])
        ours = github_graphql.answer(files, set(LINKS.get(name, ())), **VARIABLES)["data"]
        ours["own"] = ours["own"] if any(file.startswith("owner/repo/") for file in files) else None
        assert answer["data"] == ours, name
