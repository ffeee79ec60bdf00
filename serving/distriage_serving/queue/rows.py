"""The rows of the list: for each issue the axes of the filters, with their standing labels. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from distriage.answer.verdict import AxisVerdict
from distriage.base.references import web_link
from distriage.base.types import Outcome
from distriage.model.taxonomy import Axis, Taxonomy
from distriage_serving.queue.history import decided_so_far, standing_of
from distriage_serving.queue.issue_view import view_plan
from distriage_serving.queue.listing import age, display_name, filter_axes, first_said, issue_href, moment, percent
from distriage_serving.store import Issue, Review, StoredVerdict


@dataclass(frozen=True, slots=True)
class AxisSummary:
    """One axis of a row.

    Attributes:
        percent, probability: The model's for this label; empty and 0 if unknown.
        outcome: The model's, or `decided`: a person chose the label.
        first: The model's first answer, if a second reader disagrees; else empty.
    """

    name: str
    label: str
    percent: str
    probability: float
    outcome: str
    first: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One issue of the list.

    Attributes:
        key: Names the issue, and the shown verdict and decisions.
        url: On GitHub; empty if unknown.
        axes: By id.
        differs: Two readers disagree.
        refused: GitHub's last refusal, or empty.
        comments: How many there are.
        active: When anything happened last.
    """

    key: str
    reference: str
    href: str
    url: str
    title: str
    author: str
    status: str
    age: str
    filed: str
    axes: Mapping[str, AxisSummary]
    differs: bool
    refused: str
    comments: int
    active: str


def make_row(
    issue: Issue,
    stored: StoredVerdict | None,
    reviews: Sequence[Review],
    taxonomy: Taxonomy,
    repository: str,
    query: str,
    now: float,
    refused: str = "",
) -> Row:
    """One issue of the list.

    Args:
        reviews: All of the issue, by time, including undone ones.
        repository: Its name as GitHub writes it.
        refused: Why GitHub refused the last act, or empty.
    """
    verdict = stored.verdict.axes if stored is not None else {}
    standing = standing_of(reviews)
    return Row(
        key=f"{issue.repository}#{issue.number}@{stored.id if stored is not None else 0}@{decided_so_far(reviews)}",
        reference=f"{repository}#{issue.number}",
        href=issue_href(issue.repository, issue.number, query),
        url=web_link(issue.url),
        title=" ".join(issue.title.split()) or "(no title)",
        author=issue.author,
        status=issue.status,
        age=age(now - issue.created_at),
        filed=moment(issue.created_at),
        axes={
            axis.id: _said(axis, verdict[axis.id], taxonomy, standing.get(axis.id))
            for axis in shown_axes(verdict, taxonomy, standing)
        },
        differs=any(axis.readers_differ for axis in verdict.values()),
        comments=issue.comments,
        active=age(now - issue.updated_at),
        refused="; ".join([*([refused] if refused else []), *view_plan(stored).refused]),
    )


def shown_axes(verdict: Mapping[str, AxisVerdict], taxonomy: Taxonomy, standing: Mapping[str, Review]) -> list[Axis]:
    """A row's axes: those of the filters that apply; for a report that is not a bug, its kind."""
    labels: dict[str, str | None] = {axis: said.label for axis, said in verdict.items()}
    labels |= {axis: review.label for axis, review in standing.items()}
    applicable = [
        axis
        for axis in taxonomy.axes.values()
        if axis.id in verdict and axis.unmet(labels) is None
        if axis.id in standing or verdict[axis.id].outcome is not Outcome.NOT_APPLICABLE
    ]
    return [axis for axis in applicable if axis in filter_axes(taxonomy)] or applicable[:1]


def _said(axis: Axis, said: AxisVerdict, taxonomy: Taxonomy, person: Review | None) -> AxisSummary:
    if person is None:
        name, first = display_name(taxonomy, axis.id, said.label), first_said(taxonomy, axis.id, said)
        return AxisSummary(axis.name, name, percent(said.probability), said.probability, str(said.outcome), first)
    probability = next((item.probability for item in said.top if item.label == person.label), None)
    return AxisSummary(
        axis.name,
        "None of these" if person.label is None else display_name(taxonomy, axis.id, person.label),
        "" if probability is None else percent(probability),
        probability or 0.0,
        "decided",
    )
