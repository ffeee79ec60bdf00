# ruff: noqa: F401, F811  # fixtures
"""Which configuration a run of the Action found, and how the summary says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import faults
from support.action import Act, act, double, runner, summary
from support.faults import Trouble
from support.github import GitHub

OWN, GENERAL = "owner/repo/.github/distriage.yml", "owner/.github/.github/distriage.yml"


@pytest.mark.parametrize("found", [(), (OWN,), (GENERAL,), (OWN, GENERAL)])
def test_the_last_line_of_the_summary_says_which_files_were_read(
    double: GitHub, runner: Path, act: Act, found: tuple[str, ...]
) -> None:
    double.files |= dict.fromkeys(found, "dry-run: true\n")
    assert act() == 0
    said = ", ".join(f"`{place}`" for place in found) or "none found, so the defaults"
    assert summary(runner).rstrip().endswith(f"mode balanced; configuration: {said}")


def test_an_organization_s_file_that_the_token_may_not_read_is_seen_to_be_missing(
    double: GitHub, runner: Path, act: Act
) -> None:
    double.files[GENERAL] = "dry-run: true\n"
    double.troubles.append(Trouble("POST /graphql", faults.status(404), times=9))
    double.troubles.append(Trouble("GET /repos/owner/.github/contents", faults.status(404), times=9))
    assert act() == 0
    assert "configuration: none found" in summary(runner)


def test_a_file_with_the_other_ending_is_a_warning(
    double: GitHub, runner: Path, act: Act, capsys: pytest.CaptureFixture[str]
) -> None:
    double.files["owner/repo/.github/distriage.yaml"] = "#" * 70_000  # more than is read of a configuration
    assert act() == 0
    said = "owner/repo: .github/distriage.yaml is not read; expected the name .github/distriage.yml"
    assert f"::warning title=Distriage::{said}" in capsys.readouterr().out and said in summary(runner)
    double.files[OWN] = "dry-run: true\n"
    assert act() == 0
    assert "not read" not in capsys.readouterr().out
