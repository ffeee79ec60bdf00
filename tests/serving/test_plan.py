from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.past.answer import LikelyDuplicate
from distriage.references import IssueReference
from distriage.taxonomy import default_taxonomy
from distriage.verdict import Candidate, Differential, Verdict
from distriage_serving.planning import markdown
from distriage_serving.planning.config_file import parse_config
from distriage_serving.planning.configuration import RepositoryConfig
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.names import resolve
from distriage_serving.planning.plan import make_plan, matches
from distriage_serving.planning.summary import summary_of
from distriage_serving.planning.types import IssueState, OwnComment, Plan

from support.verdicts import axis_verdict, make_verdict

TAXONOMY = default_taxonomy()
ALL_AXES = (
    "axes: {kind: true, distributed: true, stage: true, symptom: {families: true}, cause: {families: "
    "true}, fix: true}\n"
)
ALL_LABELS = [f"{axis.id}: {label}" for axis in TAXONOMY.axes.values() for label in (*axis.label_ids, *axis.families)]


def config(text: str = "") -> RepositoryConfig:
    return parse_config(text, "distriage.yml", TAXONOMY)


def state(**changes: Any) -> IssueState:
    return IssueState(**{"issue": IssueReference("owner/repo", 1), "title": "A hang", "author": "alice", **changes})


def plan(verdict: Verdict | None = None, text: str = "", **changes: Any) -> Plan:
    return make_plan(verdict or make_verdict(), state(**changes), resolve(config(text), TAXONOMY))


def summary(made: Plan, **changes: Any) -> str:
    return summary_of(made, make_verdict(), state(**changes), TAXONOMY)


def why(made: Plan, what: str) -> str:
    return "; ".join(item.why for item in made.left_out if item.what == what)


def test_sure_axes_that_are_configured_are_labelled_and_their_labels_created() -> None:
    made = plan()
    assert made.labels == ("stage: training-evaluation", "symptom: runtime-hang")
    assert [definition.name for definition in made.create] == list(made.labels)
    assert all(
        re.fullmatch("[0-9a-f]{6}", definition.color) and len(definition.description) <= 100
        for definition in made.create
    )
    assert made.comment is None and made.writes


def test_labels_that_exist_are_not_created_whatever_their_case() -> None:
    made = plan(repository_labels=frozenset({"Symptom: Runtime-Hang"}))
    assert [definition.name for definition in made.create] == ["stage: training-evaluation"]


def test_a_person_s_decision_replaces_our_label_and_nobody_else_s() -> None:
    ours, theirs = "symptom: runtime-hang", "symptom: setup-hang"
    on_it = {"labels": frozenset({ours, theirs}), "labels_by_us": frozenset({ours})}
    made = plan(decided={"symptom": "device-out-of-memory"}, **on_it)
    assert (made.take_off, made.labels[1:]) == ((ours,), ("symptom: device-out-of-memory",)) and made.writes
    made = plan(decided={"symptom": None}, **on_it)
    assert (made.take_off, made.labels) == ((ours,), ("stage: training-evaluation",)) and "no label of it fits" in why(
        made, "symptom"
    )
    made = plan(decided={"symptom": "runtime-hang"}, removed=frozenset({ours}), **on_it)
    assert (made.take_off, made.labels) == ((), ("stage: training-evaluation",))
    assert ours in plan(decided={"symptom": "runtime-hang"}, removed=frozenset({ours})).labels  # the decision is newer


def test_a_decision_that_no_longer_holds_takes_its_label_along() -> None:
    was = frozenset({"symptom: device-out-of-memory"})
    withdrawn = {"symptom": frozenset({"device-out-of-memory"})}
    made = plan(labels=was, labels_by_us=was, withdrawn=withdrawn)
    assert made.take_off == tuple(was) and "symptom: runtime-hang" in made.labels
    assert plan(labels=was, withdrawn=withdrawn).take_off == ()  # a person set it
    made = plan(
        make_verdict(axis_verdict("symptom", "device-out-of-memory")), labels=was, labels_by_us=was, withdrawn=withdrawn
    )
    assert made.take_off == ()  # the model says so, too
    assert not plan(text="dry-run: true", labels=was, labels_by_us=was, withdrawn=withdrawn).writes


