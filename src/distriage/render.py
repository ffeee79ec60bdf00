"""A verdict on the terminal: one screen for people. Text of the report is shown as text, never as mark-up."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from distriage.taxonomy import Axis, Taxonomy
from distriage.verdict import AxisVerdict, SimilarIssue, Verdict

_STYLE = {"apply": "bold green", "suggest": "yellow", "abstain": "dim", "not-applicable": "dim"}


def print_verdict(console: Console, verdict: Verdict, taxonomy: Taxonomy) -> None:
    """Print one verdict."""
    parts: list[RenderableType] = [
        Text(_printable(verdict.title or verdict.id or "(no title)"), style="bold", overflow="ellipsis", no_wrap=True),
        _axes_table(verdict, taxonomy),
    ]
    parts.append(_notes(verdict))
    for axis_id, axis in verdict.axes.items():
        if axis.evidence:
            parts.append(Text(f"Why {taxonomy.axes[axis_id].name.lower()} {axis.label}:", style="bold"))
            parts.extend(Text(f"  {item.weight:+.2f}  {_printable(item.line)[:160]}", overflow="ellipsis", no_wrap=True) for item in axis.evidence)
    if verdict.similar:
        parts += _similar(verdict.similar, taxonomy)
    parts.append(Text(f"{verdict.model}, taxonomy {verdict.taxonomy_version}, mode {verdict.mode}", style="dim"))
    console.print(Group(*parts))


def _axes_table(verdict: Verdict, taxonomy: Taxonomy) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "verdict", "p", "or else", "p"):
        table.add_column(heading, justify="right" if heading == "p" else "left", header_style="dim")
    for axis_id, axis in verdict.axes.items():
        if axis.outcome == "not-applicable":
            table.add_row(taxonomy.axes[axis_id].name, Text(f"- ({axis.reason})", style="dim"), "", "", "")
            continue
        said = Text(_said(axis, taxonomy.axes[axis_id]), style=_STYLE[axis.outcome])
        runner_up = axis.top[1]
        table.add_row(
            taxonomy.axes[axis_id].name, said, f"{axis.probability:.2f}", Text(runner_up.label, style="dim"), Text(f"{runner_up.probability:.2f}", style="dim")
        )
    return table


def _said(axis: AxisVerdict, taxonomy_axis: Axis) -> str:
    name = {"true": "yes", "false": "no"}.get(axis.label, axis.label) if taxonomy_axis.id == "distributed" else axis.label
    if axis.outcome == "apply":
        return name
    family = f"; some {axis.family} failure" if axis.family else ""
    if axis.outcome == "suggest":
        return f"perhaps {name}{family}"
    return f"not sure{family} (best guess {name})"


def _notes(verdict: Verdict) -> Table:
    notes = Table.grid(padding=(0, 2, 0, 0))
    notes.add_column(style="bold", no_wrap=True)
    notes.add_column()
    for axis in verdict.axes.values():
        if axis.advice and axis.outcome in {"apply", "suggest"}:
            notes.add_row("What to do" if axis.outcome == "apply" else "Perhaps", Text(axis.advice))
    notes.add_row("Environment", Text(_printable(_facts(verdict)) or "nothing stated"))
    if verdict.missing:
        notes.add_row("Ask for", Text("; ".join(item.question for item in verdict.missing[:4])))
    return notes


def _similar(issues: Sequence[SimilarIssue], taxonomy: Taxonomy) -> list[RenderableType]:
    # What depends on another axis says how it failed and what mended it.
    axes = [axis for axis in taxonomy.axes.values() if axis.requires] or list(taxonomy.axes.values())
    parts: list[RenderableType] = [Text(f"Similar issues, with {', '.join(axis.name.lower() for axis in axes)}:", style="bold")]
    for issue in issues:
        style = Style(link=issue.url or None)
        parts.append(Text(f"  {issue.similarity:.2f}  {_printable(f'{issue.id}  {issue.title}')}", style=style, overflow="ellipsis", no_wrap=True))
        parts.append(Text("        " + ", ".join(issue.labels.get(axis.id, "-") for axis in axes), style="dim", overflow="ellipsis", no_wrap=True))
    return parts


def _facts(verdict: Verdict) -> str:
    facts = dict(verdict.environment)
    framework = f"{facts.pop('framework', '')} {facts.pop('framework_version', '')}".strip()
    named = [f"{name.replace('_', ' ')} {value}" for name, value in facts.items()]
    return ", ".join([framework, *named] if framework else named)


def _printable(text: str) -> str:
    # A title may carry terminal escape sequences.
    return "".join(char if char.isprintable() else " " for char in text)
