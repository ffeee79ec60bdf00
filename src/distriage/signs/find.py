"""The signs of a report that its own text tells. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from distriage.facts.regressions import is_regression
from distriage.github.releases import Release
from distriage.reading.report import ReadReport
from distriage.signs.gate import gate_of, unreleased
from distriage.signs.kinds import Sign, in_order


def signs_of(read: ReadReport, releases: Sequence[Release] = (), at: float = math.inf) -> list[Sign]:
    """The signs of a report.

    Args:
        releases: Those of its repository, if known.
        at: When it was filed, Unix time in seconds.
    """
    place = read.facts.sources.get("framework_version")
    gate = gate_of(read.report, read.facts.stated(), place.line if place else None, releases, at)
    return in_order([*_of_versions(read), gate])


def _of_versions(read: ReadReport) -> Iterator[Sign]:
    """Only of the product in whose tracker the report was filed."""
    facts = read.facts
    if facts.framework is None or facts.framework != read.product:
        return
    for pair in facts.comparisons:
        if pair.fact == "framework_version" and is_regression(pair):
            says = f"Worked in {pair.works}, fails in {pair.fails}."
            yield Sign(name="regression", says=says, line=pair.works_at.line)
    version = facts.framework_version
    if version is not None and "framework_version" not in facts.ambiguous:
        line = at.line if (at := facts.sources.get("framework_version")) else None
        if sign := unreleased(version, line, _line(read, line)):
            yield sign


def _line(read: ReadReport, number: int | None) -> str:
    """The text of a line; see `Sign.line`."""
    if not number:
        return "" if number is None else read.report.title
    return next((line.text for one in read.segments.all for line in one.lines if line.number == number), "")
