"""The signs of a report that its own text tells. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from distriage.base.texts import regex
from distriage.base.types import IssueReport
from distriage.facts.projects import projects
from distriage.facts.regressions import is_regression
from distriage.github.releases import Release
from distriage.reading.report import ReadReport
from distriage.signs.kinds import Sign, in_order, kinds
from distriage.signs.quality import lacks_of

# `0.8.5.dev12+g1b2c3d`, `2.6.0a0+git1b2c3d`, `1.3.0b20180911`.
_NOT_RELEASED = regex(r"[-.+_]?dev\d{0,8}|a\d{0,3}\+|\+g(?:it)?[0-9a-f]{5,40}\b|b20\d{6}\b")
_BRANCH = regex(r"(?<![\w/-])(?:master|main|trunk|nightly)(?![\w/-])|\.dev\d", re.I)


def signs_of(
    read: ReadReport, releases: Sequence[Release] = (), at: float = math.inf, *, is_failure: bool
) -> list[Sign]:
    """The signs of a report.

    Args:
        is_failure: It is about a failure.
        releases: Those of its repository, if known.
        at: When it was filed, Unix time in seconds.
    """
    place = read.facts.sources.get("framework_version")
    gate = gate_of(read.report, read.facts.stated(), place.line if place else None, releases, at)
    lacks = (Sign(name=name, says=kinds()[name].says, line=None) for name in lacks_of(read, is_failure=is_failure))
    return in_order([*_of_versions(read), gate, *lacks])


def _of_versions(read: ReadReport) -> Iterator[Sign]:
    """Only of the product in whose tracker the report was filed."""
    facts = read.facts
    if facts.framework is None or projects().product_of(facts.framework) != read.product:
        return
    for pair in facts.comparisons:
        if pair.fact == "framework_version" and is_regression(pair):
            says = f"Worked in {pair.works}, fails in {pair.fails}."
            yield Sign(name="regression", says=says, line=pair.works_at.line)
    if version := read.product_version:
        line = at.line if (at := facts.sources.get("framework_version")) else None
        if sign := unreleased(version, line, _line(read, line)):
            yield sign


def _line(read: ReadReport, number: int | None) -> str:
    """The text of a line; see `Sign.line`."""
    if not number:
        return "" if number is None else read.report.title
    return next((line.text for one in read.segments.all for line in one.lines if line.number == number), "")


def unreleased(version: str, line: int | None, text: str) -> Sign | None:
    """The sign of a development build, a nightly one, or a commit of the main branch; a bare commit may be a release.

    Args:
        text: The line that states it.
    """
    is_commit = version.startswith("commit ")
    if not (_BRANCH.search(text) if is_commit else _NOT_RELEASED.search(version)):
        return None
    return Sign(name="unreleased", says=f"States {version}, which is not a release.", line=line)


def gate_of(
    report: IssueReport,
    environment: Mapping[str, str | int],
    line: int | None,
    releases: Sequence[Release],
    at: float = math.inf,
) -> Sign | None:
    """The gate's sign of a report in the tracker of a product whose version it states; see `gate`.

    Args:
        environment: As in a verdict.
    """
    version, product = environment.get("framework_version"), projects().tracker_of(report.id).product
    framework = projects().product_of(str(environment.get("framework")))
    if not releases or not isinstance(version, str) or product is None or framework != product:
        return None
    from distriage.signs.gate import gate  # only where releases are known

    return gate(version, line, f"{report.title}\n{report.body}", releases, at)
