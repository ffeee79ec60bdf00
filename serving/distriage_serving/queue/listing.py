"""The list's filters out of its address, and words that all pages use. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from types import MappingProxyType
from typing import Final, get_args
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from distriage.answer.verdict import AxisVerdict
from distriage.base.errors import InputError
from distriage.base.references import parse_reference
from distriage.model.taxonomy import Axis, Taxonomy
from distriage.signs.kinds import kinds
from distriage_serving.store import IssueFilter, IssueStatus, Sort
from distriage_serving.web.problem import ProblemError

NOT_AXES: Final = frozenset(  # the other filters
    {"repository", "decision", "sign", "assigned", "author", "own", "status", "order", "search"}
)
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
DIFFER: Final = "differ"
SUGGESTED: Final = "suggested"
FAMILY: Final = "family:"  # before a family's name: any of its labels
LIKELY: Final = 0.5  # from here on a label that is applied is more than the best guess
ANY: Final = "any"
SNOOZED: Final = "snoozed"
ASKED: Final = "waiting-on-author"
UNANSWERED: Final = "needs-answer"
REFUSED: Final = "refused"
OTHERS: Final[Mapping[str, str]] = {  # of the queue, beside people's reactions
    SNOOZED: "snoozed",
    ASKED: "waiting for the author",
    UNANSWERED: "needs an answer",
    REFUSED: "refused by GitHub",
    ANY: "any",
}
STATUSES: Final[tuple[IssueStatus, ...]] = get_args(IssueStatus)
_NUMBER: Final = re.compile(r"#?([1-9]\d{0,17})", re.ASCII)
_WORD: Final = re.compile(r'"([^"]+)"|“([^”]+)”|(\S+)')
_UNITS: Final = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


@dataclass(frozen=True, slots=True)
class Search:
    """A person's search: one issue by its number, or words.

    Attributes:
        repository: That issue's, if given.
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
    def sort(self) -> Sort:
        """The order of the list."""
        return next(known for known in ORDERS if known == self.chosen.get("order", "priority"))

    @property
    def search(self) -> Search:
        """Words and number to look for."""
        return read_search(self.chosen.get("search", ""))

    def without(self, *keys: str) -> str:
        """The address's query without some filters."""
        return urlencode({key: value for key, value in self.chosen.items() if key not in keys})

    def issue_filter(self, taxonomy: Taxonomy, seen: Collection[str] | None, who: str, now: float) -> IssueFilter:
        """For the store. A number finds its issue in any state, despite the other filters.

        Args:
            seen: Repositories that the person may see; all if None.
            who: The person.
        """
        repository = self.chosen.get("repository")
        search = self.search
        if search.number is not None:
            named = search.repository
            visible = seen if named is None else [named] if seen is None or named in seen else []
            return IssueFilter(repositories=visible, status=None, state=None, number=search.number)
        status, decision = self.chosen.get("status", "open"), self.chosen.get("decision")
        assigned = self.chosen.get("assigned")
        return IssueFilter(
            repositories=seen if repository is None else [repository],
            labels={key: _labels(taxonomy, key, label) for key, label in self.chosen.items() if key not in NOT_AXES},
            own=self.chosen.get("own"),
            sign=self.chosen.get("sign"),
            outcome=decision if decision in OUTCOMES else None,
            differ=decision == DIFFER,
            suggested=decision == SUGGESTED,
            author=self.chosen.get("author"),
            assignee=None if assigned is None else who if assigned == "me" else "",
            status=next((known for known in STATUSES if known == status), None),
            state=None if status == ANY and search.words else "open",
            awake_at=now if status not in {ANY, SNOOZED, ASKED, REFUSED} else None,
            asked=status == ASKED,
            refused=status == REFUSED,
            needs_answer=status == UNANSWERED,
            snoozed_at=now if status == SNOOZED else None,
            words=search.words,
        )