def test_without_permission_to_create_only_existing_labels_are_added() -> None:
    made = plan(text="create-labels: false", repository_labels=frozenset({"symptom: runtime-hang"}))
    assert (made.labels, made.create) == (("symptom: runtime-hang",), ())
    assert "no such label" in why(made, "stage: training-evaluation")


@pytest.mark.parametrize("outcome", ["suggest", "abstain", "not-applicable"])
def test_an_axis_that_is_not_sure_gets_nothing_and_a_reason(outcome: str) -> None:
    made = plan(make_verdict(symptom=outcome))
    assert made.labels == ("stage: training-evaluation",)
    assert "a reason" in why(made, "symptom")


def test_the_family_is_set_only_where_configured() -> None:
    verdict = make_verdict(axis_verdict("symptom", outcome="abstain", family="execution"))
    assert "symptom: execution" not in plan(verdict).labels
    assert "symptom: execution" in plan(verdict, "axes: {symptom: {families: true}}").labels
    assert not plan(verdict, "axes: {symptom: {families: {labels: {execution: false}}}}").labels


def test_a_label_that_a_person_removed_is_not_set_again() -> None:
    made = plan(removed=frozenset({"Symptom: runtime-hang"}))
    assert made.labels == ("stage: training-evaluation",)
    assert why(made, "symptom: runtime-hang") == "a person took it off this issue"


@pytest.mark.parametrize("present", ["symptom: native-crash", "symptom: runtime-hang", "SYMPTOM: Memory"])
def test_an_axis_that_a_person_labelled_is_left_alone(present: str) -> None:
    made = plan(labels=frozenset({present, "help wanted"}))
    assert made.labels == ("stage: training-evaluation",)
    assert "set by someone else" in why(made, "symptom")


def test_a_label_of_ours_is_not_replaced_by_another() -> None:
    made = plan(labels=frozenset({"symptom: native-crash"}), labels_by_us=frozenset({"symptom: native-crash"}))
    assert made.labels == ("stage: training-evaluation",)
    assert "kept while the report is the same" in why(made, "symptom")


def test_our_own_family_label_gets_the_label_beside_it() -> None:
    both = {"labels": frozenset({"symptom: execution"}), "labels_by_us": frozenset({"symptom: execution"})}
    assert "symptom: runtime-hang" in plan(text="axes: {symptom: {families: true}}", **both).labels
    other = {"labels": frozenset({"symptom: memory"}), "labels_by_us": frozenset({"symptom: memory"})}
    assert not plan(text="axes: {symptom: {families: true}}", **other).labels


def test_mapped_and_switched_off_labels() -> None:
    assert plan(text="axes: {symptom: {labels: {runtime-hang: hang}}}").labels == ("hang",)
    made = plan(text="axes: {symptom: {labels: {runtime-hang: false}}}")
    assert not made.labels and "switched off" in why(made, "symptom: runtime-hang")


@pytest.mark.parametrize(
    ("changes", "text", "reason"),
    [
        ({"author_is_bot": True}, "", "a bot wrote it"),
        ({"sender_is_bot": True}, "", "a bot caused"),
        ({"is_pull_request": True}, "", "pull request"),
        ({}, "ignore: {authors: [ALICE]}", "author"),
        ({}, "ignore: {titles: ['a *']}", "title"),
        ({"labels": frozenset({"wontfix"})}, "ignore: {labels: [wont*]}", "label"),
    ],
)
def test_ignored_issues_get_nothing(changes: dict[str, Any], text: str, reason: str) -> None:
    made = plan(make_verdict(missing=("torch",)), text + "\nask-for-environment: true\nneeds-triage: true", **changes)
    assert (made.labels, made.create, made.comment, made.writes) == ((), (), None, False)
    assert reason in why(made, "issue")


def test_needs_triage_where_no_axis_is_sure() -> None:
    unsure = make_verdict(stage="abstain", symptom="suggest")
    assert plan(unsure, "needs-triage: look").labels == ("look",)
    assert plan(make_verdict(stage="abstain"), "needs-triage: look").labels == ("symptom: runtime-hang",)
    assert plan(unsure, "needs-triage: look", labels=frozenset({"symptom: native-crash"})).labels == ()
    assert plan(unsure, "needs-triage: look", removed=frozenset({"look"})).labels == ()
    assert plan(unsure, "needs-triage: look", labels=frozenset({"Look"})).labels == ()
    assert plan(make_verdict(stage="not-applicable", symptom="not-applicable"), "needs-triage: look").labels == ()
    assert plan(
        make_verdict(kind="abstain", stage="not-applicable", symptom="not-applicable"), "needs-triage: look"
    ).labels == ("look",)


