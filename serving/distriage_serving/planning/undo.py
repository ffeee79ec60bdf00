"""The labels that Distriage set on an issue -> a plan that takes them off. Pure."""

from __future__ import annotations

from distriage.answer.feedback import own_axis
from distriage_serving.configuration.names import Names
from distriage_serving.planning.types import IssueState, LeftOut, Plan


def take_off_plan(state: IssueState, names: Names) -> Plan:
    """Take off what Distriage set, but no label that a person decided on."""
    decided = {(axis.casefold(), label.casefold()) for axis, label in state.decided.items() if label is not None}
    ours = sorted(state.labels_by_us)
    confirmed = {name for name in ours if not decided.isdisjoint(_meanings(name, state, names))}
    return Plan(
        state.issue,
        take_off=tuple(name for name in ours if name not in confirmed),
        left_out=tuple(LeftOut(name, "a person decided on it") for name in sorted(confirmed)),
        dry_run=names.config.dry_run,
        only_takes_off=True,
    )


def _meanings(name: str, state: IssueState, names: Names) -> set[tuple[str, str]]:
    given = [state.given[name.casefold()]] if name.casefold() in state.given else []
    found = [*names.meanings(name), *given, (own_axis(name), name)]
    return {(axis.casefold(), (label or "").casefold()) for axis, label in found}
