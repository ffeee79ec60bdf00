"""A report as the pages show it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from distriage.answer.verdict import Verdict
from distriage.model.taxonomy import DISTRIBUTED
from distriage_serving.queue.report.evidence import mark, strongest
from distriage_serving.queue.report.rendered import MAX_CHARS, render

_OF_THE_WHOLE: Final = frozenset({"kind", DISTRIBUTED})  # no single line says them


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report.

    Attributes:
        title_carries: Axes whose verdict it carried, with spaces between.
        html: The body, safe.
        answer: The author's answer to our questions, safe; empty without one.
        any_marked: A line of it, or the title, carried a verdict.
        pictures: How many it has.
        cut: Characters that are not shown.
    """

    title: str
    title_carries: str
    html: Markup
    answer: Markup
    any_marked: bool
    pictures: int
    cut: int


def view_report(
    title: str, body: str, explained: Verdict | None, answer: str = "", *, pictures: bool = False
) -> ReportView:
    """A report with its evidence marked.

    Args:
        explained: The verdict with its evidence, once known, of the body with the answer below it.
    """
    said = explained.axes if explained is not None else {}
    carried = {
        axis: strongest(verdict.evidence or [])
        for axis, verdict in said.items()
        if verdict.outcome in {"apply", "suggest"} and axis not in _OF_THE_WHOLE
    }
    found = mark(title, f"{body}\n\n{answer}" if answer else body, carried)
    begins = body.replace("\r\n", "\n").count("\n") + 2  # the answer
    html, count = render(body, {line: axes for line, axes in found.lines.items() if line < begins}, pictures=pictures)
    below = {line - begins: axes for line, axes in found.lines.items() if line >= begins}
    below_html, more = render(answer, below, pictures=pictures) if answer else (Markup(""), 0)
    any_marked = bool(found.title or found.lines)
    cut = max(0, len(body) - MAX_CHARS)
    return ReportView(title, " ".join(found.title), html, below_html, any_marked, count + more, cut)