def test_needs_triage_goes_when_the_need_is_over_and_distriage_had_set_it() -> None:
    text = "needs-triage: look"
    unsure = make_verdict(stage="abstain", symptom="suggest")
    ours = {"labels": frozenset({"Look"}), "labels_by_us": frozenset({"Look"})}
    assert plan(make_verdict(), text, **ours).take_off == ("Look",)  # the report became clear
    decided = plan(unsure, text, **ours, decided={"symptom": None})  # a person has looked
    assert decided.take_off == ("Look",) and decided.labels == ()
    labelled = {**ours, "labels": frozenset({"Look", "symptom: native-crash"})}
    assert plan(unsure, text, **labelled).take_off == ("Look",)  # a person has labelled it
    assert plan(unsure, text, **ours).take_off == ()
    assert plan(make_verdict(), text, labels=frozenset({"Look"})).take_off == ()  # a person set it
    assert plan(make_verdict(), **ours).take_off == ()  # the configuration knows no such label any more


# ---------------------------------------------------------------- a rewritten report

OURS = {"labels": frozenset({"symptom: native-crash"}), "labels_by_us": frozenset({"symptom: native-crash"})}


def test_a_rewritten_report_gets_the_label_that_holds_now() -> None:
    made = plan(rewritten=True, **OURS)
    assert (made.take_off, "symptom: runtime-hang" in made.labels) == (("symptom: native-crash",), True)
    elsewhere = plan(make_verdict(symptom="not-applicable"), rewritten=True, **OURS)
    assert elsewhere.take_off == ("symptom: native-crash",)
    same = plan(make_verdict(axis_verdict("symptom", "native-crash")), rewritten=True, **OURS)
    assert same.take_off == () and "symptom: native-crash" not in same.labels


@pytest.mark.parametrize(
    ("verdict", "text", "changes"),
    [
        (make_verdict(), "", {"rewritten": False}),
        (make_verdict(), "", {"touched": frozenset({"Symptom: Memory"})}),  # a person has been at this axis
        (make_verdict(symptom="suggest"), "", {}),  # not sure of the new one
        (make_verdict(), "axes: {symptom: {labels: {runtime-hang: false}}}", {}),  # the new one may not be set
        (make_verdict(), "create-labels: false", {}),
        (make_verdict(), "", {"removed": frozenset({"symptom: runtime-hang"})}),
    ],
)
def test_a_rewritten_report_keeps_the_label_unless_a_better_one_takes_its_place(
    verdict: Verdict, text: str, changes: dict[str, Any]
) -> None:
    made = plan(verdict, text, **{"rewritten": True, **OURS, **changes})
    assert made.take_off == () and "symptom: runtime-hang" not in made.labels


def test_a_label_that_another_put_there_is_never_taken_off() -> None:
    made = plan(rewritten=True, labels=OURS["labels"])
    assert made.take_off == ()


# ---------------------------------------------------------------- thresholds, and what is not listed


