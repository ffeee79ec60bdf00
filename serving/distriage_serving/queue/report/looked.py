"""One issue of a page: its stored parts, and those that need the model. Reads the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from starlette.requests import Request

from distriage.answer.similar import Similar
from distriage.answer.verdict import Verdict
from distriage.base.errors import InputError
from distriage.base.types import IssueReport, Mode
from distriage.model.taxonomy import DISTRIBUTED
from distriage.reading.report import check_report
from distriage_serving.judging.judge import with_answer
from distriage_serving.queue.listing import issue_href
from distriage_serving.queue.report.evidence import mark, strongest
from distriage_serving.queue.report.rendered import MAX_CHARS, render
from distriage_serving.queue.visit import Visit
from distriage_serving.store import Act, Issue, StoredVerdict, answer_of

_OF_THE_WHOLE: Final = frozenset({"kind", DISTRIBUTED})  # no single line says them


@dataclass(frozen=True, slots=True)
class Looked:
    """An issue that a person looks at, with its latest verdict and all acts on it, the newest first."""

    visit: Visit
    issue: Issue
    stored: StoredVerdict | None
    acts: Sequence[Act]

    async def explain(self) -> Verdict | None:
        """The verdict with evidence and similar issues; None if there is nothing to read."""
        issue = self.issue
        report = with_answer(IssueReport(issue.title, issue.body, str(issue.reference)), answer_of(self.acts))
        try:
            check_report(report)
        except InputError:
            return None
        mode = Mode(self.stored.verdict.mode) if self.stored is not None else Mode.BALANCED
        similar = Similar.available(self.visit.engine.bundle)
        (answer,) = await self.visit.engine.classify([report], mode, explain=True, similar=similar)
        return answer if isinstance(answer, Verdict) else None

    def parts(self, explained: Verdict | None, query: str, *, pictures: bool) -> dict[str, Any]:
        """Data for the parts of a page that need the model.

        Args:
            explained: The verdict with its evidence, once known.
            query: The filters of the list.
        """
        issue, known = self.issue, self.stored
        href = issue_href(issue.repository, issue.number)
        shown = "&pictures=1" if pictures else ""
        begun = f"{href}?{query}{'&' if query else ''}"
        return {
            "report": view_report(issue.title, issue.body, explained, answer_of(self.acts), pictures=pictures),
            "explained": explained is not None,
            "evidence_href": f"{href}/evidence?{shown[1:]}" if explained is None and known is not None else None,
            "evidence_page": f"{begun}evidence=1{shown}",
            "pictures_page": None if pictures else f"{begun}pictures=1",
            "similar_possible": (known or explained) is not None and Similar.available(self.visit.engine.bundle),
            "similar": explained.similar if explained is not None else None,
            "label_name": self.visit.label_name,
        }


def look_up(request: Request, repository: str, number: int) -> Looked:
    """Look an issue up; in a thread, since it reads the database.

    Raises:
        ProblemError: there is none that the person may see (404).
    """
    with Visit.reading(request) as visit:
        issue, stored = visit.issue(repository, number)
        return Looked(visit, issue, stored, visit.store.acts(issue.reference))


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
