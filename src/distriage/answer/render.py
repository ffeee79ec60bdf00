"""A verdict on the terminal, for people. Text of the report is shown as text, never as mark-up.

On a terminal, lines wrap at its width; where the table of axes does not fit, each axis is a line of its own. In a pipe
nothing is cut or padded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from distriage.answer.verdict import AxisVerdict, FactSource, FailedRecord, SimilarIssue, Verdict
from distriage.base.errors import DistriageError
from distriage.base.terminal import output, printable, say
from distriage.base.types import Silence
from distriage.model.taxonomy import YES_NO, Axis, Taxonomy
from distriage.own.answer import OwnLabel

_STYLE = {"apply": "bold green", "suggest": "yellow", "abstain": "dim", "not-applicable": "dim"}
_QUESTIONS = 4  # shown; the rest are in the JSON
MANY_LABELS = 8
_PERHAPS = 0.3  # the least probability of an own label that is shown though it is not given


def print_answers(
    answers: Iterator[Verdict | FailedRecord], taxonomy: Taxonomy, *, json_: bool, jsonl: bool, quiet: bool
) -> tuple[int, int]:
    """Print answers in order, and failures on standard error unless `quiet`.

    Returns:
        The number of answers, and of failures among them.
    """
    console, count, failures, documents = output(), 0, 0, list[str]()
    try:
        for count, answer in enumerate(answers, 1):
            if isinstance(answer, FailedRecord):
                failures += 1
                if not quiet:
                    say(answer.error)
            if json_:
                documents.append(answer.model_dump_json(indent=2))
            elif jsonl:
                sys.stdout.write(answer.model_dump_json() + "\n")
            elif not isinstance(answer, FailedRecord):
                if count - failures > 1:
                    console.print()
                print_verdict(console, answer, taxonomy)
    except DistriageError:  # finished answers are not lost
        if documents:
            _print_documents(documents, several=True)
        raise
    if json_:
        _print_documents(documents, several=len(documents) != 1)
    return count, failures


def _print_documents(documents: Sequence[str], *, several: bool) -> None:
    sys.stdout.write(("[" + ",\n".join(documents) + "]" if several else documents[0]) + "\n")


def print_verdict(console: Console, verdict: Verdict, taxonomy: Taxonomy) -> None:
    """Print one verdict."""
    table = _axes_table(verdict, taxonomy)
    parts: list[RenderableType] = [
        Text(printable(verdict.title or verdict.id or "(no title)"), style="bold", overflow="ellipsis", no_wrap=True),
        *([Text(verdict.why_silent, style="yellow")] if verdict.why_silent else []),
        table if console.measure(table).maximum < console.width else _axes_list(verdict, taxonomy),
        _notes(verdict, taxonomy),
        *_evidence(verdict, taxonomy),
        *_own(verdict.own or ()),
        *_similar(verdict.similar or (), taxonomy),
        Text(f"{verdict.model}, taxonomy {verdict.taxonomy_version}, mode {verdict.mode}", style="dim"),
    ]
    show(console, *parts)


def show(console: Console, *parts: RenderableType) -> None:
    """Print one under the other; in a pipe without the blanks that fill a terminal's lines."""
    if console.is_terminal:
        console.print(Group(*parts))
        return
    with console.capture() as captured:
        console.print(Group(*parts))
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _answered(verdict: Verdict, taxonomy: Taxonomy) -> list[tuple[str, AxisVerdict]]:
    return [item for item in verdict.axes.items() if verdict.in_domain or item[0] in taxonomy.roots]


def _axes_table(verdict: Verdict, taxonomy: Taxonomy) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "verdict", "p", "second guess", "p"):
        table.add_column(heading, justify="right" if heading == "p" else "left", header_style="dim", overflow="fold")
    for axis_id, said in _answered(verdict, taxonomy):
        axis = taxonomy.axes[axis_id]
        if said.outcome == "not-applicable":
            table.add_row(Text(axis.name), Text(f"- ({said.reason})", style="dim"), "", "", "")
            continue
        second = said.top[1]
        table.add_row(
            Text(axis.name),
            Text(_answer(said, axis), style=_STYLE[said.outcome]),
            f"{said.probability:.2f}",
            Text(axis.shown(second.label), style="dim"),
            Text(f"{second.probability:.2f}", style="dim"),
        )
    return table


def _axes_list(verdict: Verdict, taxonomy: Taxonomy) -> Group:
    lines = []
    for axis_id, said in _answered(verdict, taxonomy):
        axis = taxonomy.axes[axis_id]
        if said.outcome == "not-applicable":
            lines.append(Text(f"{axis.name}: - ({said.reason})", style="dim", overflow="fold"))
        else:
            answer = (_answer(said, axis), _STYLE[said.outcome])
            lines.append(Text.assemble(f"{axis.name}: ", answer, f" {said.probability:.2f}", overflow="fold"))
    return Group(*lines)


def _answer(said: AxisVerdict, axis: Axis) -> str:
    name = axis.shown(said.label)
    if said.outcome == "apply":
        return name
    if said.silence is Silence.THIN:
        return "not sure (the report says too little)"
    family = f"; family: {said.family}" if said.family else ""
    if said.outcome == "suggest":
        return f"{'probably' if name in YES_NO.values() else 'perhaps'} {name}{family}"
    return f"not sure{family} (best guess {name})"


