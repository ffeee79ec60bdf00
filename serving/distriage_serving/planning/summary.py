"""The step summary of a plan, in Markdown. Pure. All foreign text is in code spans; see `markdown.py`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from distriage.answer.verdict import AxisVerdict, Differential, Verdict
from distriage.model.taxonomy import Axis, Taxonomy
from distriage.own.answer import OwnLabel
from distriage.past.same import HOW_OFTEN
from distriage_serving.planning.intent import MAX_CHARS
from distriage_serving.planning.markdown import checklist, code, duplicates, known_problems, table
from distriage_serving.planning.types import IssueState, Plan

_SUGGESTED = {
    "add_label": "label",
    "set_type": "issue type",
    "add_field": "issue field",
    "close_issue": "close as a duplicate of issue",
}
_SAID = {"apply": "{}", "suggest": "perhaps {}", "abstain": "not sure (best guess {})"}


def summary_of(
    plan: Plan,
    verdict: Verdict,
    state: IssueState,
    taxonomy: Taxonomy,
    configurations: Sequence[str] = (),
    owners: Sequence[tuple[str, str]] = (),
) -> str:
    """Changes made, changes omitted, and reasons: Markdown of one paragraph or table each.

    Args:
        configurations: Files read as the configuration.
        owners: See `owners_of`.
    """
    parts = [
        f"### Distriage: {code(str(state.issue))}",
        code(state.title, 256),
        *([f"**{verdict.why_silent}**"] if verdict.why_silent else []),
        _verdict_table(verdict, taxonomy),
        _labels(plan),
        *([_own_table(verdict.own, plan, state)] if verdict.own else []),
    ]
    if verdict.second_reading is not None:
        parts.append(f"**Second reader**: {code(verdict.second_reading.said)}")
    if plan.take_off:
        parts.append(
            f"**Labels** {'that would be taken off (dry run)' if plan.dry_run else 'to take off'}: "
            f"{', '.join(map(code, plan.take_off))}"
        )
    if plan.issue_type is not None:
        parts.append(
            f"**Issue type** {'that would be set (dry run)' if plan.dry_run else 'to set'}: {code(plan.issue_type)}"
        )
    if plan.fields:
        values = ", ".join(code(one.value) for one in plan.fields)
        parts.append(f"**Issue fields** {'that would be set (dry run)' if plan.dry_run else 'to set'}: {values}")
    if plan.suggestions:
        would = "that would be suggested (dry run)" if plan.dry_run else "for a person to approve or dismiss"
        parts.append(f"**Suggestions** {would}\n\n{_suggestions(plan)}")
    if plan.comment is not None:
        what = "edited" if plan.comment.replaces is not None else "written"
        shown = "\n\n" + indent(plan.comment.body, "> ", lambda _: True) if plan.dry_run else ""
        parts.append(f"**Comment**: {'would be ' if plan.dry_run else ''}{what}{shown}")
    if plan.left_out:
        parts.append("**Left out**\n\n" + "\n".join(f"- {code(item.what)}: {item.why}" for item in plan.left_out))
    if verdict.duplicates:
        parts.append(f"**Likely the same issue** ({HOW_OFTEN})\n\n" + duplicates(verdict.duplicates))
    if owners:
        parts.append("**Owners**: " + ", ".join(f"{code(who)} ({code(key)})" for who, key in owners))
    if verdict.signs:
        parts.append("**Signs**\n\n" + "\n".join(f"- {code(one.name)}: {code(one.says)}" for one in verdict.signs))
    if verdict.checks:
        parts.append("**Check first**\n\n" + checklist(verdict.checks))
    if verdict.differential is not None:
        parts.append("**Which cause**" + _right_among(verdict.differential) + "\n\n" + _causes(verdict.differential))
    if verdict.environment:
        parts.append(
            "**Environment**\n\n"
            + table(
                ("fact", "stated"),
                [(name.replace("_", " "), code(str(value))) for name, value in verdict.environment.items()],
            )
        )
    if verdict.known_problems:
        parts.append("**Known problems of these versions**\n\n" + known_problems(verdict.known_problems))
    if verdict.missing:
        parts.append("**Missing**\n\n" + "\n".join(f"- {item.question}" for item in verdict.missing))
    parts.append(
        f"{code(verdict.model)}, taxonomy {code(verdict.taxonomy_version)}, mode {verdict.mode}; "
        f"configuration: {', '.join(map(code, configurations)) or 'none found, so the defaults'}"
    )
    return "\n\n".join(parts) + "\n"


def _verdict_table(verdict: Verdict, taxonomy: Taxonomy) -> str:
    return table(
        ("", "verdict", "p", "second guess", "p", "why"),
        [_row(taxonomy.axes[axis_id], said) for axis_id, said in verdict.axes.items()],
    )


def _row(axis: Axis, said: AxisVerdict) -> tuple[str, ...]:
    if said.outcome == "not-applicable":
        return (axis.name, "does not apply", "", "", "", said.reason)
    shown = _SAID[said.outcome].format(code(axis.shown(said.label)))
    if said.family is not None:
        shown += f"; family: {code(said.family)} ({said.family_probability or 0:.2f})"
    runner_up = said.top[1]
    second = code(axis.shown(runner_up.label))
    return (axis.name, shown, f"{said.probability:.2f}", second, f"{runner_up.probability:.2f}", said.reason)


def _own_table(own: Sequence[OwnLabel], plan: Plan, state: IssueState) -> str:
    rows = [(code(one.label), f"{one.probability:.2f}", _why_own(one, plan, state)) for one in own]
    return table(("own label", "p", "why"), rows)


def _why_own(one: OwnLabel, plan: Plan, state: IssueState) -> str:
    if (given := plan.intents.get(one.label)) is not None:
        return code(given.intent.rationale, MAX_CHARS)
    if one.label.casefold() in map(str.casefold, state.labels):
        return "the issue has it"
    right = f": right in {one.precision:.0%} of held-out issues" if one.precision is not None else ""
    return f"sure enough{right}" if one.applied else "not sure enough"


def _causes(differential: Differential) -> str:
    return "\n".join(
        f"- {code(cause.label)} {cause.probability:.2f}" + (f": {cause.check}" if cause.check else "")
        for cause in differential.causes
    )


def _right_among(differential: Differential) -> str:
    if differential.right_among is None:
        return ""
    return f" (the right one was among the three likeliest in {differential.right_among:.0%} of held-out reports)"


def _suggestions(plan: Plan) -> str:
    rows = [
        (_SUGGESTED[one.action], code(one.value), one.intent.confidence, code(one.intent.rationale, MAX_CHARS))
        for one in plan.suggestions
    ]
    return table(("change", "to", "confidence", "why"), rows)


def _labels(plan: Plan) -> str:
    created = {definition.name for definition in plan.create}
    if not plan.labels:
        return "**Labels**: none to add"
    shown = ", ".join(code(name) + (" (new)" if name in created else "") for name in plan.labels)
    return f"**Labels** {'that would be added (dry run)' if plan.dry_run else 'to add'}: {shown}"
