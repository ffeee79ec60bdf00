"""A verdict for people, in lines and tables. Text of the report is shown as text, never as mark-up. Pure.

In a pipe nothing is cut or padded; on a terminal, `distriage.answer.screen` wraps and colours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from distriage.answer.verdict import AxisVerdict, FactSource, SimilarIssue, Verdict
from distriage.base.terminal import printable
from distriage.base.types import Silence
from distriage.model.taxonomy import YES_NO, Axis, Taxonomy
from distriage.own.answer import OwnLabel

_STYLE = {"apply": "bold green", "suggest": "yellow", "abstain": "dim", "not-applicable": "dim"}
MANY_LABELS = 8
_PERHAPS = 0.3  # the least probability of an own label that is shown though it is not given


class Cell(NamedTuple):
    """A piece of a line, with Rich's name of its style on a terminal, and its link."""

    text: str
    style: str = ""
    link: str = ""


class Line(NamedTuple):
    """Pieces side by side.

    Attributes:
        cut: Whether it is cut on a terminal, rather than wrapped.
    """

    cells: Sequence[Cell]
    indent: int = 0
    cut: bool = False


class Grid(NamedTuple):
    """A table.

    Attributes:
        whole: Columns whose cells do not wrap.
        right: Columns whose cells stand at the right.
        else_lines: Take its place on a terminal that it is too wide for.
    """

    rows: Sequence[Sequence[Cell]]
    heads: Sequence[str] = ()
    whole: Collection[int] = ()
    right: Collection[int] = ()
    else_lines: Sequence[Line] = ()


def plain(parts: Iterator[Line | Grid]) -> Iterator[str]:
    """Lines for a pipe."""
    for part in parts:
        if isinstance(part, Line):
            text = "".join(cell.text for cell in part.cells)
            yield from (" " * part.indent + line.rstrip() for line in text.split("\n"))
        else:
            rows = [*([part.heads] if part.heads else []), *([cell.text for cell in row] for row in part.rows)]
            widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
            for row in rows:
                cells = []
                for place, (text, width) in enumerate(zip(row, widths, strict=True)):
                    blank = " " * (width - _width(text))
                    cells.append(blank + text if place in part.right else text + blank)
                yield "  ".join(cells).rstrip()


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def shown(verdict: Verdict, taxonomy: Taxonomy) -> Iterator[Line | Grid]:
    """The parts of a verdict, one under the other."""
    yield Line([Cell(printable(verdict.title or verdict.id or "(no title)"), "bold")], cut=True)
    if verdict.why_silent:
        yield Line([Cell(verdict.why_silent, "yellow")])
    yield _axes(verdict, taxonomy)
    yield _notes(verdict, taxonomy)
    yield from _evidence(verdict, taxonomy)
    yield from _own(verdict.own or ())
    yield from _similar(verdict.similar or (), taxonomy)
    yield Line([Cell(f"{verdict.model}, taxonomy {verdict.taxonomy_version}, mode {verdict.mode}", "dim")])


def _answered(verdict: Verdict, taxonomy: Taxonomy) -> list[tuple[str, AxisVerdict]]:
    return [item for item in verdict.axes.items() if verdict.in_domain or item[0] in taxonomy.roots]


def _axes(verdict: Verdict, taxonomy: Taxonomy) -> Grid:
    rows, lines = [], []
    for axis_id, said in _answered(verdict, taxonomy):
        axis = taxonomy.axes[axis_id]
        if said.outcome == "not-applicable":
            rows.append([Cell(axis.name), Cell(f"- ({said.reason})", "dim"), *[Cell("")] * 3])
            lines.append(Line([Cell(f"{axis.name}: - ({said.reason})", "dim")]))
            continue
        second, answer = said.top[1], Cell(_answer(said, axis), _STYLE[said.outcome])
        others = (Cell(axis.shown(second.label), "dim"), Cell(f"{second.probability:.2f}", "dim"))
        rows.append([Cell(axis.name), answer, Cell(f"{said.probability:.2f}"), *others])
        lines.append(Line([Cell(f"{axis.name}: "), answer, Cell(f" {said.probability:.2f}")]))
    return Grid(rows, ("", "verdict", "p", "second guess", "p"), right=(2, 4), else_lines=lines)


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


