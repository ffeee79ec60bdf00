"""How often each reader is right on annotated reports, and both together. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Compared:
    """One axis of one annotated report.

    Attributes:
        group: Row of the comparison, such as the report's origin.
        first, both: The likeliest label before and after the second reader.
        second: The second reader's answer; None if absent or "none of these".
        first_given, both_given: Whether that label was given, and not only suggested.
    """

    group: str
    axis: str
    truth: str
    first: str
    second: str | None
    both: str
    first_given: bool
    both_given: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Shares over the reports of one group on one axis; NaN without reports.

    Attributes:
        first, both: Right at full coverage.
        second: Right among those that the second reader answered.
        either: Either reader is right: the score of a perfect choice between them.
        first_coverage, both_coverage: Share that gets a label.
        first_precision, both_precision: Right among the labels that are given.
    """

    reports: int
    asked: float
    first: float
    second: float
    both: float
    either: float
    first_coverage: float
    first_precision: float
    both_coverage: float
    both_precision: float


def compare(items: Iterable[Compared]) -> dict[tuple[str, str], Comparison]:
    """Group and axis -> shares, in the order in which they first come."""
    groups: dict[tuple[str, str], list[Compared]] = defaultdict(list)
    for item in items:
        groups[item.group, item.axis].append(item)
    return {key: _comparison(found) for key, found in groups.items()}


def _comparison(items: list[Compared]) -> Comparison:
    return Comparison(
        reports=len(items),
        asked=_share(item.second is not None for item in items),
        first=_share(item.first == item.truth for item in items),
        second=_share(item.second == item.truth for item in items if item.second is not None),
        both=_share(item.both == item.truth for item in items),
        either=_share(item.truth in {item.first, item.second} for item in items),
        first_coverage=_share(item.first_given for item in items),
        first_precision=_share(item.first == item.truth for item in items if item.first_given),
        both_coverage=_share(item.both_given for item in items),
        both_precision=_share(item.both == item.truth for item in items if item.both_given),
    )


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else float("nan")
