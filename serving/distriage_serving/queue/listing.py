"""The list's filters out of its address, and words that all pages use. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, get_args
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from distriage.answer.verdict import AxisVerdict
from distriage.base.errors import InputError
from distriage.base.references import parse_reference
from distriage.model.taxonomy import Axis, Taxonomy
from distriage_serving.store import IssueFilter, IssueStatus, Sort
from distriage_serving.web.problem import ProblemError

NOT_AXES: Final = frozenset({"repository", "decision", "status", "order", "search"})  # the other filters
ORDERS: Final[Mapping[Sort, str]] = {
    "priority": "by need",
    "newest": "newest first",
    "oldest": "oldest first",
    "waiting": "author waits longest",
}
MAX_SEARCH_CHARS: Final = 200
MAX_WORDS: Final = 8
OUTCOMES: Final[Mapping[str, str]] = {
    "apply": "has a sure label",
    "suggest": "has a label that is perhaps right",
    "abstain": "has an axis left open",
}
LIKELY: Final = 0.5  # from here on a label that is applied is more than the best guess
ANY: Final = "any"
SNOOZED: Final = "snoozed"
ASKED: Final = "waiting-on-author"
STATUSES: Final[tuple[IssueStatus, ...]] = get_args(IssueStatus)
_NUMBER: Final = re.compile(r"#?([1-9]\d{0,17})", re.ASCII)
_WORD: Final = re.compile(r'"([^"]+)"|“([^”]+)”|(\S+)')
_UNITS: Final = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


@dataclass(frozen=True, slots=True)
class Search:
    """A person's search: one issue by its number, or words.

    Attributes:
        repository: Of that issue, if given.
    """

    repository: str | None = None
    number: int | None = None
    words: Sequence[str] = ()


def read_search(text: str) -> Search:
    """Read a search: `#12`, `12`, `owner/repo#12`, an issue's address, or words; a phrase in double quotes.

    Chinese keyboards write “ ” and full-width digits. Words are searched as typed, since the database holds reports as
    filed.
    """
    text = text.strip()[:MAX_SEARCH_CHARS]
    name = unicodedata.normalize("NFKC", text)
    if (number := read_number(name)) is not None:
        return Search(number=number)
    try:
        reference = parse_reference(name)
    except InputError:
        return Search(words=["".join(groups) for groups in _WORD.findall(text)[:MAX_WORDS]])
    return Search(reference.repository.lower(), reference.number)


def read_number(text: str) -> int | None:
    """Read `12` or `#12`; None for anything else, or a number too large for databases."""
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match is not None else None


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters in the address; keys without a choice are absent."""

    chosen: Mapping[str, str]

    @property
    def query(self) -> str:
        """The address's query."""
        return urlencode(self.chosen)

    @property
    def without_search(self) -> str:
        """The same without the search."""
        return urlencode({key: value for key, value in self.chosen.items() if key != "search"})

    @property
    def sort(self) -> Sort:
        """The order of the list."""
        return next(known for known in ORDERS if known == self.chosen.get("order", "priority"))

    @property
    def search(self) -> Search:
        """What is looked for."""
        return read_search(self.chosen.get("search", ""))

    def issue_filter(self, seen: Collection[str] | None, now: float) -> IssueFilter:
        """For the store. A number finds its issue in any state, despite the other filters.

        Args:
            seen: Repositories that the person may see; all if None.
        """
        repository = self.chosen.get("repository")
        search = self.search
        if search.number is not None:
            named = search.repository
            visible = seen if named is None else [named] if seen is None or named in seen else []
            return IssueFilter(repositories=visible, status=None, state=None, number=search.number)
        status = self.chosen.get("status", "open")
        return IssueFilter(
            repositories=seen if repository is None else [repository],
            labels={key: label for key, label in self.chosen.items() if key not in NOT_AXES},
            outcome=self.chosen.get("decision"),
            status=next((known for known in STATUSES if known == status), None),
            awake_at=now if status not in {ANY, SNOOZED, ASKED} else None,
            asked=status == ASKED,
            snoozed_at=now if status == SNOOZED else None,
            words=search.words,
        )


@dataclass(frozen=True, slots=True)
class Field:
    """One drop-down list: (value, text) of each option, the first one the default."""

    key: str
    name: str
    options: Sequence[tuple[str, str]]
    chosen: str


def read_filters(
    query: QueryParams, taxonomy: Taxonomy, repositories: Mapping[str, str]
) -> tuple[Filters, list[Field]]:
    """Read the filters, the search and the order.

    Args:
        repositories: Those that the person may see: name -> as GitHub writes it.

    Raises:
        ProblemError: a value that is not in the drop-down list (400).
    """
    kinds: list[tuple[str, str, list[tuple[str, str]]]] = [
        ("repository", "Repository", [("", "All"), *repositories.items()])
    ]
    kinds += [
        (axis.id, axis.name, [("", "Any"), *((label, axis.label(label).name) for label in axis.label_ids)])
        for axis in filter_axes(taxonomy)
    ]
    kinds.append(("decision", "Decision", [("", "Any"), *OUTCOMES.items()]))
    kinds.append(
        (
            "status",
            "Status",
            [
                ("open", "waiting"),
                *((status, status) for status in STATUSES if status != "open"),
                (SNOOZED, "snoozed"),
                (ASKED, "waiting for the author"),
                (ANY, "any"),
            ],
        )
    )
    kinds.append(("order", "Order", list(ORDERS.items())))
    chosen: dict[str, str] = {}
    if search := query.get("search", "").strip()[:MAX_SEARCH_CHARS]:
        chosen["search"] = search
    fields = []
    for key, name, options in kinds:
        default = options[0][0]
        value = query.get(key, default).casefold() if key == "repository" else query.get(key, default)
        if value not in {option for option, _ in options}:
            raise ProblemError(400, "bad-request", f"{key}: {value[:80]!r} is not one of the options")
        if value != default:
            chosen[key] = value
        fields.append(Field(key, name, options, value))
    return Filters(chosen), fields


def issue_href(repository: str, number: int, query: str = "") -> str:
    """The address of an issue's page."""
    return f"/queue/{quote(repository)}/{number}" + (f"?{query}" if query else "")


def list_href(query: str = "", more: Mapping[str, str | int] = MappingProxyType({})) -> str:
    """The address of the list."""
    parts = "&".join(part for part in (query, urlencode(more)) if part)
    return f"/queue?{parts}" if parts else "/queue"


def display_name(taxonomy: Taxonomy, axis: str, label: str) -> str:
    """A label for people; its id if the taxonomy no longer knows it."""
    return next((known.name for known in taxonomy.axes[axis].labels if known.id == label), label)


def first_said(taxonomy: Taxonomy, axis: str, said: AxisVerdict) -> str:
    """The model's first answer, if a second reader disagreed; else empty."""
    first = said.first_reading if said.readers_differ else None
    return "" if first is None else f"{display_name(taxonomy, axis, first.label)} {percent(first.probability)}"


def percent(share: float) -> str:
    """A share for people."""
    return f"{share:.0%}"


def moment(at: float) -> str:
    """A time for people, UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def age(seconds: float) -> str:
    """How long ago, in the largest unit that fits."""
    for size, name in _UNITS:
        count = int(seconds // size)
        if count >= 1:
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"


def filter_axes(taxonomy: Taxonomy) -> list[Axis]:
    """The axes that the list can be filtered by."""
    return [axis for axis in taxonomy.axes.values() if axis.filter and axis.id not in NOT_AXES]
