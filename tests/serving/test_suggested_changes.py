# ruff: noqa: F401, F811  # fixtures
"""Types, issue fields and duplicates as suggestions; and the reason beside a change."""

from __future__ import annotations

from typing import Any

import pytest

from distriage.answer.policy import measured_precision
from distriage.answer.verdict import EvidenceLine, LikelyDuplicate, Verdict
from distriage.base.references import IssueReference
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.configuration.names import resolve
from distriage_serving.planning.intent import MAX_CHARS, confidence_of, duplicate_intent, intent_of, plain
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.suggested import IssueField, Suggested
from distriage_serving.planning.types import IssueState

from support.bot import HANG, ISSUE, Bot, Make, bot, github, make, store
from support.github import PERSON, GitHub
from support.github_shapes import issue_field
from support.verdicts import make_verdict

PERHAPS = "It ends with a timeout after ten minutes of training."
SURE = "It hangs, hangs and hangs."
FAILURE = issue_field(5, "Failure", "Out of memory", "Hang", "Crash")
CONFIG = """
suggestions: perhaps
axes:
  symptom: {field: Failure, labels: {hang: {type: Bug, enabled: false}}}
"""


@pytest.fixture
def typed(github: GitHub) -> GitHub:
    github.files["owner/repo/.github/distriage.yml"] = CONFIG
    github.suggesting.add("owner/repo")
    github.issue_fields.append(FAILURE)
    github.issues[ISSUE] |= {"title": "It stops", "body": PERHAPS}
    return github


def test_a_type_and_a_field_are_suggested_in_one_request(typed: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    made = [(one["action"], one["target_value"], one["confidence"]) for one in typed.pending(ISSUE)]
    assert made == [("set_type", "Bug", "LOW"), ("add_field", "Hang", "LOW")]
    assert [method for method, path in bot.writes()] == ["PATCH"]
    assert "labels" not in typed.written[-1].body and typed.labels(ISSUE) == []
    bot.issue("edited")
    assert len(typed.suggestions[ISSUE]) == 2


def test_what_is_sure_is_set_where_it_is_empty(typed: GitHub, bot: Bot) -> None:
    typed.issues[ISSUE]["body"] = SURE
    bot.issue("opened")
    issue = typed.issues[ISSUE]
    assert issue["type"]["name"] == "Bug" and [one["value"] for one in issue["issue_field_values"]] == ["Hang"]
    issue["issue_field_values"] = []  # somebody empties it, which no timeline shows
    bot.issue("edited")
    assert issue["issue_field_values"] == []
    typed.fill_in(ISSUE, 5, "Crash")
    bot.issue("edited")
    assert [one["value"] for one in issue["issue_field_values"]] == ["Crash"]


def test_of_a_type_and_a_field_one_review_counts(typed: GitHub, bot: Bot) -> None:
    bot.issue("opened")
    for one in typed.pending(ISSUE):
        typed.decide(ISSUE, one["id"], PERSON, approve=one["action"] == "set_type")
    bot.issue("edited")
    assert bot.reviews() == [("approve", "hang", "maintainer", "hang")]
    assert typed.issues[ISSUE]["type"]["name"] == "Bug"
    bot.issue("edited")
    assert len(typed.suggestions[ISSUE]) == 2


def test_where_reasons_are_refused_type_and_field_are_set(typed: GitHub, bot: Bot) -> None:
    typed.takes_reasons = False
    typed.issues[ISSUE]["body"] = SURE
    bot.issue("opened")
    issue = typed.issues[ISSUE]
    assert issue["type"]["name"] == "Bug" and [one["value"] for one in issue["issue_field_values"]] == ["Hang"]
    assert "takes no suggestions" in (bot.job().last_error or "")


# ---------------------------------------------------------------- the plan


TAXONOMY = default_taxonomy()
ORIGINAL = LikelyDuplicate(id="owner/repo#7", title="Same", url="", state="open", closed_by="", probability=0.8)


def plan_of(verdict: Verdict, suggestions: str = "perhaps", **state: Any) -> Any:
    config = RepositoryConfig.model_validate({"suggestions": suggestions})
    known = IssueState(IssueReference("owner/repo", 12), "A hang", "octocat", **state)
    return make_plan(verdict, known, resolve(config, TAXONOMY))


def with_duplicate(id_: str = ORIGINAL.id) -> Verdict:
    return make_verdict().model_copy(update={"duplicates": [ORIGINAL.model_copy(update={"id": id_})]})


def test_a_duplicate_is_suggested_and_never_closed() -> None:
    (made,) = [one for one in plan_of(with_duplicate()).suggestions if one.action == "close_issue"]
    assert (made.value, made.shown, made.intent.confidence) == ("7", "duplicate of #7", "medium")
    assert "83%" in made.intent.rationale


@pytest.mark.parametrize(
    ("id_", "suggestions", "state"),
    [
        ("owner/other#7", "perhaps", {}),
        ("owner/repo#12", "perhaps", {}),
        (ORIGINAL.id, "off", {}),
        (ORIGINAL.id, "perhaps", {"is_open": False}),
        (ORIGINAL.id, "perhaps", {"suggested": (Suggested("close_issue", "7", "dismissed"),)}),
        (ORIGINAL.id, "perhaps", {"suggested": (Suggested("close_issue", "7", "pending"),)}),
    ],
)
def test_when_no_duplicate_is_suggested(id_: str, suggestions: str, state: dict[str, Any]) -> None:
    plan = plan_of(with_duplicate(id_), suggestions, **state)
    assert [one for one in plan.suggestions if one.action == "close_issue"] == [] and plan.dismiss == ()


def test_a_suggestion_that_github_holds_back_is_not_approved_by_us() -> None:
    held = Suggested("add_label", "symptom: runtime-hang", "pending", 3, held=True, axis="symptom")
    plan = plan_of(make_verdict(), suggested=(held,))
    assert plan.approve == () and plan.dismiss == () and "symptom: runtime-hang" not in plan.labels


# ---------------------------------------------------------------- the reason


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("`rm -rf /` **now** <b>bold</b> ~~no~~ | cell", "rm -rf / now bbold/b no cell"),
        ("cc @maintainer see owner/repo#12, GH-3 and #4", "cc maintainer see owner/repo 12, 3 and 4"),
        ("![x](https://evil.example/a) [y](http://b) www.c.d", "x( evil.example/a) y( b) c.d"),
        ("__init__ of torch.distributed_c10d _emphasis_", "init of torch.distributed_c10d emphasis"),
        ("a\x1b[31mred\u202e\ud800 b\nc", "a 31mred b c"),
    ],
)
def test_a_reporters_line_is_plain_text(line: str, shown: str) -> None:
    assert plain(line) == shown


