"""What the step summary of a plan says."""

from __future__ import annotations

from distriage.answer.verdict import Candidate, Differential
from distriage.own.answer import OwnLabel
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


def test_the_summary_explains_each_own_label() -> None:
    own = [
        OwnLabel(label="docs", probability=0.91, applied=True, precision=0.8),
        OwnLabel(label="there", probability=0.9, applied=True, precision=0.8),
        OwnLabel(label="gone", probability=0.89, applied=True, precision=0.75),
        OwnLabel(label="a | b", probability=0.4, applied=False),
    ]
    verdict = make_verdict().model_copy(update={"own": own})
    on_github = {"labels": frozenset({"There"}), "repository_labels": frozenset({"docs", "There", "a | b"})}
    text = summary_of(plan(verdict, **on_github), verdict, state(**on_github), TAXONOMY)
    for row in (
        "| own label | p | why |",
        "| `docs` | 0.91 | `Learned from this repository's labelled issues, and right in 80% of held-out ones.` |",
        "| `there` | 0.90 | the issue has it |",
        "| `gone` | 0.89 | sure enough: right in 75% of held-out issues |",
        "| `a ¦ b` | 0.40 | not sure enough |",
        "- `gone`: an own label that the repository no longer has",
    ):
        assert row in text
    assert "own label |" not in summary(plan())


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
    comment = PlannedComment("<!-- marker -->\nThanks!\n\n- Which nccl?", "d", None)
    dry = summary(Plan(state().issue, comment=comment, dry_run=True))
    assert "**Comment**: would be written\n\n> <!-- marker -->\n> Thanks!\n> \n> - Which nccl?\n" in dry
    nothing = summary(Plan(state().issue))
    assert "**Labels**: none to add\n" in nothing
    assert not any(word in nothing for word in ("take off", "Comment", "Likely", "Environment", "Missing"))
