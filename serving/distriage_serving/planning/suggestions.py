"""The part of a plan for people to approve or dismiss on GitHub. Pure.

A suggestion is made once: not again after it was dismissed, nor after a person made and undid the change. A pending one
of ours is approved if a person decided so elsewhere or the model is sure by now, and dismissed if it no longer holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from distriage.answer.verdict import AxisVerdict, Verdict
from distriage.base.types import Outcome
from distriage_serving.configuration.names import AxisNames, Names
from distriage_serving.planning import markdown
from distriage_serving.planning.intent import Intent, decided_intent, duplicate_intent, intent_of, original_of
from distriage_serving.planning.suggested import Reasoned, Suggested
from distriage_serving.planning.types import IssueState, LeftOut, Plan

DISMISSED = "a person dismissed the suggestion"
PENDING = "it is suggested already"
LATER = "it is suggested when the issue is looked at again"


@dataclass(slots=True)
class Suggestions:
    """Questions to people, collected while a plan is made.

    Attributes:
        leave: Notes omitted changes and the reason.
    """

    state: IssueState
    names: Names
    leave: Callable[[str, str], None]
    made: list[Reasoned] = field(default_factory=list)
    approve: list[Suggested] = field(default_factory=list)
    dismiss: list[Suggested] = field(default_factory=list)
    _kept: list[Suggested] = field(default_factory=list)

    @property
    def on(self) -> bool:
        """Whether anything is suggested here."""
        return self.names.config.suggestions != "off"

    @property
    def only(self) -> bool:
        """Whether nothing is set without a person."""
        return self.names.config.suggestions == "all"

    def perhaps(self, axis: AxisNames, said: AxisVerdict) -> bool:
        """Whether a label of an axis is worth a person's look although it is not sure."""
        return self.on and said.outcome is Outcome.SUGGEST and axis.id not in self.state.decided

    def intent(self, axis: AxisNames, said: AxisVerdict) -> Intent:
        """Why a change on an axis is made."""
        return decided_intent() if axis.id in self.state.decided else intent_of(said, axis.title)

    def may(self, change: Reasoned, *, sure: bool) -> bool:
        """Whether a change is to be made now; if not, it is suggested, approved or left, with the reason noted.

        Args:
            sure: The verdict is, or a person decided so.
        """
        is_decided = change.axis in self.state.decided
        now = is_decided or (sure and not self.only)
        earlier = self.state.earlier(change.action, change.value, change.target_id)
        if earlier is not None and earlier.state == "pending":
            if not now or (earlier.held and not is_decided):
                self._kept.append(earlier)
                self.leave(change.value, PENDING)
                return False
            if earlier.ours:
                self.approve.append(earlier)
            return not earlier.ours
        if earlier is not None and earlier.state == "dismissed" and not is_decided:
            self.leave(change.value, DISMISSED)
            return False
        if now:
            return True
        if self.on:
            self.made.append(replace(change, sure=sure))
        return False

    def withdraw(self, axis: str) -> None:
        """Approve or dismiss the pending suggestions of an axis that the plan does not repeat.

        Args:
            axis: Empty for suggested duplicates.
        """
        on_it = {name.casefold() for name in self.state.labels}
        stays = [*self._kept, *self.approve]
        for pending in self.state.suggested:
            if pending.state != "pending" or not pending.ours or pending.axis != axis or pending in stays:
                continue
            if pending.action == "add_label" and pending.value.casefold() in on_it:
                continue  # GitHub ends it
            if axis in self.state.decided and self.state.decided[axis] == pending.label:
                self.approve.append(pending)
            elif axis in self.state.decided or self.on:
                self.dismiss.append(pending)

    def plan_field(self, axis: AxisNames, said: AxisVerdict) -> Reasoned | None:
        """The value to put into the issue field of an axis now, if any."""
        decided = self.state.decided.get(axis.id)
        sure = said.outcome is Outcome.APPLY or decided is not None
        label = axis.labels.get(decided or said.label) if sure or self.perhaps(axis, said) else None
        if axis.field is None or label is None or (axis.id in self.state.decided and decided is None):
            return None
        known = self.state.known_fields.get(axis.field.casefold())
        option = known.option(label.option) if known is not None else None
        if known is None or option is None:
            lacks = "single-select field" if known is None else f"option {markdown.code(label.option)}"
            self.leave(f"field {axis.field}", f"GitHub shows no such {lacks}")
            return None
        if (value := self.state.fields.get(known.name.casefold())) is not None:
            if value.casefold() != option.casefold():
                self.leave(f"field {axis.field}", "it has a value; it is left as it is")
            return None
        if decided is None and any(
            one.action == "add_field" and one.target_id == known.id and one.state in {"approved", "applied"}
            for one in self.state.suggested
        ):
            self.leave(f"field {axis.field}", "it was filled in before, and somebody emptied it")
            return None
        meant = decided or said.label
        change = Reasoned("add_field", option, self.intent(axis, said), known.id, axis.id, meant)
        return change if self.may(change, sure=sure) else None

    def plan_duplicate(self, verdict: Verdict) -> None:
        """Suggest to close an issue as the same as an open one; it is never closed without a person."""
        if not self.on or verdict.duplicates is None:
            return
        for found in verdict.duplicates:
            original = original_of(found, self.state.issue)
            if original is None or found.state == "closed" or not self.state.is_open:
                continue
            earlier = self.state.earlier("close_issue", str(original))
            if earlier is None or earlier.state == "ended":
                why, target_id = duplicate_intent(found, original), self.state.github_ids.get(found.id)
                self.made.append(Reasoned("close_issue", str(original), why, target_id, sure=False))
            elif earlier.state == "pending":
                self._kept.append(earlier)
        self.withdraw("")


def in_one_request(plan: Plan) -> Plan:
    """The plan with suggestions that cost at most one request more than none.

    GitHub takes labels by one request, all else by another. If nothing but suggestions needs either, one waits for a
    later look: the labels if the issue is perhaps a duplicate, else the rest.
    """
    labels = [one for one in plan.suggestions if one.action == "add_label"]
    rest = [one for one in plan.suggestions if one.action != "add_label"]
    if plan.labels or plan.issue_type or plan.fields or any(one.sure for one in plan.suggestions):
        return plan
    now, later = (rest, labels) if any(one.action == "close_issue" for one in rest) else (labels, rest)
    if not now or not later:
        return plan
    left_out = (LeftOut(one.shown, LATER) for one in later)
    return replace(plan, suggestions=tuple(now), left_out=(*plan.left_out, *left_out))
