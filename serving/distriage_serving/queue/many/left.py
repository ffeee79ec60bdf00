"""Issues that an act left as they were, and why, for the address of the page that says so. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from starlette.datastructures import QueryParams

from distriage.base.references import IssueReference
from distriage_serving.queue.listing import read_number

# An address holds the key: anybody may write one, so no text of it is shown.
REASONS: Final[Mapping[str, str]] = {
    "gone": "the issue is gone from GitHub",
    "closed": "the issue is closed on GitHub already",
    "deleted": "the issue is deleted on GitHub",
    "transferred": "the issue is in another repository now",
    "itself": "an issue is no duplicate of itself",
    "complete": "the report lacks nothing that could be asked for",
    "closing": "somebody has closed the issue here already; GitHub has not answered yet",
    "asked": "the author was asked already and has not answered yet",
    "no-app": "the App is not on this repository, so nobody could close the issue or ask there",
    "meanwhile": "it was classified anew or decided meanwhile",
    "unsure": "it has no label that is sure enough to accept",
    "no-axis": "the label's axis does not apply to it",
}
MOST_NAMED: Final = 5


def left_query(left: Mapping[IssueReference, str], others: int) -> dict[str, str | int]:
    """The address's part for issues, each with its key of `REASONS`, and for more that have no name."""
    if not left and not others:
        return {}
    named = [f"{issue}:{why}" for issue, why in sorted(left.items(), key=lambda item: str(item[0]))[:MOST_NAMED]]
    return {"left": len(left) + others, **({"why": ",".join(named)} if named else {})}


def read_left(query: QueryParams) -> tuple[int, list[tuple[str, int, str]]]:
    """How many were left, and of some of them repository, number and why."""
    text = query.get("left", "")
    return (int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0), list(_named(query.get("why", "")))


def _named(text: str) -> Iterator[tuple[str, int, str]]:
    for one in text.split(",")[:MOST_NAMED]:
        issue, _, why = one.rpartition(":")
        repository, _, number_text = issue.partition("#")
        if (number := read_number(number_text)) is not None and why in REASONS:
            yield repository, number, REASONS[why]
