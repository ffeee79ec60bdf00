"""What holds for every verdict, state and configuration."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distriage.answer.verdict import Verdict
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.configuration.names import resolve
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.types import IssueState, OwnComment

from support.plans import TAXONOMY, config, state
from support.verdicts import axis_verdict, make_verdict

ALL_AXES = (
    "axes: {kind: true, distributed: true, stage: true, symptom: {families: true}, cause: {families: "
    "true}, fix: true}\n"
)
ALL_LABELS = [f"{axis.id}: {label}" for axis in TAXONOMY.axes.values() for label in (*axis.label_ids, *axis.families)]
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