def test_only_listed_labels_are_set_where_the_configuration_says_so() -> None:
    for text in (
        "only-listed: true\naxes: {symptom: {labels: {runtime-hang: hang}}}",
        "axes: {symptom: {only-listed: true, labels: {runtime-hang: hang}}}",
    ):
        assert plan(text=text).labels == ("hang",)
        made = plan(make_verdict(axis_verdict("symptom", "native-crash")), text)
        assert not made.labels and "only-listed" in why(made, "symptom: native-crash")
    text = "only-listed: true\naxes: {symptom: {only-listed: false}}"
    assert plan(text=text).labels == ("symptom: runtime-hang",)


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("[RFC]*", "[rfc] New API", True),
        ("[RFC]*", "R", False),
        ("*[bot]", "dependabot[bot]", True),
        ("[!a]", "b", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("*", "", True),
        ("abc", "abcd", False),
        ("*a*b", "xxaxxb", True),
        ("*a*b", "xxbxxa", False),
    ],
)
def test_patterns(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected


def test_no_pattern_hangs() -> None:
    started_s = time.thread_time()
    assert not matches("*a" * 100, "a" * 99 + "b" * 100_000)
    assert time.thread_time() - started_s < 2.0


# ---------------------------------------------------------------- comment


def test_the_comment_has_its_marker_first_and_asks_what_is_missing() -> None:
    made = plan(make_verdict(missing=("torch", "nccl")), "ask-for-environment: true")
    assert made.comment is not None
    marker = Marker.read(made.comment.body)
    assert marker == Marker("v1", made.comment.digest)
    assert "- Which torch?\n- Which nccl?" in made.comment.body


def test_nothing_to_say_is_no_comment() -> None:
    assert plan(make_verdict(), "ask-for-environment: true").comment is None
    assert plan(make_verdict(missing=("torch",))).comment is None


def test_the_template_is_filled_and_the_questions_added() -> None:
    made = plan(make_verdict(missing=("torch",)), "comment: 'Hello {{ labels }} {{ axes }}'\nask-for-environment: true")
    assert made.comment is not None
    for part in (
        "Hello `stage: training-evaluation`, `symptom: runtime-hang`",
        "- Symptom: `runtime-hang` (90%)",
        "- Which torch?",
    ):
        assert part in made.comment.body


def test_the_own_comment_is_edited_and_an_equal_one_left() -> None:
    verdict = make_verdict(missing=("torch",))
    first = plan(verdict, "ask-for-environment: true").comment
    assert first is not None and first.replaces is None
    assert plan(verdict, "ask-for-environment: true", own_comment=OwnComment(5, first.digest)).comment is None
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


SAME = LikelyDuplicate(
    id="owner/repo#7",
    title="Hang @octocat #9 `x` <b> closes #3 [a](b)\nnext",
    url="https://github.com/owner/repo/issues/7",
    state="closed",
    closed_by="completed",
    probability=0.91,
)
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
    without = re.sub(r"`[^`\n]*`", "", made.body.partition("\n")[2])
    assert not re.search(r"[@#<]|//github", without), "it mentions, refers or leaves a trace"
    assert f"**Likely the same issue** (91%)\n\n{shown}" in summary_of(plan(REPEATED), REPEATED, state(), TAXONOMY)


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


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"locked": True}, "locked"), ({"is_open": False}, "closed"), ({"comment_deleted": True}, "deleted")],
)
def test_no_comment_where_it_is_unwanted(changes: dict[str, Any], reason: str) -> None:
    made = plan(make_verdict(missing=("torch",)), "ask-for-environment: true", **changes)
    assert made.comment is None and reason in why(made, "comment")


# ---------------------------------------------------------------- properties

names = st.sampled_from([*ALL_LABELS, "bug", "needs-triage", "Symptom: Runtime-Hang"])
verdicts = st.builds(
    lambda axes, missing: make_verdict(*axes, missing=missing),
    st.tuples(
        *(
            st.builds(
                lambda axis, label, outcome, family: axis_verdict(
                    axis.id, label, outcome, axis.label(label).family if family and outcome != "apply" else None
                ),
                st.just(axis),
                st.sampled_from([label for label in axis.label_ids if label not in {"true", "false"}] or ["true"]),
                st.sampled_from(["apply", "suggest", "abstain", "not-applicable"]),
                st.booleans(),
            )
            for axis in TAXONOMY.axes.values()
            if axis.id != "distributed"
        )
    ),
    st.sampled_from([(), ("torch",)]),
)
states = st.builds(
    lambda labels, ours, removed, known, flags, own: state(
        labels=labels,
        labels_by_us=frozenset(sorted(labels)[:ours]),
        removed=removed,
        repository_labels=known,
        own_comment=own,
        **flags,
    ),
    st.frozensets(names, max_size=4),
    st.integers(0, 2),
    st.frozensets(names, max_size=8) | st.just(frozenset(ALL_LABELS)),
    st.frozensets(names, max_size=8),
    st.fixed_dictionaries(
        {},
        optional={
            "locked": st.booleans(),
            "is_open": st.booleans(),
            "author_is_bot": st.booleans(),
            "comment_deleted": st.booleans(),
            "rewritten": st.booleans(),
            "touched": st.frozensets(names, max_size=2),
        },
    ),
    st.none() | st.just(OwnComment(3, "0" * 16)),
)
configs = st.builds(
    lambda axes, *switches: config(axes + "".join(switches)),
    st.sampled_from(["", ALL_AXES]),
    st.sampled_from(["", "needs-triage: true\n"]),
    st.sampled_from(["", "create-labels: false\n"]),
    st.sampled_from(["", "comment: true\n"]),
    st.sampled_from(["", "ask-for-environment: true\n"]),
    st.sampled_from(["", "dry-run: true\n"]),
)


