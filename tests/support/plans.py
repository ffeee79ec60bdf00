"""Plans for verdicts, issues and configurations of tests."""

from __future__ import annotations

from typing import Any

from distriage.answer.verdict import LikelyDuplicate, Verdict
from distriage.base.references import IssueReference
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.configuration.names import resolve
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.summary import summary_of
from distriage_serving.planning.types import IssueState, Plan

from support.verdicts import make_verdict

TAXONOMY = default_taxonomy()
SAME = LikelyDuplicate(
    id="owner/repo#7",
    title="Hang @octocat #9 `x` <b> closes #3 [a](b)\nnext",
    url="https://github.com/owner/repo/issues/7",
    state="closed",
    closed_by="completed",
    probability=0.91,
)


def config(text: str = "") -> RepositoryConfig:
    """A repository's configuration."""
    return parse_config(text, "distriage.yml", TAXONOMY)


def state(**changes: Any) -> IssueState:
    """An issue on GitHub."""
    return IssueState(**{"issue": IssueReference("owner/repo", 1), "title": "A hang", "author": "alice", **changes})


def plan(verdict: Verdict | None = None, text: str = "", **changes: Any) -> Plan:
    """The plan for a verdict on an issue that is so, configured so."""
    return make_plan(verdict or make_verdict(), state(**changes), resolve(config(text), TAXONOMY))


def why(made: Plan, what: str) -> str:
    """Why something was left out."""
    return "; ".join(item.why for item in made.left_out if item.what == what)


def summary(made: Plan, **changes: Any) -> str:
    """The step summary of a plan for an issue that is so."""
    return summary_of(made, make_verdict(), state(**changes), TAXONOMY)
