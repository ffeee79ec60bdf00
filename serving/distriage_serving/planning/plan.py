"""Verdict + state of the issue + names -> Plan. Pure: reads nothing, writes nothing.

Labels are added. A label is taken off only if Distriage set it, and

- a person decided otherwise by a command or in the queue, or took such a decision back;
- the report was rewritten, only Distriage ever labelled the axis, and the label no longer holds;
- it is `needs-triage`, and the need is over; if others use the same account, only if its description is ours.

A label that somebody else took off is not set again. An axis with a label from anyone gets no other, except the label
itself beside its own family that Distriage set before. An issue type is set if the issue lacks one and nobody else ever
touched it. There is at most one comment.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from distriage.answer.verdict import AxisVerdict, Verdict
from distriage.base.types import Silence
from distriage_serving.configuration.names import AxisNames, Names, RepositoryLabel
from distriage_serving.planning import markdown
from distriage_serving.planning.comment import plan_comment
from distriage_serving.planning.ignored import why_ignored
from distriage_serving.planning.own_plan import with_own_labels
from distriage_serving.planning.suggested import Reasoned
from distriage_serving.planning.suggestions import Suggestions, in_one_request
from distriage_serving.planning.types import IssueState, LabelDefinition, LeftOut, Plan

MAX_LABELS: Final = 100  # on one issue, GitHub's limit
_UNSURE: Final = frozenset({"suggest", "abstain"})


def make_plan(verdict: Verdict, state: IssueState, names: Names) -> Plan:
    """Plan the changes to an issue."""
    ignored = why_ignored(state, names.config.ignore)
    if ignored is not None:
        left_out = (LeftOut("issue", ignored),)
        return Plan(state.issue, left_out=left_out, ignored=ignored, dry_run=names.config.dry_run)
    names = names.remembering(state.given)
    planner = _Planner(verdict, state, names)
    planner.plan_labels()
    people = planner.people
    people.plan_duplicate(verdict)
    plan = Plan(
        issue=state.issue,
        labels=tuple(planner.labels),
        create=tuple(planner.create),
        take_off=tuple(planner.take_off),
        instead=planner.instead,
        issue_type=planner.issue_type,
        fields=tuple(planner.fields),
        intents=planner.intents,
        reasons=people.on,
        suggestions=tuple(people.made),
        approve=tuple(people.approve),
        dismiss=tuple(people.dismiss),
        left_out=tuple(planner.left_out),
        dry_run=names.config.dry_run,
    )
    plan = _that_fits(in_one_request(with_own_labels(plan, verdict, state, names)), state)
    plan = replace(plan, comment_after=partial(plan_comment, verdict, state, names))
    comment = plan_comment(verdict, state, names, plan)
    if isinstance(comment, LeftOut):
        return replace(plan, left_out=(*plan.left_out, comment))
    return replace(plan, comment=comment)


def _that_fits(plan: Plan, state: IssueState) -> Plan:
    """A plan without the labels for which the issue has no room."""
    room = max(0, MAX_LABELS - len(state.labels))
    labels, full = plan.labels[:room], plan.labels[room:]
    left_out = (LeftOut(name, f"the issue has {MAX_LABELS} labels, as many as GitHub allows") for name in full)
    needed = {*labels, *(one.value for one in plan.suggestions)}
    create = tuple(definition for definition in plan.create if definition.name in needed)
    return replace(plan, labels=labels, create=create, left_out=(*plan.left_out, *left_out))


def _folded(names: Collection[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, names))


@dataclass(slots=True)
class _Planner:
    """A plan while it is being made."""

    verdict: Verdict
    state: IssueState
    names: Names
    labels: list[str] = field(default_factory=list)
    create: list[LabelDefinition] = field(default_factory=list)
    take_off: list[str] = field(default_factory=list)
    instead: dict[str, str] = field(default_factory=dict)
    issue_type: str | None = None
    fields: list[Reasoned] = field(default_factory=list)
    intents: dict[str, Reasoned] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    people: Suggestions = field(init=False)

    def __post_init__(self) -> None:
        self.people = Suggestions(self.state, self.names, self.leave)

    def leave(self, what: str, why: str) -> None:
        self.left_out.append(LeftOut(what, why))

    def plan_labels(self) -> None:
        unsure = has_label = False
        for axis in self.names.labelled():
            said = self.verdict.axes.get(axis.id)
            if said is None:
                continue
            unsure = unsure or (axis.id not in self.state.decided and said.outcome in _UNSURE)
            has_label = has_label or not _folded(self.state.labels).isdisjoint(axis.folded)
            if self.names.is_ruled_out(axis.id, self.state.decided):
                self.take_off.extend(sorted(self._ours(axis.folded)))
                self.leave(axis.id, "a person decided that it does not apply")
                continue
            added, off = len(self.labels), len(self.take_off)
            self._plan_axis(axis, said)
            self._plan_type(axis, said)
            if (filled := self.people.plan_field(axis, said)) is not None:
                self.fields.append(filled)
            self.people.withdraw(axis.id)
            if len(self.labels) > added:
                has_label = True
                self.instead |= dict.fromkeys(self.take_off[off:], self.labels[-1])
        self._take_off_disabled()
        kind = self.verdict.axes.get("kind")
        unsure = unsure or (kind is not None and kind.outcome != "apply")
        needed = unsure and not has_label and not self.state.decided
        self._plan_needs_triage(needed=needed and self.verdict.silence is not Silence.FOREIGN)

    def _take_off_disabled(self) -> None:
        """Take off what we set while an axis was switched on, where a person calls it wrong."""
        wrong: set[str] = set()
        for axis in self.names.axes.values():
            if not axis.enabled and axis.id in self.state.decided:
                decided = self.state.decided[axis.id] or ""
                right = axis.labels.get(decided)
                kept = {right.name.casefold(), *axis.former_of([decided])} if right is not None else set()
                wrong |= axis.folded - kept
        meant = {sign.name.casefold() for sign in self.names.signs.values()}
        self.take_off.extend(sorted(self._ours(wrong - meant.union(*(axis.folded for axis in self.names.labelled())))))

    def _plan_needs_triage(self, *, needed: bool) -> None:
        label = self.names.needs_triage
        if label is None:
            return
        on_it = next((name for name in self.state.labels if name.casefold() == label.name.casefold()), None)
        if on_it is None:
            if needed:
                self._add(label)
            return
        is_ours = not self.state.shared_account or self.names.there.get(on_it) == label.description
        if not needed and is_ours and on_it in self.state.labels_by_us:
            self.take_off.append(on_it)
            if self.labels and not self.state.decided:
                self.instead[on_it] = self.labels[0]

    def _plan_axis(self, axis: AxisNames, said: AxisVerdict) -> None:
        withdrawn = self._withdrawn(axis, said)
        self.take_off.extend(sorted(withdrawn))
        present = [
            name for name in sorted(self.state.labels) if name.casefold() in axis.folded and name not in withdrawn
        ]
        if axis.id in self.state.decided:
            self._plan_decided(axis, said, self.state.decided[axis.id])
            return
        others = [name for name in present if name not in self.state.labels_by_us]
        if others:
            self.leave(axis.id, f"{markdown.code(others[0])} was set by someone else; the axis is left as it is")
            return
        label = self._wanted(axis, said)
        family = axis.family_of.get(said.label)
        family_name = axis.families[family].name.casefold() if family is not None else None
        in_the_way = [name for name in present if said.outcome != "apply" or name.casefold() != family_name]
        if in_the_way and self._is_outdated(axis, in_the_way):
            self._replace(axis, said, label, in_the_way)
        elif in_the_way:
            self.leave(axis.id, f"{markdown.code(in_the_way[0])} was set before; it is kept{self._why_kept()}")
        elif label is not None:
            self._add(label, self._why(axis, said, label))
        elif (perhaps := axis.labels.get(said.label)) is not None and self.people.perhaps(axis, said):
            self._add(perhaps, self._why(axis, said, perhaps), sure=False)
        else:
            self.leave(axis.id, said.reason if said.outcome == "not-applicable" else f"not sure: {said.reason}")

    def _plan_type(self, axis: AxisNames, said: AxisVerdict) -> None:
        sure = said.outcome == "apply" or self.state.decided.get(axis.id) is not None
        right = said.label if sure or self.people.perhaps(axis, said) else None
        label = axis.labels.get(self.state.decided.get(axis.id, right) or "")
        wanted = label.issue_type if label is not None else None
        if wanted is None or wanted.casefold() == (self.state.issue_type or "").casefold():
            return
        if self.state.type_touched:
            self.leave("issue type", "somebody else set it or took it off; it is left as it is")
        elif self.state.issue_type is not None and axis.id not in self.state.decided:
            self.leave("issue type", f"{markdown.code(self.state.issue_type)} was set before")
        elif self.issue_type is None and not any(one.action == "set_type" for one in self.people.made):
            meant = self.state.decided.get(axis.id, right) or ""
            change = Reasoned("set_type", wanted, self.people.intent(axis, said), None, axis.id, meant)
            if self.people.may(change, sure=sure):
                self.issue_type, self.intents[wanted] = wanted, change

    def _wanted(self, axis: AxisNames, said: AxisVerdict) -> RepositoryLabel | None:
        """The label that the verdict asks for; None if it is not sure of one."""
        if said.outcome == "apply":
            return axis.labels.get(said.label)
        if said.outcome != "not-applicable" and said.family is not None and axis.with_families:
            return axis.families.get(said.family)
        return None

    def _is_outdated(self, axis: AxisNames, present: list[str]) -> bool:
        is_former = all(name.casefold() in axis.former for name in present)
        return bool(self.state.rewritten or is_former) and _folded(self.state.touched).isdisjoint(axis.folded)

    def _why_kept(self) -> str:
        if self.state.rewritten is None:
            return ""
        return (
            ", since others changed this axis's labels too" if self.state.rewritten else " while the report is the same"
        )

    def _replace(self, axis: AxisNames, said: AxisVerdict, label: RepositoryLabel | None, old: list[str]) -> None:
        """Replace the old report's label by the new one's."""
        if label is None and said.outcome != "not-applicable":
            self.leave(axis.id, f"not sure of the rewritten report; {markdown.code(old[0])} is kept: {said.reason}")
            return
        wrong = [name for name in old if label is None or name.casefold() != label.name.casefold()]
        if label is None or len(wrong) < len(old) or self._add(label, self._why(axis, said, label)):
            self.take_off.extend(wrong)

    def _withdrawn(self, axis: AxisNames, said: AxisVerdict) -> frozenset[str]:
        """The labels that Distriage set and that a person's decision, or the end of one, contradicts."""
        if axis.id in self.state.decided:
            right = self.state.decided[axis.id]
            kept = {axis.labels[right].name.casefold()} if right is not None and right in axis.labels else set()
            wrong = set(axis.folded - kept)
        else:
            withdrawn = self.state.withdrawn.get(axis.id, frozenset())
            removed, holds = _folded(self.state.removed), said.label if said.outcome == "apply" else None
            names = {label: axis.labels[label].name.casefold() for label in withdrawn if label in axis.labels}
            wrong = {name for label, name in names.items() if label != holds or name in removed}
            wrong |= axis.former_of(withdrawn)
        return self._ours(wrong)

    def _ours(self, names: Collection[str]) -> frozenset[str]:
        """The labels on the issue that Distriage set, among some names, case-folded."""
        return frozenset(label for label in self.state.labels & self.state.labels_by_us if label.casefold() in names)

    def _why(self, axis: AxisNames, said: AxisVerdict, label: RepositoryLabel) -> Reasoned:
        """Adding a label of an axis, or of one of its families."""
        meant = self.state.decided.get(axis.id) or said.label
        of = meant if label == axis.labels.get(meant) else ""
        return Reasoned("add_label", label.name, self.people.intent(axis, said), None, axis.id, of)

    def _plan_decided(self, axis: AxisNames, said: AxisVerdict, decided: str | None) -> None:
        label = axis.labels.get(decided) if decided is not None else None
        if label is None:
            self.leave(axis.id, "a person decided that no label of it fits")
        elif label.name.casefold() in _folded(self.state.labels):
            self.leave(axis.id, f"a person decided on {markdown.code(label.name)}, which is set")
        else:  # the decision is newer than any removal
            self._add(label, self._why(axis, said, label), again=True)

    def _add(
        self, label: RepositoryLabel, why: Reasoned | None = None, *, sure: bool = True, again: bool = False
    ) -> bool:
        """Add a label unless there is an objection. False if there is one, or if people are asked.

        Args:
            why: For a label of an axis.
        """
        name = label.name.casefold()
        former = self.names.axes[why.axis].former_of([why.label]) if why is not None else set()
        if label.off is not None:
            self.leave(label.name, label.off)
        elif not again and not _folded(self.state.removed).isdisjoint({name, *former}):
            self.leave(label.name, "somebody took it off this issue")
        elif name in _folded(self.labels):
            self.leave(label.name, "already added for another axis")
        elif not (is_there := name in _folded(self.state.repository_labels)) and not self.names.config.create_labels:
            self.leave(label.name, "the repository has no such label, and `create-labels` is off")
        else:
            asked = len(self.people.made)
            now = why is None or self.people.may(why, sure=sure)
            if not is_there and (now or len(self.people.made) > asked):
                self.create.append(LabelDefinition(label.name, label.color, label.description))
            if now:
                self.labels.append(label.name)
                if why is not None:
                    self.intents[label.name] = why
            return now or any(one.value.casefold() == name for one in self.people.approve)
        return False