@given(verdicts, states, configs)
def test_for_every_verdict_state_and_configuration(
    verdict: Verdict, issue: IssueState, settings: RepositoryConfig
) -> None:
    made = make_plan(verdict, issue, resolve(settings, TAXONOMY))
    added = {label.casefold() for label in made.labels}
    assert added.isdisjoint(map(str.casefold, issue.removed)), "re-applied what a person removed"
    assert added.isdisjoint(map(str.casefold, issue.labels)), "added what is there"
    assert len(added) == len(made.labels)
    assert {definition.name for definition in made.create} <= set(made.labels)
    if not settings.create_labels:
        assert not made.create and added <= {name.casefold() for name in issue.repository_labels}
    for axis in TAXONOMY.axes.values():
        prefix = f"{axis.id}: "
        by_others = {label for label in issue.labels - issue.labels_by_us if label.casefold().startswith(prefix)}
        if by_others:
            assert not any(label.startswith(prefix) for label in made.labels), "touched an axis that a person labelled"
        assert sum(label.startswith(prefix) for label in made.labels) <= 1
    off = set(made.take_off)
    assert off <= issue.labels & issue.labels_by_us, "took off what somebody else had set"
    assert off.isdisjoint(made.labels)
    touched = {name.casefold() for name in issue.touched}
    for axis in TAXONOMY.axes.values():
        of_axis = {name for name in off if name.casefold().startswith(f"{axis.id}: ")}
        assert not of_axis or issue.rewritten, "replaced a label although the report is the same"
        assert not of_axis or not any(name.startswith(f"{axis.id}: ") for name in touched)
    if issue.author_is_bot or settings.dry_run:
        assert not made.writes
    if made.comment is not None:
        assert not issue.locked and issue.is_open
        assert made.comment.replaces == (issue.own_comment.id if issue.own_comment else None), "a second comment"
    assert make_plan(verdict, issue, resolve(settings, TAXONOMY)) == made


# ---------------------------------------------------------------- text of others

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


def test_the_title_of_the_summary_is_the_report_s_as_text() -> None:
    title = "<b>@octocat</b> | ` [x](y)"
    shown = summary(plan(title=title), title=title)
    assert "`<b>@octocat</b> ¦ ˋ [x](y)`" in shown
    assert "| Symptom | `runtime-hang` | 0.90 |" in shown


def test_what_is_outside_the_domain_gets_its_kind_and_nothing_else() -> None:
    text = "needs-triage: look\nask-for-environment: true\ncomment: 'Labels: {{ labels }}'\n"
    axes = ("distributed", "stage", "symptom", "cause", "fix")
    outside = make_verdict(missing=("torch",), **dict.fromkeys(axes, "abstain")).model_copy(
        update={"in_domain": False, "domain_probability": 0.01}
    )
    made = plan(outside, text + "axes: {kind: true}\n")
    assert made.labels == ("kind: bug",) and made.comment is None
    assert "This does not read like a report about distributed deep learning; no labels." in summary_of(
        made, outside, state(), TAXONOMY
    )
    unsure = outside.model_copy(update={"axes": {**outside.axes, "kind": axis_verdict("kind", outcome="abstain")}})
    assert plan(unsure, text).labels == () and plan(unsure, text).comment is None


def test_the_summary_shows_the_causes_to_tell_apart() -> None:
    causes = [Candidate(label="deadlock", probability=0.4, check="Compare the stacks of `a | b`.")]
    unsure = make_verdict(cause="abstain").model_copy(
        update={"differential": Differential(causes=causes, right_among=0.7)}
    )
    shown = summary_of(plan(unsure), unsure, state(), TAXONOMY)
    assert "**Which cause** (the right one was among the three in 70% of held-out reports)" in shown
    assert "- `deadlock` 0.40: Compare the stacks of `a | b`." in shown
    assert "Which cause" not in summary(plan())
