"""Verdict + state of the issue + configuration -> Plan. Pure: reads nothing, writes nothing.

Labels are added, never replaced, and taken off only where Distriage set them and a person decided otherwise by a command or in the queue. A label that a
person took off is not set again; on an axis that has a label already, whoever set it, nothing is added, except the label itself beside its own family that
Distriage set before. There is at most one comment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from distriage.taxonomy import Axis, Taxonomy
from distriage.verdict import AxisVerdict, Verdict
from distriage_serving import markdown, wildcard
from distriage_serving.plan_types import IssueState, LabelDefinition, LeftOut, Plan, PlannedComment
from distriage_serving.repo_config import MAX_DESCRIPTION_CHARS, AxisConfig, LabelConfig, RepositoryConfig, axis_names, family_name, label_name, render_template
from distriage_serving.summary import render_summary

MARKER = re.compile(r"\A<!-- distriage:v1 (?P<digest>[0-9a-f]{16}) -->")
NEEDS_TRIAGE = "needs-triage"
_COLOURS: Mapping[str, str] = {"kind": "5319e7", "distributed": "c5def5", "stage": "1d76db", "symptom": "d93f0b", "cause": "fbca04", "fix": "0e8a16"}
_OTHER_COLOUR = "ededed"
_ASK = "To find out what is wrong, these facts are needed; please add them to the description:"
_ANSWERED = "Nothing that was asked for here is missing any more. Thank you."


@dataclass(slots=True)
class _Draft:
    """A plan while it is being made."""

    labels: list[str] = field(default_factory=list)
    create: list[LabelDefinition] = field(default_factory=list)
    take_off: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def leave(self, what: str, why: str) -> None:
        self.left_out.append(LeftOut(what, why))


def make_plan(verdict: Verdict, state: IssueState, config: RepositoryConfig, taxonomy: Taxonomy) -> Plan:
    """Decide what to do about an issue.

    Args:
        verdict: What is said of the report; see `judging.judge`.
        taxonomy: That of the verdict.
    """
    draft = _Draft()
    comment = None
    ignored = _why_ignored(state, config)
    if ignored is None:
        _plan_labels(draft, verdict, state, config, taxonomy)
        comment = _plan_comment(draft, verdict, state, config, taxonomy)
    else:
        draft.leave("issue", ignored)
    plan = Plan(
        repository=state.repository,
        number=state.number,
        labels=tuple(draft.labels),
        create=tuple(draft.create),
        comment=comment,
        left_out=tuple(draft.left_out),
        dry_run=config.dry_run,
        summary="",
        take_off=tuple(draft.take_off),
    )
    return render_summary(plan, verdict, state, taxonomy)


def _why_ignored(state: IssueState, config: RepositoryConfig) -> str | None:
    if state.is_pull_request:
        return "it is a pull request"
    if state.author_is_bot:
        return "a bot wrote it"
    if state.sender_is_bot:
        return "a bot caused the event"
    if any(wildcard.matches(pattern, state.author) for pattern in config.ignore.authors):
        return "its author is ignored by the configuration"
    if any(wildcard.matches(pattern, label) for pattern in config.ignore.labels for label in state.labels):
        return "it has a label that is ignored by the configuration"
    if any(wildcard.matches(pattern, state.title) for pattern in config.ignore.titles):
        return "its title is ignored by the configuration"
    return None


# ---------------------------------------------------------------- labels


def _plan_labels(draft: _Draft, verdict: Verdict, state: IssueState, config: RepositoryConfig, taxonomy: Taxonomy) -> None:
    unsure = has_label = False
    for axis in taxonomy.axes.values():
        settings = config.axis(axis.id)
        said = verdict.axes.get(axis.id)
        if settings is None or said is None:
            continue
        unsure = unsure or (axis.id not in state.decided and said.outcome in {"suggest", "abstain"})
        has_label = has_label or not state_labels(state).isdisjoint(map(str.casefold, axis_names(axis, settings)))
        before = len(draft.labels)
        _plan_axis(draft, axis, settings, said, state, config)
        has_label = has_label or len(draft.labels) > before
    kind = verdict.axes.get("kind")
    unsure = unsure or (kind is not None and kind.outcome != "apply")
    if config.needs_triage.enabled and unsure and not has_label:
        name = config.needs_triage.name or NEEDS_TRIAGE
        if name.casefold() not in state_labels(state):
            _add(draft, name, config.needs_triage, state, config, _OTHER_COLOUR, "Distriage is not sure; a person has to look.")


def state_labels(state: IssueState) -> frozenset[str]:
    """The labels on an issue, case-folded."""
    return _folded(state.labels)


def _folded(names: Collection[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, names))


def _plan_axis(draft: _Draft, axis: Axis, settings: AxisConfig, said: AxisVerdict, state: IssueState, config: RepositoryConfig) -> None:
    withdrawn = _withdrawn(axis, settings, said, state)
    draft.take_off.extend(sorted(withdrawn))
    state = replace(state, labels=state.labels - withdrawn)
    if axis.id in state.decided:
        _plan_decided(draft, axis, settings, state.decided[axis.id], state, config)
        return
    family = axis.label(said.label).family
    family_label = family_name(axis, settings, family).casefold() if family is not None else None
    names = _folded(list(axis_names(axis, settings)))
    present = [label for label in sorted(state.labels) if label.casefold() in names]
    by_us = _folded(state.labels_by_us)
    for label in present:
        if label.casefold() not in by_us:
            draft.leave(axis.id, f"{markdown.code(label)} was set by someone else; the axis is left as it is")
            return
    if any(label.casefold() != family_label for label in present) or (present and said.outcome != "apply"):
        draft.leave(axis.id, f"{markdown.code(present[0])} was set before; labels are never replaced")
        return
    if said.outcome == "apply":
        own = settings.labels.get(said.label, LabelConfig())
        _add(draft, label_name(axis, settings, said.label), own, state, config, _colour(axis, settings), axis.label(said.label).definition)
    elif said.outcome != "not-applicable" and said.family is not None and settings.families.enabled:
        own = settings.families.labels.get(said.family, LabelConfig())
        _add(
            draft,
            family_name(axis, settings, said.family),
            own,
            state,
            config,
            _colour(axis, settings),
            f"{axis.name}: {', '.join(axis.families[said.family])}",
        )
    else:
        draft.leave(axis.id, said.reason if said.outcome == "not-applicable" else f"not sure: {said.reason}")


def _withdrawn(axis: Axis, settings: AxisConfig, said: AxisVerdict, state: IssueState) -> frozenset[str]:
    """The labels of an axis that Distriage set and that a person's decision, or the end of one, contradicts."""
    if axis.id in state.decided:
        right = state.decided[axis.id]
        wrong = _folded(list(axis_names(axis, settings))) - ({label_name(axis, settings, right).casefold()} if right is not None else set())
    else:
        wrong = _folded([label_name(axis, settings, label) for label in state.withdrawn.get(axis.id, ()) if (said.outcome, said.label) != ("apply", label)])
    return frozenset(label for label in state.labels & state.labels_by_us if label.casefold() in wrong)


