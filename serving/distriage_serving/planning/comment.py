"""The one comment on an issue: whether to write it, and its text. Pure."""

from __future__ import annotations

import re
from typing import Final

from distriage.answer.verdict import Verdict
from distriage.base.types import Silence
from distriage_serving.configuration.model import DEFAULT_COMMENT, OF_AXES, PLACEHOLDER, render_template
from distriage_serving.configuration.names import AxisNames, Names
from distriage_serving.planning import markdown
from distriage_serving.planning.marker import Marker
from distriage_serving.planning.types import IssueState, LeftOut, Plan, PlannedComment

_ASK: Final = "This is missing from the report; please add it to the description:"
_ASK_MORE: Final = "This report says too little to tell what is wrong. Please add to the description:"
_KNOWN: Final = "Known problems of the versions in this report:"
_SAME: Final = "This may have been reported before. It reads like:"
_ANSWERED: Final = "Nothing that was asked for here is missing any more. Thank you."
_NO_MORE: Final = "What stood here no longer holds."


def plan_comment(verdict: Verdict, state: IssueState, names: Names, plan: Plan) -> PlannedComment | LeftOut | None:
    """Decide on the comment.

    Returns:
        None if there is nothing to say.
    """
    text = _text(verdict, state, names, plan) if verdict.silence is not Silence.FOREIGN else ""
    own, config = state.own_comment, names.config
    if not text and own is not None:
        if config.comment is not None or (config.name_duplicates and verdict.duplicates is not None):
            text = _NO_MORE
        elif config.ask_for_environment:
            text = _ANSWERED  # it held only questions, and all are answered by now
    if not text:
        return None
    if state.locked or not state.is_open:
        return LeftOut("comment", "the conversation is locked" if state.locked else "the issue is closed")
    if own is None and state.comment_deleted:
        return LeftOut(
            "comment", "a comment was deleted on this issue; it may have been ours, so no new one is written"
        )
    marker = Marker.of(text)
    if own is not None and own.edited:
        return LeftOut("comment", "somebody edited the comment; it is left as it is")
    if own is not None and own.digest == marker.digest:
        return LeftOut("comment", "the comment is up to date")
    return PlannedComment(marker.write(text), marker.digest, own.id if own is not None else None)


def _text(verdict: Verdict, state: IssueState, names: Names, plan: Plan) -> str:
    """The comment without its marker; it holds the maintainers' words and ours; of reporters, titles of past issues."""
    config, ours = names.config, {*plan.labels, *state.labels_by_us} - set(plan.take_off)
    asked = (
        "\n".join([_ASK_MORE if verdict.is_thin else _ASK, "", *(f"- {item.question}" for item in verdict.missing)])
        if verdict.missing and config.ask_for_environment
        else ""
    )
    same = (
        f"{_SAME}\n\n{markdown.duplicates(verdict.duplicates)}" if verdict.duplicates and config.name_duplicates else ""
    )
    found = {
        "axes": "\n".join(
            f"- {names.axes[axis_id].title}: {markdown.code(said.label)} ({said.probability:.0%})"
            for axis_id, said in verdict.axes.items()
            if said.outcome == "apply"
            and config.axis(axis_id) is not None
            and axis_id not in state.decided
            and not names.is_ruled_out(axis_id, state.decided)
            and not _is_contradicted(names.axes[axis_id], said.label, state, plan)
        ),
        "checks": markdown.checklist(verdict.checks),
        "duplicates": same,
        "known-problems": f"{_KNOWN}\n\n{markdown.known_problems(verdict.known_problems)}"
        if verdict.known_problems
        else "",
        # With those of earlier runs, so that a second run does not change the comment.
        "labels": ", ".join(map(markdown.code, sorted(ours))),
        "questions": asked,
    }
    template = config.comment if config.comment is not None else ""
    if template == DEFAULT_COMMENT and not found["axes"]:
        template = template.replace(OF_AXES, "")
    there = PLACEHOLDER.findall(template)
    also = [name for name in ("duplicates", "questions") if found[name] and name not in there]
    template += "".join(f"\n\n{{{{ {name} }}}}" for name in also)
    wanted = found.keys() & {*there, *also}
    if wanted and not any(found[name] for name in wanted):
        return ""  # a greeting and nothing behind it
    values = {**found, "model": markdown.code(verdict.model)}
    return re.sub(r"\n{3,}", "\n\n", render_template(template, values)).strip()


def _is_contradicted(axis: AxisNames, said: str, state: IssueState, plan: Plan) -> bool:
    """Whether the issue's labels after the plan, or a person who took one off, contradict the verdict.

    The label itself answers a person who took off its family, once it is on the issue.
    """
    on_it = {name.casefold() for name in {*state.labels, *plan.labels} - set(plan.take_off)}
    label, family = axis.labels.get(said), axis.families.get(axis.family_of.get(said, ""))
    agreeing = {known.name.casefold() for known in (label, family) if known is not None}
    is_set = label is not None and label.name.casefold() in on_it
    rejected = not is_set and agreeing & {name.casefold() for name in state.removed} - on_it
    return bool(rejected or on_it & axis.folded - agreeing)