@pytest.mark.parametrize("length", [10, 200, 279, 280, 281, 5000])
def test_a_reason_is_one_line_of_at_most_280_characters(length: int) -> None:
    said = (
        make_verdict()
        .axes["symptom"]
        .model_copy(update={"precision": 0.8, "evidence": [EvidenceLine(line="x y" * length, weight=1.0)]})
    )
    made = intent_of(said, "Symptom")
    assert len(made.rationale) <= MAX_CHARS and "\n" not in made.rationale
    assert made.rationale.endswith("” (labels this sure were right in 80% of held-out reports).")
    assert made.confidence == "medium"
    title = ORIGINAL.model_copy(update={"title": "t" * length})
    assert len(duplicate_intent(title, 7).rationale) <= MAX_CHARS


@pytest.mark.parametrize(
    ("probability", "precision", "confidence"),
    [(0.95, 0.9, "high"), (0.69, 0.8, "medium"), (0.49, 0.5, "low"), (0.2, 0.5, "low"), (0.1, None, "low")],
)
def test_confidence_is_the_measured_precision_not_the_probability(
    probability: float, precision: float | None, confidence: str
) -> None:
    """With the modes' floors: a low threshold holds on average over the labels above it."""
    found = measured_precision(probability, {"0.50": 0.15, "0.80": 0.2, "0.90": 0.3})
    assert (found, confidence_of(found)) == (precision, confidence)


def test_an_option_is_known_by_its_words() -> None:
    field = IssueField(1, "Failure", ("Out of memory", "Runtime hang"))
    assert field.option("runtime-hang") == "Runtime hang" and field.option("crash") is None