def _plan_decided(draft: _Draft, axis: Axis, settings: AxisConfig, label: str | None, state: IssueState, config: RepositoryConfig) -> None:
    if label is None:
        draft.leave(axis.id, "a person decided that no label of it fits")
    elif (name := label_name(axis, settings, label)).casefold() in state_labels(state):
        draft.leave(axis.id, f"a person decided on {markdown.code(name)}, which is set")
    else:  # whoever took it off before, the decision is newer
        asked = replace(state, removed=frozenset(removed for removed in state.removed if removed.casefold() != name.casefold()))
        own = settings.labels.get(label, LabelConfig())
        _add(draft, name, own, asked, config, _colour(axis, settings), axis.label(label).definition)


def _colour(axis: Axis, settings: AxisConfig) -> str:
    return settings.color or _COLOURS.get(axis.id, _OTHER_COLOUR)


def _add(draft: _Draft, name: str, own: LabelConfig, state: IssueState, config: RepositoryConfig, colour: str, description: str) -> None:
    if not own.enabled:
        draft.leave(name, "switched off in the configuration")
    elif name.casefold() in _folded(state.removed):
        draft.leave(name, "a person took it off this issue")
    elif name.casefold() in _folded(draft.labels):
        draft.leave(name, "added for another axis already")
    elif name.casefold() in _folded(state.repository_labels):
        draft.labels.append(name)
    elif config.create_labels:
        draft.labels.append(name)
        draft.create.append(LabelDefinition(name, own.color or colour, _shorten(own.description if own.description is not None else description)))
    else:
        draft.leave(name, "the repository has no such label, and `create-labels` is off")


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION_CHARS else text[: MAX_DESCRIPTION_CHARS - 1].rstrip() + "…"


# ---------------------------------------------------------------- comment


def _plan_comment(draft: _Draft, verdict: Verdict, state: IssueState, config: RepositoryConfig, taxonomy: Taxonomy) -> PlannedComment | None:
    text = _comment_text(draft, verdict, state, config, taxonomy)
    own = state.own_comment
    if not text and own is not None and (config.ask_for_environment or config.comment is not None):
        text = _ANSWERED  # what was asked for is there by now
    if not text:
        return None
    if state.locked or not state.is_open:
        draft.leave("comment", "the conversation is locked" if state.locked else "the issue is closed")
        return None
    if own is None and state.comment_deleted:
        draft.leave("comment", "a comment was deleted here, which may have been it")
        return None
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    if own is not None and own.digest == digest:
        draft.leave("comment", "it says so already")
        return None
    return PlannedComment(f"<!-- distriage:v1 {digest} -->\n{text}", digest, own.id if own is not None else None)


def _comment_text(draft: _Draft, verdict: Verdict, state: IssueState, config: RepositoryConfig, taxonomy: Taxonomy) -> str:
    """The comment without its marker; it holds the maintainers' words and ours, none of the report's."""
    asked = "\n".join([_ASK, "", *(f"- {item.question}" for item in verdict.missing)]) if verdict.missing and config.ask_for_environment else ""
    template = config.comment if config.comment is not None else "{{ questions }}"
    if config.comment is not None and asked and "questions" not in template:
        template += "\n\n{{ questions }}"
    values = {
        "axes": "\n".join(
            f"- {taxonomy.axes[axis_id].name}: {markdown.code(said.label)} ({said.probability:.0%})"
            for axis_id, said in verdict.axes.items()
            if said.outcome == "apply" and config.axis(axis_id) is not None
        ),
        # With those of earlier runs, so that a second run does not change the comment.
        "labels": ", ".join(map(markdown.code, sorted({*draft.labels, *state.labels_by_us}))),
        "model": markdown.code(verdict.model),
        "questions": asked,
    }
    return re.sub(r"\n{3,}", "\n\n", render_template(template, values)).strip()
