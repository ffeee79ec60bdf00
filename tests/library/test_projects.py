"""The projects that `frameworks.toml` lists; and one entry more is seen wherever a framework counts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from importlib import resources

import pytest

from distriage.answer.questions import missing_facts
from distriage.base.errors import DistriageError
from distriage.base.references import RENAMED
from distriage.base.types import IssueReport
from distriage.facts.environment import find_facts, find_versions
from distriage.facts.projects import projects, read_projects
from distriage.facts.situation import Platform
from distriage.reading.report import read

from support.checkout import REPOSITORY

ALL = projects().all.values()


def test_each_repository_and_name_is_of_one_project_and_written_as_it_is_compared() -> None:
    repositories = Counter(one for project in ALL for one in project.repositories)
    names = Counter(one for project in ALL for one in project.names)

    assert {one: count for one, count in (repositories + names).items() if count > 1 or one != one.lower()} == {}
    assert repositories.keys().isdisjoint(RENAMED), "the present names; RENAMED leads to them"


def test_each_entry_names_others_of_the_list_and_devices_that_there_are() -> None:
    for project in ALL:
        assert {*project.on, project.part_of or project.name} <= projects().all.keys(), project.name
        assert project.platform in {None, *Platform}, project.name
        assert all(launcher.expression and launcher.starts for launcher in project.launchers.values())
        assert all(stamp.starts and "v" in stamp.expression.groupindex for stamp in project.stamps), project.name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[Flock]\nrepository = ["acme/flock"]\nwhat = "trainer"\n',
            "Flock: unknown key repository; did you mean repos",
        ),
        ("x = 1\n[Flock]\n", "x: expected a table"),
        ("[Flock\n", "not valid TOML: "),
    ],
)
def test_an_entry_that_is_not_valid_is_named(text: str, message: str) -> None:
    with pytest.raises(DistriageError) as refused:
        read_projects(text)
    assert str(refused.value).startswith(f"frameworks.toml: {message}")


@pytest.mark.parametrize("old", ["microsoft/DeepSpeed", "PyTorchLightning/pytorch-lightning", "NVIDIA/NeMo"])
def test_a_renamed_tracker_is_the_present_one(old: str) -> None:
    assert projects().tracker_of(f"{old}#1").project is not None


def test_a_framework_that_is_added_is_seen_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worked example of CONTRIBUTING.md."""
    guide = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    example = re.search(r"### A framework\n.*?```toml\n(.*?)```", guide, re.S)
    assert example is not None
    listed = resources.files("distriage.facts").joinpath("frameworks.toml").read_text(encoding="utf-8")
    more = read_projects(f"{listed}\n{example[1]}")
    for module in ("environment", "frameworks", "projects", "situation", "systems", "needs"):
        monkeypatch.setattr(f"distriage.facts.{module}.projects", lambda: more)
    monkeypatch.setattr("distriage.answer.questions.projects", lambda: more)

    at_home = read(IssueReport("Flock hangs", "`flockrun -n 8 train.py`, deepspeed 0.16.1", "acme/flock#7"))
    facts, situation = at_home.facts, at_home.situation
    assert (facts.framework, facts.framework_version, facts.launcher) == ("Flock", None, "flockrun")
    assert (situation.library, situation.platform) == ("PyTorch", Platform.NPU)
    asked = [
        question.question for question in missing_facts(replace(facts, others={}), has_error=True, situation=situation)
    ]
    assert "Which version (or commit) of Flock is in use?" in asked

    elsewhere = find_facts("flock-trainer 1.4.0 hangs", "")
    assert (elsewhere.framework, elsewhere.framework_version) == ("Flock", "1.4.0")
    assert find_versions("It hangs", "loading [flock/1.5.2]", "acme/flock#8")["framework_version"] == "1.5.2"
    assert more.tracker_of("acme/flock#1").project == more.all["Flock"]
    assert more.all["Flock"].distributed
    assert find_facts("flock-trainer 1.4.0 hangs", "", "other/tool#1").framework == "tool"
