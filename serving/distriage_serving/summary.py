"""The step summary of a plan, in Markdown. Pure. Whatever others wrote stands in code spans; see `markdown.py`."""

from __future__ import annotations

from dataclasses import replace

from distriage.taxonomy import Taxonomy
from distriage.verdict import AxisVerdict, Verdict
from distriage_serving.markdown import code, table
from distriage_serving.plan_types import IssueState, Plan

_SAID = {"apply": "{}", "suggest": "perhaps {}", "abstain": "not sure (best guess {})"}


def render_summary(plan: Plan, verdict: Verdict, state: IssueState, taxonomy: Taxonomy) -> Plan:
    """The plan with its summary."""
    parts = [f"### Distriage: {code(state.reference)}", code(state.title, 256), _verdict_table(verdict, taxonomy), _labels(plan)]
    if plan.take_off:
        parts.append(f"**Labels** {'that would be taken off (dry run)' if plan.dry_run else 'to take off'}: {', '.join(map(code, plan.take_off))}")
    if plan.comment is not None:
        what = "edited" if plan.comment.replaces is not None else "written"
        parts.append(f"**Comment**: {'would be ' if plan.dry_run else ''}{what}")
    if plan.left_out:
        parts.append("**Left out**\n\n" + "\n".join(f"- {code(item.what)}: {item.why}" for item in plan.left_out))
    if verdict.environment:
        parts.append(
            "**Environment**\n\n" + table(("fact", "stated"), [(name.replace("_", " "), code(str(value))) for name, value in verdict.environment.items()])
        )
    if verdict.missing:
        parts.append("**Missing**\n\n" + "\n".join(f"- {item.question}" for item in verdict.missing))
    parts.append(f"{code(verdict.model)}, taxonomy {code(verdict.taxonomy_version)}, mode {verdict.mode}")
    return replace(plan, summary="\n\n".join(parts) + "\n")


def _verdict_table(verdict: Verdict, taxonomy: Taxonomy) -> str:
    return table(("", "verdict", "p", "or else", "p", "why"), [_row(taxonomy.axes[axis_id].name, said) for axis_id, said in verdict.axes.items()])


def _row(name: str, said: AxisVerdict) -> tuple[str, ...]:
    if said.outcome == "not-applicable":
        return (name, "does not apply", "", "", "", said.reason)
    shown = _SAID[said.outcome].format(code(said.label))
    if said.family is not None:
        shown += f"; some {code(said.family)} failure ({said.family_probability or 0:.2f})"
    runner_up = said.top[1]
    return (name, shown, f"{said.probability:.2f}", code(runner_up.label), f"{runner_up.probability:.2f}", said.reason)


def _labels(plan: Plan) -> str:
    created = {definition.name for definition in plan.create}
    if not plan.labels:
        return "**Labels**: none to add"
    shown = ", ".join(code(name) + (" (new)" if name in created else "") for name in plan.labels)
    return f"**Labels** {'that would be added (dry run)' if plan.dry_run else 'to add'}: {shown}"
