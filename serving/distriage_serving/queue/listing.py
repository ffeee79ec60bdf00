"""What the list shows: filters out of the address, rows out of the store. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, get_args
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from distriage.taxonomy import Taxonomy
from distriage_serving.problem import ProblemError
from distriage_serving.store import Issue, IssueFilter, IssueStatus, Prediction

FILTER_AXES: Final = ("stage", "symptom", "fix")
OUTCOMES: Final[Mapping[str, str]] = {"apply": "sure of one axis", "suggest": "perhaps on one axis", "abstain": "not sure of one axis"}
ANY: Final = "any"
STATUSES: Final[tuple[IssueStatus, ...]] = get_args(IssueStatus)
_UNITS: Final = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters as they stand in the address; a key is absent where nothing is chosen."""

    chosen: Mapping[str, str]

    @property
    def query(self) -> str:
        """The address's query."""
        return urlencode(self.chosen)

    def issue_filter(self, seen: Collection[str] | None) -> IssueFilter:
        """For the store.

        Args:
            seen: Repositories that the person may see; None: all.
        """
        repository = self.chosen.get("repository")
        status = self.chosen.get("status", "open")
        return IssueFilter(
            repositories=seen if repository is None else [repository],
            labels={axis: self.chosen[axis] for axis in FILTER_AXES if axis in self.chosen},
            outcome=self.chosen.get("decision"),
            status=None if status == ANY else next(known for known in STATUSES if known == status),
        )


@dataclass(frozen=True, slots=True)
class Field:
    """One drop-down list: (value, text) of each option, the first one the default."""

    key: str
    name: str
    options: Sequence[tuple[str, str]]
    chosen: str


def read_filters(query: QueryParams, taxonomy: Taxonomy, repositories: Mapping[str, str]) -> tuple[Filters, list[Field]]:
    """Read the filters.

    Args:
        repositories: Those that the person may see: name -> as GitHub writes it.

    Raises:
        ProblemError: a value that the drop-down list does not hold (400).
    """
    kinds: list[tuple[str, str, list[tuple[str, str]]]] = [("repository", "Repository", [("", "All"), *repositories.items()])]
    for axis_id in FILTER_AXES:
        if axis_id in taxonomy.axes:
            axis = taxonomy.axes[axis_id]
            kinds.append((axis_id, axis.name, [("", "Any"), *((label, axis.label(label).name) for label in axis.label_ids)]))
    kinds.append(("decision", "Decision", [("", "Any"), *OUTCOMES.items()]))
    kinds.append(("status", "Status", [("open", "waiting"), *((status, status) for status in STATUSES if status != "open"), (ANY, "any")]))
    chosen: dict[str, str] = {}
    fields = []
    for key, name, options in kinds:
        default = options[0][0]
        value = query.get(key, default).casefold() if key == "repository" else query.get(key, default)
        if value not in {option for option, _ in options}:
            raise ProblemError(400, "bad-request", f"{key}: {value[:80]!r} is not to be chosen here")
        if value != default:
            chosen[key] = value
        fields.append(Field(key, name, options, value))
    return Filters(chosen), fields


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of one axis, short."""

    name: str
    label_name: str
    percent: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Row:
    """One issue of the list.

    Attributes:
        key: Names the issue and the prediction that was looked at.
    """

    key: str
    reference: str
    href: str
    title: str
    author: str
    status: str
    age: str
    filed: str
    axes: Sequence[Said]


def make_row(issue: Issue, prediction: Prediction | None, taxonomy: Taxonomy, repository: str, query: str, now: float) -> Row:
    """One issue of the list.

    Args:
        repository: Its name as GitHub writes it.
        query: Of the filters.
    """
    axes = []
    for axis_id in FILTER_AXES:
        said = prediction.verdict.axes.get(axis_id) if prediction is not None else None
        if said is not None and axis_id in taxonomy.axes and said.outcome != "not-applicable":
            axes.append(Said(taxonomy.axes[axis_id].name, label_name(taxonomy, axis_id, said.label), percent(said.probability), said.outcome))
    kind = prediction.verdict.axes.get("kind") if prediction is not None else None
    if not axes and kind is not None and "kind" in taxonomy.axes:
        axes.append(Said(taxonomy.axes["kind"].name, label_name(taxonomy, "kind", kind.label), percent(kind.probability), kind.outcome))
    return Row(
        key=f"{issue.repository}#{issue.number}@{prediction.id if prediction is not None else 0}",
        reference=f"{repository}#{issue.number}",
        href=issue_href(issue.repository, issue.number, query),
        title=" ".join(issue.title.split()) or "(no title)",
        author=issue.author,
        status=issue.status,
        age=age(now - issue.created_at),
        filed=moment(issue.created_at),
        axes=axes,
    )


def issue_href(repository: str, number: int, query: str = "") -> str:
    """The address of an issue's page."""
    return f"/queue/{quote(repository)}/{number}" + (f"?{query}" if query else "")


def list_href(query: str = "", more: Mapping[str, str | int] = MappingProxyType({})) -> str:
    """The address of the list."""
    parts = "&".join(part for part in (query, urlencode(more)) if part)
    return f"/queue?{parts}" if parts else "/queue"


def label_name(taxonomy: Taxonomy, axis: str, label: str) -> str:
    """A label for people; its id where the taxonomy knows it no more."""
    return next((known.name for known in taxonomy.axes[axis].labels if known.id == label), label)


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
