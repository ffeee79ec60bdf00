"""A report as the pages show it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from distriage.answer.verdict import Verdict
from distriage.model.taxonomy import Taxonomy
from distriage_serving.queue.report.evidence import mark, strongest
from distriage_serving.queue.report.rendered import MAX_CHARS, render


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report.

    Attributes:
        title_marked: It carried a verdict.
        html: The body, safe.
        any_marked: A line of it, or the title, carried a verdict.
        pictures: How many it has.
        cut: Characters that are not shown.
    """

    title: str
    title_marked: bool
    html: Markup
    any_marked: bool
    pictures: int
    cut: int


def view_report(
    title: str, body: str, explained: Verdict | None, taxonomy: Taxonomy, *, pictures: bool = False
) -> ReportView:
    """A report with its evidence marked.

    Args:
        explained: The verdict with its evidence, once known.
    """
    said = explained.axes if explained is not None else {}
    carried = {
        axis: strongest(verdict.evidence or [])
        for axis, verdict in said.items()
        if verdict.outcome in {"apply", "suggest"}
    }
    found = mark(title, body, carried)
    names: Mapping[str, str] = {axis: known.name.lower() for axis, known in taxonomy.axes.items()}
    lines = {line: [names.get(axis, axis) for axis in axes] for line, axes in found.lines.items()}
    html, count = render(body, lines, pictures=pictures)
    return ReportView(title, bool(found.title), html, bool(found.title or lines), count, max(0, len(body) - MAX_CHARS))
