"""A plan with the repository's own labels that the verdict gives. Pure.

They are added, never taken off. Nothing is created: a label that the repository no longer has is left out.
"""

from __future__ import annotations

from dataclasses import replace

from distriage.verdict import Verdict
from distriage_serving.planning.names import Names
from distriage_serving.planning.types import IssueState, LeftOut, Plan


def with_own_labels(plan: Plan, verdict: Verdict, state: IssueState, names: Names) -> Plan:
    """Add the own labels that reach their thresholds, unless the issue is left alone or a person took one off."""
    if any(item.what == "issue" for item in plan.left_out):
        return plan
    there = {name.casefold() for name in (*plan.labels, *state.labels)}
    known = {name.casefold() for name in state.repository_labels}
    removed = {name.casefold() for name in state.removed}
    labels, left_out = list(plan.labels), list(plan.left_out)
    for own in verdict.own or ():
        name = own.label.casefold()
        if not own.applied or name in there:
            continue
        if names.meanings(own.label):
            left_out.append(LeftOut(own.label, "an own label that the configuration gives to an axis, which decides"))
        elif name in removed:
            left_out.append(LeftOut(own.label, "a person took it off this issue"))
        elif name not in known:
            left_out.append(LeftOut(own.label, "an own label that the repository no longer has"))
        else:
            labels.append(own.label)
    return replace(plan, labels=tuple(labels), left_out=tuple(left_out))