def _notes(verdict: Verdict, taxonomy: Taxonomy) -> Grid:
    rows: list[tuple[Cell, Cell]] = []

    def note(name: str, text: str, style: str = "") -> None:
        rows.append((Cell(name, "bold"), Cell(text, style)))

    if verdict.second_reading is not None:
        note("Second reader", printable(verdict.second_reading.said))
    for number, meaning in enumerate(_meanings(verdict, taxonomy)):
        note("" if number else "Meaning", printable(meaning))
    for number, check in enumerate(verdict.checks, 1):
        note("Check first" if number == 1 else "", f"{number}. {printable(check)}")
    if verdict.differential is not None:
        for place, cause in enumerate(verdict.differential.causes):
            text = f"{cause.label} {cause.probability:.2f}" + (f": {printable(cause.check)}" if cause.check else "")
            note("" if place else "Which cause", text)
        if (among := verdict.differential.right_among) is not None:
            note("", f"(among the three likeliest in {among:.0%} of held-out reports)", "dim")
    note("Environment", printable(_facts(verdict)) or "none found")
    for number, sign in enumerate(verdict.signs or ()):
        note("" if number else "Signs", printable(f"{sign.name}: {sign.says}{_at_line(sign.line)}"))
    for problem in verdict.known_problems:
        note("Known bad", f"{problem.problem} {problem.remedy} {problem.source}", "yellow")
    if verdict.missing:
        note("Missing", " ".join(item.question for item in verdict.missing))
    return Grid(rows, whole=(0,))


def _evidence(verdict: Verdict, taxonomy: Taxonomy) -> Iterator[Line | Grid]:
    for axis_id, said in verdict.axes.items():
        if said.evidence:
            axis = taxonomy.axes[axis_id]
            why = f"Why {axis.name.lower()} {axis.shown(said.label)} (log-odds lost without the line):"
            yield Line([Cell(why, "bold")])
            yield Grid([(Cell(f"  {one.weight:+.2f}"), Cell(printable(one.line))) for one in said.evidence], whole=(0,))


def _own(labels: Sequence[OwnLabel]) -> Iterator[Line]:
    """Those that are given, and the others that are likely enough for a person to look at."""
    found = [item for item in labels if item.applied or item.probability >= _PERHAPS]
    if labels:
        yield Line([Cell("Own labels:" if found else "Own labels: not sure of any", "bold")])
    for item in found:
        name = printable(item.label)
        answer = Cell(name, _STYLE["apply"]) if item.applied else Cell(f"perhaps {name}", _STYLE["suggest"])
        yield Line([answer, Cell(f"  {item.probability:.2f}")], indent=2)


def _similar(issues: Sequence[SimilarIssue], taxonomy: Taxonomy) -> Iterator[Line]:
    # An axis that depends on another tells the failure and its remedy; the last one is the fix.
    axes = [axis for axis in taxonomy.axes.values() if axis.requires] or list(taxonomy.axes.values())
    if issues:
        yield Line([Cell("Similar issues:", "bold")])
    for issue in issues:
        labels = [issue.labels.get(axis.id, "-") for axis in reversed(axes)]
        yield Line([Cell(f"{labels[0]}  {printable(issue.url or issue.id)}", link=issue.url or "")], indent=2)
        for text in (issue.title, issue.note):
            if text:
                yield Line([Cell(printable(text))], indent=4)
        yield Line([Cell(f"{', '.join(labels[1:])}  (similarity {issue.similarity:.2f})", "dim")], indent=4)


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
