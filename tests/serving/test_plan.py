"""Which labels a plan gives an issue, takes from it, and leaves alone."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from distriage.answer.verdict import Verdict
from distriage.base.types import Silence
from distriage_serving.planning.ignored import matches
from distriage_serving.planning.summary import summary_of

from support.plans import TAXONOMY, plan, state, why
from support.verdicts import axis_verdict, make_verdict


def test_sure_axes_that_are_configured_are_labelled_and_their_labels_created() -> None:
    made = plan()
    assert made.labels == ("stage: training-evaluation", "symptom: runtime-hang")
    assert [definition.name for definition in made.create] == list(made.labels)
    assert all(
        re.fullmatch("[0-9a-f]{6}", definition.color) and len(definition.description) <= 100
        for definition in made.create
    )
    assert [definition.color for definition in made.create] == [TAXONOMY.axes[a].colour for a in ("stage", "symptom")]
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


def test_a_kind_that_a_person_decided_takes_the_labels_of_a_bug_along() -> None:
    ours = frozenset({"symptom: runtime-hang"})
    made = plan(decided={"kind": "question"}, labels=ours, labels_by_us=ours)
    assert made.take_off == ("symptom: runtime-hang",) and not any("hang" in name for name in made.labels)
    assert why(made, "symptom") == "a person decided that it does not apply"
    assert plan(decided={"kind": "question"}, labels=ours).take_off == ()  # somebody else set it


def test_a_decision_that_no_longer_holds_takes_its_label_along() -> None:
    was = frozenset({"symptom: device-out-of-memory"})
    withdrawn = {"symptom": frozenset({"device-out-of-memory"})}
    made = plan(labels=was, labels_by_us=was, withdrawn=withdrawn)
    assert made.take_off == tuple(was) and "symptom: runtime-hang" in made.labels
    assert plan(labels=was, withdrawn=withdrawn).take_off == ()  # a person set it
    named, oom = "axes: {symptom: {labels: {device-out-of-memory: OOM}}}", frozenset({"Oom"})
    assert plan(text=named, labels=oom, labels_by_us=oom, withdrawn=withdrawn).take_off == ("Oom",)
    made = plan(
        make_verdict(axis_verdict("symptom", "device-out-of-memory")), labels=was, labels_by_us=was, withdrawn=withdrawn
    )
    assert made.take_off == ()  # the model says so, too
    removed = {"labels": was, "labels_by_us": was, "withdrawn": withdrawn, "removed": was}
    made = plan(make_verdict(axis_verdict("symptom", "device-out-of-memory")), **removed)
    assert made.take_off == tuple(was) and not was & {*made.labels}  # only the decision spoke against the removal
    unsure = make_verdict(axis_verdict("symptom", "device-out-of-memory", outcome="suggest"))
    assert plan(unsure, labels=was, labels_by_us=was, withdrawn=withdrawn).take_off == tuple(was)
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
    assert why(made, "symptom: runtime-hang") == "somebody took it off this issue"


@pytest.mark.parametrize("present", ["symptom: native-crash", "symptom: runtime-hang", "SYMPTOM: Memory"])
def test_an_axis_that_a_person_labelled_is_left_alone(present: str) -> None:
    made = plan(labels=frozenset({present, "help wanted"}))
    assert made.labels == ("stage: training-evaluation",)
    assert "set by someone else" in why(made, "symptom")


def test_our_own_family_label_gets_the_label_beside_it() -> None:
    both = {"labels": frozenset({"symptom: execution"}), "labels_by_us": frozenset({"symptom: execution"})}
    assert "symptom: runtime-hang" in plan(text="axes: {symptom: {families: true}}", **both).labels
    unsure = make_verdict(axis_verdict("symptom", outcome="abstain", family="execution"))
    assert not plan(unsure, "axes: {symptom: {families: true}}", **both).labels
    other = {"labels": frozenset({"symptom: memory"}), "labels_by_us": frozenset({"symptom: memory"})}
    assert not plan(text="axes: {symptom: {families: true}}", **other).labels


TYPES = "axes: {kind: {labels: {bug: {name: bug, type: Bug}, feature: {enabled: false, type: Feature}}}}"


def test_the_issue_type_goes_with_the_label_or_stands_for_it() -> None:
    made = plan(text=TYPES, repository_labels=frozenset({"bug"}))
    assert (made.labels, made.issue_type) == (("bug",), "Bug")
    made = plan(make_verdict(axis_verdict("kind", "feature")), TYPES)
    assert (made.labels, made.issue_type) == ((), "Feature") and made.writes
    assert "**Issue type** to set: `Feature`" in summary_of(made, make_verdict(), state(), TAXONOMY)


@pytest.mark.parametrize("outcome", ["suggest", "abstain"])
def test_no_issue_type_where_the_label_is_not_sure(outcome: str) -> None:
    assert plan(make_verdict(axis_verdict("kind", "feature", outcome=outcome)), TYPES).issue_type is None


def test_an_issue_type_that_somebody_touched_is_left_alone() -> None:
    made = plan(text=TYPES, type_touched=True)  # taken off
    assert made.issue_type is None and "somebody else" in why(made, "issue type")
    made = plan(text=TYPES, issue_type="Task", type_touched=True)
    assert made.issue_type is None and "somebody else" in why(made, "issue type")
    made = plan(text=TYPES, issue_type="BUG")
    assert made.issue_type is None and not [item for item in made.left_out if item.what == "issue type"]
    made = plan(text=TYPES, issue_type="Feature")
    assert made.issue_type is None and "was set before" in why(made, "issue type")


def test_a_person_s_decision_replaces_the_issue_type_that_distriage_set() -> None:
    assert plan(text=TYPES, issue_type="Feature", decided={"kind": "bug"}).issue_type == "Bug"
    assert plan(text=TYPES, issue_type="Bug", decided={"kind": None}).issue_type is None


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
    made = plan(unsure, "needs-triage: look")
    assert made.labels == ("look",) and re.fullmatch("[0-9a-f]{6}", made.create[0].color)
    assert plan(make_verdict(stage="abstain"), "needs-triage: look").labels == ("symptom: runtime-hang",)
    assert plan(unsure, "needs-triage: look", labels=frozenset({"symptom: native-crash"})).labels == ()
    assert plan(unsure, "needs-triage: look", labels=frozenset({"stage: build-import"})).labels == ()
    assert plan(unsure, "needs-triage: look", removed=frozenset({"look"})).labels == ()
    assert plan(unsure, "needs-triage: look", labels=frozenset({"Look"})).labels == ()
    assert plan(make_verdict(stage="not-applicable", symptom="not-applicable"), "needs-triage: look").labels == ()
    assert plan(
        make_verdict(kind="abstain", stage="not-applicable", symptom="not-applicable"), "needs-triage: look"
    ).labels == ("look",)
    foreign = unsure.model_copy(update={"in_domain": False})
    assert plan(foreign, "needs-triage: look").labels == ()
    for silence in (Silence.THIN, Silence.SCRIPT):
        silent = foreign.axes["symptom"].model_copy(update={"silence": silence})
        unread = foreign.model_copy(update={"axes": {**foreign.axes, "symptom": silent}})
        assert plan(unread, "needs-triage: look").labels == ("look",)


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


OURS = {"labels": frozenset({"symptom: native-crash"}), "labels_by_us": frozenset({"symptom: native-crash"})}


def test_a_rewritten_report_gets_the_label_that_holds_now() -> None:
    made = plan(rewritten=True, **OURS)
    assert (made.take_off, "symptom: runtime-hang" in made.labels) == (("symptom: native-crash",), True)
    assert plan(rewritten=True, repository_labels=frozenset(made.labels), **OURS).take_off == made.take_off
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
    assert any(item.what.startswith("symptom") for item in made.left_out)


def test_a_label_that_another_put_there_is_never_taken_off() -> None:
    made = plan(rewritten=True, labels=OURS["labels"])
    assert made.take_off == ()


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


def test_what_is_outside_the_domain_gets_its_kind_and_nothing_else() -> None:
    text = "needs-triage: look\nask-for-environment: true\ncomment: 'Labels: {{ labels }}'\n"
    axes = ("distributed", "stage", "symptom", "cause", "fix")
    outside = make_verdict(missing=("torch",), **dict.fromkeys(axes, "abstain")).model_copy(
        update={"in_domain": False, "domain_probability": 0.01}
    )
    made = plan(outside, text + "axes: {kind: true}\n")
    assert made.labels == ("kind: bug",) and made.comment is None
    assert "This does not read like a report about distributed deep learning; no labels but its kind." in summary_of(
        made, outside, state(), TAXONOMY
    )
    unsure = outside.model_copy(update={"axes": {**outside.axes, "kind": axis_verdict("kind", outcome="abstain")}})
    assert plan(unsure, text).labels == () and plan(unsure, text).comment is None


def test_a_name_of_an_axis_does_not_break_the_summary_s_table() -> None:
    kind = TAXONOMY.axes["kind"].model_copy(update={"name": "Kind | of\nwork"})
    own = TAXONOMY.model_copy(update={"axes": {**TAXONOMY.axes, "kind": kind}})
    rows = summary_of(plan(), make_verdict(), state(), own).splitlines()
    row = next(line for line in rows if "`bug`" in line)
    assert row.startswith("| Kind \u00a6 of work | `bug` |") and row.count("|") == 7