def _meanings(verdict: Verdict, taxonomy: Taxonomy) -> Iterator[str]:
    """The meanings of the sure labels, on axes with too many labels to know by heart."""
    for axis_id, said in verdict.axes.items():
        axis = taxonomy.axes[axis_id]
        if said.outcome == "apply" and len(axis.label_ids) > MANY_LABELS:
            yield f"{said.label}: {axis.label(said.label).definition}"


def _notes(verdict: Verdict, taxonomy: Taxonomy) -> Table:
    notes = Table.grid(padding=(0, 2, 0, 0))
    notes.add_column(style="bold", no_wrap=True)
    notes.add_column(overflow="fold")
    if verdict.second_reading is not None:
        notes.add_row("Second reader", Text(printable(verdict.second_reading.said)))
    for number, meaning in enumerate(_meanings(verdict, taxonomy)):
        notes.add_row("" if number else "Meaning", Text(meaning))
    for number, check in enumerate(verdict.checks, 1):
        notes.add_row("Check first" if number == 1 else "", Text(f"{number}. {printable(check)}"))
    if verdict.differential is not None:
        for place, cause in enumerate(verdict.differential.causes):
            text = f"{cause.label} {cause.probability:.2f}" + (f": {printable(cause.check)}" if cause.check else "")
            notes.add_row("" if place else "Which cause", Text(text))
        if (among := verdict.differential.right_among) is not None:
            notes.add_row("", Text(f"(among the three likeliest in {among:.0%} of held-out reports)", "dim"))
    notes.add_row("Environment", Text(printable(_facts(verdict)) or "none found"))
    for number, sign in enumerate(verdict.signs or ()):
        notes.add_row("" if number else "Signs", Text(printable(f"{sign.name}: {sign.says}{_at_line(sign.line)}")))
    for problem in verdict.known_problems:
        notes.add_row("Known bad", Text(f"{problem.problem} {problem.remedy} {problem.source}"), style="yellow")
    if verdict.missing:
        questions = " ".join(item.question for item in verdict.missing[:_QUESTIONS])
        notes.add_row("Missing", Text(questions))
    return notes


def _evidence(verdict: Verdict, taxonomy: Taxonomy) -> Iterator[RenderableType]:
    for axis_id, said in verdict.axes.items():
        if said.evidence:
            axis = taxonomy.axes[axis_id]
            yield Text(f"Why {axis.name.lower()} {axis.shown(said.label)} (log-odds lost without the line):", "bold")
            lines = Table.grid(padding=(0, 2, 0, 0))
            lines.add_column(no_wrap=True)
            lines.add_column(overflow="fold")
            for item in said.evidence:
                lines.add_row(f"  {item.weight:+.2f}", Text(printable(item.line)))
            yield lines


def _own(labels: Sequence[OwnLabel]) -> Iterator[RenderableType]:
    """Those that are given, and the others that are likely enough for a person to look at."""
    shown = [item for item in labels if item.applied or item.probability >= _PERHAPS]
    if labels:
        yield Text("Own labels:" if shown else "Own labels: not sure of any", style="bold")
    for item in shown:
        name = printable(item.label)
        answer = (name, _STYLE["apply"]) if item.applied else (f"perhaps {name}", _STYLE["suggest"])
        yield Padding(Text.assemble(answer, f"  {item.probability:.2f}", overflow="fold"), (0, 0, 0, 2))


def _similar(issues: Sequence[SimilarIssue], taxonomy: Taxonomy) -> Iterator[RenderableType]:
    # An axis that depends on another tells the failure and its remedy; the last one is the fix.
    axes = [axis for axis in taxonomy.axes.values() if axis.requires] or list(taxonomy.axes.values())
    if issues:
        yield Text("Similar issues:", style="bold")
    for issue in issues:
        labels = [issue.labels.get(axis.id, "-") for axis in reversed(axes)]
        heading = Text(
            f"{labels[0]}  {printable(issue.url or issue.id)}", Style(link=issue.url or None), overflow="fold"
        )
        yield Padding(heading, (0, 0, 0, 2))
        about = [printable(text) for text in (issue.title, issue.note) if text]
        yield Padding(Text("\n".join(about), overflow="fold"), (0, 0, 0, 4)) if about else Text("", end="")
        yield Padding(Text(f"{', '.join(labels[1:])}  (similarity {issue.similarity:.2f})", "dim"), (0, 0, 0, 4))


def _facts(verdict: Verdict) -> str:
    facts = dict(verdict.environment)
    framework = f"{facts.pop('framework', '')} {facts.pop('framework_version', '')}".strip()
    explained = any(said.evidence is not None for said in verdict.axes.values())
    sources = verdict.sources if explained and verdict.sources else {}
    named = [f"{name.replace('_', ' ')} {value}{_place(sources.get(name))}" for name, value in facts.items()]
    framework += _place(sources.get("framework_version") or sources.get("framework"))
    return ", ".join([framework, *named] if framework else named)


def _place(source: FactSource | None) -> str:
    """The place of a fact, for people."""
    if source is None:
        return ""
    return " (title)" if source.line == 0 else f" (line {source.line}, {source.segment})"


def _at_line(line: int | None) -> str:
    return "" if line is None else f" (line {line})" if line else " (title)"
