"""What a plan says in its comment, and the Markdown of both comment and summary."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.answer.verdict import KnownProblem
from distriage.base.types import Silence
from distriage.past.same import HOW_OFTEN
from distriage_serving.configuration.names import resolve
from distriage_serving.planning import markdown
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.summary import summary_of
from distriage_serving.planning.types import OwnComment

from support.plans import SAME, TAXONOMY, config, plan, state, summary, why
from support.verdicts import axis_verdict, make_verdict


def test_the_comment_has_its_marker_first_and_asks_what_is_missing() -> None:
    made = plan(make_verdict(missing=("torch", "nccl")), "ask-for-environment: true")
    assert made.comment is not None
    marker = Marker.read(made.comment.body)
    assert marker == Marker("v1", made.comment.digest)
    assert Marker.read(Marker.of("x", "answer").write("x")) == Marker.of("x", "answer")
    assert Marker.read(f"> {made.comment.body}") is None
    assert "- Which torch?\n- Which nccl?" in made.comment.body
    assert "This is missing from the report; please add it to the description:\n\n- Which torch?" in made.comment.body


@pytest.mark.parametrize("on_the_way", ["Hello\nyou", "Hello\r\nyou\r\n", "Hello\nyou\n\n"])
def test_line_ends_and_blanks_that_are_lost_are_no_edit(on_the_way: str) -> None:
    marker = Marker.of("Hello\nyou\n")
    assert marker.is_of(marker.write(on_the_way))
    assert not marker.is_of(marker.write("Hello you\n"))


def test_nothing_to_say_is_no_comment() -> None:
    assert plan(make_verdict(), "ask-for-environment: true").comment is None
    assert plan(make_verdict(missing=("torch",))).comment is None


NOTHING_SURE = dict.fromkeys(("stage", "symptom", "cause", "fix"), "not-applicable")


@pytest.mark.parametrize("template", ["true", "'Hello {{ axes }} from {{ model }}'", "'Hello {{questions}}'"])
def test_a_greeting_with_nothing_behind_it_is_no_comment(template: str) -> None:
    wanted = f"comment: {template}\nask-for-environment: true"
    assert plan(make_verdict(**NOTHING_SURE), wanted).comment is None
    asks = plan(make_verdict(missing=("torch",), **NOTHING_SURE), wanted).comment
    assert asks is not None and "Which torch?" in asks.body
    fixed = plan(make_verdict(**NOTHING_SURE), "comment: We have read it.").comment
    assert fixed is not None and fixed.body.endswith("\nWe have read it.")


def test_a_comment_that_has_nothing_left_to_say_is_taken_back() -> None:
    first = plan(make_verdict(), "comment: true").comment
    assert first is not None
    own = OwnComment(5, first.digest)
    gone = plan(make_verdict(**NOTHING_SURE), "comment: true", own_comment=own).comment
    assert gone is not None and gone.replaces == 5 and "no longer holds" in gone.body


def test_a_comment_is_taken_back_where_the_report_turns_out_foreign_or_nothing_is_sure_any_more() -> None:
    first = plan(make_verdict(), "comment: true").comment
    assert first is not None
    own = OwnComment(5, first.digest)
    foreign = make_verdict().model_copy(update={"in_domain": False})
    for verdict in (foreign, make_verdict(**NOTHING_SURE)):
        gone = plan(verdict, "comment: true\nask-for-environment: true", own_comment=own).comment
        assert gone is not None and "no longer holds" in gone.body


def test_the_comment_does_not_state_what_a_person_rejected() -> None:
    first = plan(make_verdict(), "comment: true").comment
    assert first is not None and "Symptom: `runtime-hang`" in first.body
    said = plan(make_verdict(), "comment: true", decided={"symptom": "setup-hang"}).comment
    assert said is not None and "Symptom" not in said.body and "Stage" in said.body
    assert plan(make_verdict(), "comment: true", decided={"kind": "question"}).comment is None


HANG, OTHER = "symptom: runtime-hang", "symptom: low-throughput"


@pytest.mark.parametrize(
    ("stated", "issue"),
    [
        (True, {}),
        (True, {"labels": frozenset({HANG.upper()})}),  # a person set it and so agrees
        (True, {"labels": frozenset({"symptom: execution"}), "labels_by_us": frozenset({"symptom: execution"})}),
        (True, {"labels": frozenset({HANG}), "removed": frozenset({HANG})}),  # and it was set again
        (False, {"removed": frozenset({HANG})}),
        (True, {"labels": frozenset({HANG}), "removed": frozenset({"symptom: execution"})}),  # the family that it is of
        (True, {"removed": frozenset({"symptom: execution"})}),  # the label itself is set now
        (False, {"labels": frozenset({OTHER})}),
        (False, {"labels": frozenset({HANG, OTHER}), "labels_by_us": frozenset({HANG})}),
        (False, {"labels": frozenset({OTHER}), "labels_by_us": frozenset({OTHER})}),  # for the report as it was
        (True, {"labels": frozenset({OTHER}), "labels_by_us": frozenset({OTHER}), "rewritten": True}),  # replaced
    ],
)
def test_the_comment_and_the_labels_do_not_contradict_each_other(stated: bool, issue: dict[str, Any]) -> None:
    made = plan(text="comment: true", **issue).comment
    assert made is not None and "Stage" in made.body
    assert ("Symptom: `runtime-hang`" in made.body) is stated


@pytest.mark.parametrize("removed", [frozenset(), frozenset({"symptom: execution"})])
def test_a_family_that_somebody_took_off_counts_where_its_label_is_not_set(removed: frozenset[str]) -> None:
    text = "comment: true\naxes: {stage: true, symptom: {labels: {runtime-hang: false}}}"
    made = plan(text=text, removed=removed).comment
    assert made is not None and ("Symptom: `runtime-hang`" in made.body) is (not removed)


def test_a_known_problem_stands_in_the_comment_and_leaves_no_trace_where_it_was_reported() -> None:
    page = "https://github.com/acme/train/issues/7"
    problem = KnownProblem(problem="Train 1 needs `torch` 2.", remedy="Upgrade.", source=page)
    verdict = make_verdict(**NOTHING_SURE).model_copy(update={"known_problems": [problem]})
    made = plan(verdict, "comment: true").comment
    shown = "- Train 1 needs `torch` 2. Upgrade. ([source](https://redirect.github.com/acme/train/issues/7))"
    assert made is not None and made.body.endswith(f"of the versions in this report:\n\n{shown}")
    assert plan(verdict, "comment: 'Known: {{ questions }}'").comment is None  # it was not asked for
    assert shown in summary_of(plan(verdict), verdict, state(), TAXONOMY)


def test_who_says_too_little_is_asked_whatever_the_field() -> None:
    said = axis_verdict("cause", outcome="abstain").model_copy(update={"silence": Silence.THIN})
    for in_domain in (True, False):
        thin = make_verdict(said, missing=("error",)).model_copy(update={"in_domain": in_domain})
        made = plan(thin, "ask-for-environment: true").comment
        assert made is not None and "says too little" in made.body and made.body.endswith("- Which error?")
    asked = plan(make_verdict(missing=("error",), **NOTHING_SURE), "comment: true\nask-for-environment: true").comment
    assert asked is not None and asked.body.partition("\n")[2].startswith(
        "Thank you for the report.\n\nThis is missing"
    )
    labelled = plan(make_verdict(), "comment: true").comment
    assert labelled is not None and "A classifier has read it; the maintainers may see it otherwise." in labelled.body
    foreign = make_verdict(missing=("error",)).model_copy(update={"in_domain": False})
    assert plan(foreign, "comment: true\nask-for-environment: true").comment is None


def test_the_template_is_filled_and_the_questions_added() -> None:
    made = plan(make_verdict(missing=("torch",)), "comment: 'Hello {{ labels }} {{ axes }}'\nask-for-environment: true")
    assert made.comment is not None
    for part in (
        "Hello `stage: training-evaluation`, `symptom: runtime-hang`",
        "- Symptom: `runtime-hang` (90%)",
        "- Which torch?",
    ):
        assert part in made.comment.body
    assert "rank-desynchronization" not in made.comment.body  # the cause is not labelled here


def test_the_own_comment_is_edited_and_an_equal_one_left() -> None:
    verdict = make_verdict(missing=("torch",))
    first = plan(verdict, "ask-for-environment: true").comment
    assert first is not None and first.replaces is None
    same = plan(verdict, "ask-for-environment: true", own_comment=OwnComment(5, first.digest))
    assert same.comment is None and why(same, "comment") == "the comment is up to date"
    theirs = plan(make_verdict(), "ask-for-environment: true", own_comment=OwnComment(5, first.digest, edited=True))
    assert theirs.comment is None and "somebody edited" in why(theirs, "comment")
    edited = plan(make_verdict(), "ask-for-environment: true", own_comment=OwnComment(5, first.digest)).comment
    assert edited is not None and edited.replaces == 5 and "Nothing" in edited.body


def test_a_second_run_after_the_first_changes_nothing() -> None:
    text = "comment: true\nneeds-triage: true"
    first = plan(make_verdict(), text)
    assert first.comment is not None
    done = frozenset(first.labels)
    second = plan(
        make_verdict(),
        text,
        labels=done,
        labels_by_us=done,
        repository_labels=done,
        own_comment=OwnComment(1, first.comment.digest),
    )
    assert (second.labels, second.create, second.comment) == ((), (), None)


REPEATED = make_verdict().model_copy(update={"duplicates": [SAME]})


def test_a_likely_duplicate_is_in_the_comment_only_where_that_is_switched_on() -> None:
    assert plan(REPEATED).comment is None and plan(make_verdict(), "name-duplicates: true").comment is None
    made = plan(REPEATED, "name-duplicates: true").comment
    assert made is not None
    shown = (
        "- [`owner/repo#7`](https://redirect.github.com/owner/repo/issues/7) "
        "`Hang @octocat #9 ˋxˋ <b> closes #3 [a](b) next` (closed: `completed`)"
    )
    assert made.body.endswith(f"It reads like:\n\n{shown}")
    more = {"closed_duplicate": "owner/repo#8", "fixed_in": "2.0", "possible_regression": True}
    again = make_verdict().model_copy(update={"duplicates": [SAME.model_copy(update=more)]})
    noted = plan(again, "name-duplicates: true").comment
    assert noted is not None and noted.body.endswith(
        "(closed: `completed`; `owner/repo#8` was closed as its duplicate; probably fixed in 2.0; "
        "possible regression, as the report states a newer version)"
    )
    without = re.sub(r"`[^`\n]*`", "", made.body.partition("\n")[2])
    assert not re.search(r"[@#<]|//github", without), "it mentions, refers or leaves a trace"
    assert f"**Likely the same issue** ({HOW_OFTEN})\n\n{shown}" in summary_of(
        plan(REPEATED), REPEATED, state(), TAXONOMY
    )


@pytest.mark.parametrize(
    "url", ["", "https://ghe.example.org/o/r/issues/7", "javascript:x", "https://github.com/o/r/issues/7)![x](y"]
)
def test_what_is_no_page_of_github_com_is_not_linked(url: str) -> None:
    item = SAME.model_copy(update={"url": url, "state": "open", "closed_by": "", "title": "A"})
    assert markdown.duplicates([item]) == "- `owner/repo#7` `A` (open)"


def test_the_comment_places_a_duplicate_where_its_template_says_and_takes_it_back() -> None:
    made = plan(REPEATED, "comment: 'Look: {{ duplicates }} Bye duplicates'\nname-duplicates: true").comment
    assert made is not None and made.body.endswith("Bye duplicates") and made.body.count("It reads like") == 1
    asks = make_verdict(missing=("torch",)).model_copy(update={"duplicates": [SAME]})
    both = plan(asks, "name-duplicates: true\nask-for-environment: true").comment
    assert both is not None and both.body.index("It reads like") < both.body.index("Which torch?")
    own, none = OwnComment(5, made.digest), make_verdict().model_copy(update={"duplicates": []})
    assert plan(make_verdict(), "name-duplicates: true", own_comment=own).comment is None  # nobody looked
    gone = plan(none, "name-duplicates: true", own_comment=own).comment
    assert gone is not None and gone.replaces == 5 and "no longer holds" in gone.body


def test_the_checks_stand_in_the_summary_and_where_the_comment_wants_them() -> None:
    made = plan(make_verdict(), "comment: |\n  Try first:\n\n  {{ checks }}\n")
    assert made.comment is not None and "Try first:\n\n1. Run `py-spy dump` on every rank." in made.comment.body
    assert "**Check first**\n\n1. Run `py-spy dump` on every rank.\n" in summary(made)
    without = plan(make_verdict(missing=("torch",)), "comment: true\nask-for-environment: true\nname-duplicates: true")
    assert without.comment is not None and "py-spy" not in without.comment.body


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"locked": True}, "locked"), ({"is_open": False}, "closed"), ({"comment_deleted": True}, "deleted")],
)
def test_no_comment_where_it_is_unwanted(changes: dict[str, Any], reason: str) -> None:
    made = plan(make_verdict(missing=("torch",)), "ask-for-environment: true", **changes)
    assert made.comment is None and reason in why(made, "comment")


HOSTILE = [
    "@octocat please look",
    "closes #12 and octocat/repo#3 and GH-4",
    "[link](javascript:alert(1)) <https://evil.example> www.evil.example",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "a | b \\| c \\\\| d",
    "`` ` ``` @octocat",
    "-->\n\n# heading\n::error::x\n<!-- distriage:v1 0000000000000000 -->",
    "\u202edesrever \x1b[31m \ud800 \x00 \u2028 :+1: $x$",
]
anything = (
    st.sampled_from(HOSTILE)
    | st.text(st.characters(), max_size=80)
    | st.text(alphabet="`|\\@#<>[]()!*_~:\n\r&-a ", max_size=60)
)


@given(anything)
def test_code_is_one_span_on_one_line_whatever_stands_in_it(text: str) -> None:
    shown = markdown.code(text)
    if shown == "–":
        return
    assert shown[0] == shown[-1] == "`" and len(shown) > 2
    inner = shown[1:-1]
    assert not set("`|\n\r") & set(inner)
    assert inner == inner.strip() and inner.isprintable() and len(inner) <= markdown.MAX_CHARS


@given(anything)
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    if text.isprintable() and not set("`|") & set(text) and text == " ".join(text.split()) and text:
        assert markdown.code(text) == f"`{text}`"


@given(title=anything, author=anything, label=anything, fact=anything)
def test_nothing_of_others_stands_outside_of_code(title: str, author: str, label: str, fact: str) -> None:
    calm = "x"
    shapes = []
    for values in ((title, author, label, fact), (calm, calm, calm, calm)):
        verdict = make_verdict(missing=("torch",), environment={"torch": values[3] or calm})
        verdict = verdict.model_copy(update={"model": values[0] or calm})
        issue = state(title=values[0] or calm, author=values[1], labels=frozenset({values[2]}))
        made = make_plan(verdict, issue, resolve(config("comment: true\nask-for-environment: true"), TAXONOMY))
        summary = summary_of(made, verdict, issue, TAXONOMY)
        assert made.comment is not None
        shapes.append(
            [re.sub(r"`[^`\n|]*`|–", "CODE", text) for text in (summary, made.comment.body.partition("\n")[2])]
        )
    assert shapes[0] == shapes[1], "the text changed more than the inside of a code span"


def test_a_text_of_just_the_limit_is_not_cut() -> None:
    assert markdown.code("x" * 160) == f"`{'x' * 160}`" and markdown.code("x" * 161) == f"`{'x' * 159}…`"
