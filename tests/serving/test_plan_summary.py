"""What the step summary of a plan says."""

from __future__ import annotations

from distriage.answer.verdict import Candidate, Differential
from distriage_serving.planning import markdown
from distriage_serving.planning.summary import summary_of
from distriage_serving.planning.types import LabelDefinition, Plan, PlannedComment

from support.plans import SAME, TAXONOMY, plan, state, summary
from support.verdicts import make_verdict


def test_the_title_of_the_summary_is_the_report_s_as_text() -> None:
    title = "<b>@octocat</b> | ` [x](y)"
    shown = summary(plan(title=title), title=title)
    assert "`<b>@octocat</b> ¦ ˋ [x](y)`" in shown
    assert "| Symptom | `runtime-hang` | 0.90 |" in shown and "| Distributed | `yes` | 0.90 | `no` | 0.10 |" in shown


def test_the_summary_shows_the_causes_to_tell_apart() -> None:
    causes = [Candidate(label="deadlock", probability=0.4, check="Compare the stacks of `a | b`.")]
    unsure = make_verdict(cause="abstain").model_copy(
        update={"differential": Differential(causes=causes, right_among=0.7)}
    )
    shown = summary_of(plan(unsure), unsure, state(), TAXONOMY)
    assert "**Which cause** (the right one was among the three likeliest in 70% of held-out reports)" in shown
    assert "- `deadlock` 0.40: Compare the stacks of `a | b`." in shown
    assert "Which cause" not in summary(plan())


def test_the_summary_says_what_is_done_and_what_was_found() -> None:
    found = [SAME, SAME.model_copy(update={"probability": 0.8, "state": ""})]
    verdict = make_verdict(stage="not-applicable", environment={"torch": "2.1"}, missing=("nccl",)).model_copy(
        update={"duplicates": found}
    )
    made = Plan(
        state().issue,
        labels=("a", "b"),
        create=(LabelDefinition("b", "ededed", ""),),
        take_off=("c",),
        comment=PlannedComment("x", "d", replaces=5),
    )
    text = summary_of(made, verdict, state(), TAXONOMY)
    for part in (
        "**Labels** to add: `a`, `b` (new)\n",
        "**Labels** to take off: `c`\n",
        "**Comment**: edited\n",
        "| Stage | does not apply |",
        "**Likely the same issue** (of pairs this alike, 83% were the same issue)",
        "(closed: `completed`)\n",
        "| torch | `2.1` |",
        "**Missing**\n\n- Which nccl?\n",
    ):
        assert part in text
    assert markdown.duplicates(found[1:]).endswith("`")  # nothing is known of its state
    nothing = summary(Plan(state().issue))
    assert "**Labels**: none to add\n" in nothing
    assert not any(word in nothing for word in ("take off", "Comment", "Likely", "Environment", "Missing"))