@dataclass(frozen=True, slots=True)
class Field:
    """One drop-down list, or a field for a text.

    Attributes:
        groups: Heading -> (value, text) of each option, the very first one the default; empty: any text.
    """

    key: str
    name: str
    groups: Mapping[str, Sequence[tuple[str, str]]]
    chosen: str

    @property
    def options(self) -> Mapping[str, str]:
        """Value -> text."""
        return dict(chain.from_iterable(self.groups.values()))

    @property
    def default(self) -> str:
        """Its value in the beginning."""
        return next(iter(self.options), "")

    @property
    def text(self) -> str:
        """The chosen option."""
        return self.options.get(self.chosen, self.chosen)


def read_filters(
    query: QueryParams, taxonomy: Taxonomy, repositories: Mapping[str, str]
) -> tuple[Filters, list[Field]]:
    """Read the filters, the search and the order.

    Args:
        repositories: Those that the person may see: name -> as GitHub writes it.

    Raises:
        ProblemError: a value that is not in the drop-down list (400).
    """
    axes = [axis for axis in taxonomy.axes.values() if axis.id not in NOT_AXES]
    statuses = [("open", "waiting"), *((status, status) for status in STATUSES if status != "open")]
    decisions = [*OUTCOMES.items(), (DIFFER, "readers differ"), (SUGGESTED, "has a suggestion on GitHub")]
    offered: list[tuple[str, str, Mapping[str, Sequence[tuple[str, str]]]]] = [
        ("repository", "Repository", {"": [("", "All"), *repositories.items()]}),
        *((axis.id, axis.name, label_groups(axis, ("", "Any"))) for axis in axes),
        ("decision", "Decision", {"": [("", "Any"), *decisions]}),
        ("sign", "Sign", {"": [("", "Any"), *((sign, sign.replace("-", " ")) for sign in kinds())]}),
        ("own", "Own label", {}),
        ("author", "Author", {}),
        ("assigned", "Assigned", {"": [("", "Anyone"), ("me", "Me"), ("nobody", "Nobody")]}),
        ("status", "Status", {"": [*statuses, *OTHERS.items()]}),
        ("order", "Order", {"": list(ORDERS.items())}),
    ]
    chosen: dict[str, str] = {}
    if search := query.get("search", "").strip()[:MAX_SEARCH_CHARS]:
        chosen["search"] = search
    fields = []
    for key, name, groups in offered:
        default = Field(key, name, groups, "").default
        value = query.get(key, default).strip()[:MAX_SEARCH_CHARS]
        field = Field(key, name, groups, value.casefold() if key == "repository" else value)
        if groups and field.chosen not in field.options:
            raise ProblemError(400, "bad-request", f"{key}: {value[:80]!r} is not one of the options")
        if field.chosen != default:
            chosen[key] = field.chosen
        fields.append(field)
    return Filters(chosen), fields


def label_groups(axis: Axis, *first: tuple[str, str]) -> dict[str, list[tuple[str, str]]]:
    """An axis's labels as options: family -> (id, name).

    Args:
        first: Options before them, of a filter: then each family begins with an option for all of it.
    """
    groups: dict[str, list[tuple[str, str]]] = {"": list(first)}
    for label in axis.labels:
        if label.id in axis.label_ids:
            of_family = [(f"{FAMILY}{label.family}", f"Any: {label.family}")] if first and label.family else []
            groups.setdefault(label.family or "", of_family).append((label.id, label.name))
    return groups


def _labels(taxonomy: Taxonomy, axis: str, chosen: str) -> str | Collection[str]:
    family = chosen.removeprefix(FAMILY)
    return chosen if family == chosen else taxonomy.axes[axis].families[family]


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


def span(seconds: float) -> str:
    """How long, in the largest unit that fits."""
    text = age(seconds)
    return text.removesuffix(" ago") if text.endswith(" ago") else "less than a minute"


def filter_axes(taxonomy: Taxonomy) -> list[Axis]:
    """The axes that the list can be filtered by."""
    return [axis for axis in taxonomy.axes.values() if axis.filter and axis.id not in NOT_AXES]
