"""People's reviews of a repository's own labels -> labels of its past issues. Reads a file.

A label that the bot gave is on GitHub like any other; a person's review says whether it is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from distriage.answer.feedback import ReviewRecord, own_label
from distriage.base.errors import InputError
from distriage.base.texts import decoded
from distriage.base.validation import first_fault
from distriage.github.listed import ListedIssue


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Issues with the labels that people said are right.

    Attributes:
        numbers: Of those of these issues that have reviews.
        reviews: Of own labels of these issues.
        changed: Issues whose labels are others now.
        unknown: Reviews of own labels of issues that are not among these.
    """

    issues: tuple[ListedIssue, ...]
    numbers: frozenset[int]
    reviews: int
    changed: int
    unknown: int


def read_own_reviews(file: Path, repository: str) -> list[ReviewRecord]:
    """The reviews of a repository's own labels in an export by `distriage reviews export`, by date.

    Raises:
        InputError: unreadable file, or a line that is not a review; names file, line and field.
    """
    try:
        lines = decoded(file.read_bytes()).split("\n")  # a JSON string may hold other line separators
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: not readable: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(ReviewRecord.model_validate_json(line))
        except ValidationError as error:
            what = first_fault(error, ReviewRecord, "review", show_value=False)
            raise InputError(f"{file}:{number}: {what}; expected what `distriage reviews export` writes") from None
    ours = (record for record in records if record.id.partition("#")[0].casefold() == repository.casefold())
    return sorted((record for record in ours if own_label(record.axis) is not None), key=lambda record: record.at)


def with_reviews(issues: Sequence[ListedIssue], reviews: Iterable[ReviewRecord]) -> Reviewed:
    """Give each issue the labels that people confirmed, without those that they refused. Pure."""
    said: dict[int, dict[str, bool]] = {}
    for review in reviews:
        label = own_label(review.axis)
        if label is not None:
            said.setdefault(int(review.id.partition("#")[2]), {})[label] = review.label is not None
    known = frozenset(issue.number for issue in issues)
    after = tuple(_judged(issue, said.get(issue.number, {})) for issue in issues)
    return Reviewed(
        after,
        known & said.keys(),
        sum(len(labels) for number, labels in said.items() if number in known),
        sum(one != other for one, other in zip(issues, after, strict=True)),
        sum(len(labels) for number, labels in said.items() if number not in known),
    )


def _judged(issue: ListedIssue, said: dict[str, bool]) -> ListedIssue:
    folded = {label.casefold(): right for label, right in said.items()}
    kept = tuple(label for label in issue.labels if folded.get(label.casefold(), True))
    there = {label.casefold() for label in kept}
    added = tuple(label for label, right in said.items() if right and label.casefold() not in there)
    return issue if kept == issue.labels and not added else replace(issue, labels=(*kept, *added))
