"""The proposals of `backfill`'s dry run, as a table to review: CSV, and one HTML page without scripts. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

from distriage.base.pages import page_environment
from distriage_serving.backfill.run import BackfillResult, Proposal
from distriage_serving.store.work.pace import LIMITS

WRITES_AN_HOUR: Final = LIMITS[-1][1]  # that the store lets through
CALLS_AN_HOUR: Final = 5000  # that GitHub answers to a person's token
COLUMNS: Final = ("number", "title", "change", "probability", "url")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet begins to calculate


def as_csv(rows: Sequence[Proposal]) -> str:
    """One line per change; a cell that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        probability = "" if row.probability is None else f"{row.probability:.4f}"
        table.writerow([row.number, _harmless(row.title), _harmless(str(row.change)), probability, row.url])
    return text.getvalue()


def as_page(repository: str, rows: Sequence[Proposal], estimate: str) -> str:
    """The same for people."""
    template = page_environment("distriage_serving.backfill").get_template("proposals.html")
    return template.render(repository=repository, rows=rows, estimate=estimate)


def estimate(report: BackfillResult, seconds: float, requests: int) -> str:
    """The cost of carrying out the proposals, judged by this dry run; empty if it read no issue."""
    read = report.changed + report.nothing
    if not read:
        return ""
    # Each label that is new in the repository takes one write more.
    share, new = report.writes / read, sum(change.kind == "label" for change in report.changes)
    calls, hours = [], []
    for issues in (read, 5000):
        writes = share * issues + new
        calls.append(round(requests / read * issues + writes))
        waits = calls[-1] / CALLS_AN_HOUR if calls[-1] > CALLS_AN_HOUR else 0.0
        hours.append(max(seconds / read * issues / 3600, writes / WRITES_AN_HOUR, waits))
    return (
        f"For real: about {calls[0]:,} API calls, {_duration(hours[0])} for these {read:,} issues; "
        f"at this rate {calls[1]:,} calls, {_duration(hours[1])} for 5,000."
    )


def _duration(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{max(1, round(hours * 60))} min"


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
