"""A plan with the verdict's labels of the repository's own. Pure.

A person's decision in the queue holds: a rejected label is not added, and is taken off if Distriage set it. Only labels
of signs are created: another one that the repository no longer has is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from distriage.answer.feedback import own_axis, own_label
from distriage.answer.verdict import Verdict
from distriage_serving.configuration.names import Names
from distriage_serving.planning.intent import decided_intent, own_intent, sign_intent
from distriage_serving.planning.signs import sign_behind
from distriage_serving.planning.suggested import Reasoned
from distriage_serving.planning.suggestions import Suggestions
from distriage_serving.planning.types import IssueState, LabelDefinition, LeftOut, Plan


def with_own_labels(plan: Plan, verdict: Verdict, state: IssueState, names: Names) -> Plan:
    """Add the own labels that reach their thresholds, unless a person says otherwise."""
    there = {name.casefold() for name in (*plan.labels, *state.labels)}
    known = {name.casefold() for name in state.repository_labels}
    removed = {name.casefold() for name in state.removed}
    labels, left_out = list(plan.labels), list(plan.left_out)
    people = Suggestions(state, names, lambda what, why: left_out.append(LeftOut(what, why)))
    intents: dict[str, Reasoned] = {}
    decided = {label.casefold(): right for axis, right in state.decided.items() if (label := own_label(axis))}
    of_signs = {label.name.casefold(): label for label in names.signs.values()}
    applied = [own.label for own in verdict.own or () if own.applied]
    listed = names.config.own_labels
    may = None if listed is None else {*map(str.casefold, listed), *of_signs, *decided}
    precisions = {own.label.casefold(): own.precision for own in verdict.own or ()}
    wanted = {label.casefold(): label for label in (*applied, *filter(None, decided.values()))}
    create = list(plan.create)
    for name, label in wanted.items():
        if name in there:
            continue
        if names.meanings(label):
            left_out.append(LeftOut(label, "an own label that the configuration gives to an axis, which decides"))
        elif name in decided and decided[name] is None:
            left_out.append(LeftOut(label, "a person says that it is not right"))
        elif name in removed and name not in decided:  # a decision that counts is newer
            left_out.append(LeftOut(label, "somebody took it off this issue"))
        elif may is not None and name not in may:
            left_out.append(LeftOut(label, "an own label that `own-labels` leaves out"))
        elif name not in known and name not in of_signs:
            left_out.append(LeftOut(label, "an own label that the repository no longer has"))
        elif name not in known and not names.config.create_labels:
            left_out.append(LeftOut(label, "the repository has no such label, and `create-labels` is off"))
        else:
            sign = sign_behind(label, verdict, names)
            why = own_intent(precisions.get(name)) if sign is None else sign_intent(sign)
            change = Reasoned(
                "add_label", label, decided_intent() if name in decided else why, None, own_axis(label), label
            )
            if name not in known:
                create.append(LabelDefinition(label, of_signs[name].color, of_signs[name].description))
            if people.may(change, sure=True):
                labels.append(label)
                intents[label] = change
    for axis in {one.axis for one in state.suggested if own_label(one.axis) is not None}:
        people.withdraw(axis)
    withdrawn = {axis.casefold() for axis in state.withdrawn}
    wrong = [name for name in sorted(state.labels_by_us) if not names.meanings(name)]
    wrong = [name for name in wrong if _is_wrong(name.casefold(), decided, wanted.keys() - removed, withdrawn)]
    return replace(
        plan,
        labels=tuple(labels),
        create=tuple(create),
        intents={**plan.intents, **intents},
        suggestions=(*plan.suggestions, *people.made),
        approve=(*plan.approve, *people.approve),
        dismiss=(*plan.dismiss, *people.dismiss),
        take_off=(*plan.take_off, *wrong),
        left_out=tuple(left_out),
    )


def _is_wrong(
    name: str, decided: Mapping[str, str | None], wanted: Collection[str], withdrawn: Collection[str]
) -> bool:
    """Whether a person refused a label that Distriage set, or undid the decision behind it."""
    if name in decided:
        return decided[name] is None
    return own_axis(name).casefold() in withdrawn and name not in wanted
