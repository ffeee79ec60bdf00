"""The rows of the list: for each issue the axes of the filters, with their standing labels. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from distriage.answer.verdict import AxisVerdict
from distriage.base.references import web_link
from distriage.base.types import Outcome
from distriage.model.taxonomy import Axis, Taxonomy
from distriage_serving.queue.history import decided_so_far, standing_of
from distriage_serving.queue.issue_view import settled, view_plan
from distriage_serving.queue.listing import (
    LIKELY,
    age,
    display_name,
    filter_axes,
    first_said,
    issue_href,
    moment,
    percent,
    span,
)
from distriage_serving.queue.login.sessions import ADMIN
from distriage_serving.store import NOBODY_WAITS, Issue, Review, StoredVerdict


@dataclass(frozen=True, slots=True)
class AxisSummary:
    """One axis of a row.

    Attributes:
        percent, probability: The model's for its label; empty and 0 if a person decided.
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
        axes: Each by its id.
        refused: GitHub's last refusal, or empty.
        not_there: GitHub does not show a decision yet.
        why: See `why_here`.
        own: The names of own labels in its verdict.
        thread: How many comments, and when the last; empty without any.
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
    refused: str
    not_there: bool
    assignee: str
    why: str
    own: Sequence[str]
    thread: str


def make_row(
    issue: Issue,
    stored: StoredVerdict | None,
    reviews: Sequence[Review],
    taxonomy: Taxonomy,
    reference: str,
    query: str,
    now: float,
    refused: str = "",
    *,
    decision_waits: bool = False,
) -> Row:
    """One issue of the list.

    Args:
        reviews: All of the issue, by time, including undone ones.
        reference: Its name as GitHub writes it.
        refused: Why GitHub refused the last act, or empty.
        decision_waits: A job that brings decisions to GitHub is not done yet.
    """
    standing = standing_of(reviews)
    verdict = settled(stored.verdict.axes, taxonomy, standing) if stored is not None else {}
    shown = [axis.id for axis in shown_axes(verdict, taxonomy, standing)]
    return Row(
        key=f"{issue.repository}#{issue.number}@{stored.id if stored is not None else 0}@{decided_so_far(reviews)}",
        reference=reference,
        href=issue_href(issue.repository, issue.number, query),
        url=web_link(issue.url),
        title=" ".join(issue.title.split()) or "(no title)",
        author=issue.author,
        status=issue.status,
        age=age(now - issue.created_at),
        filed=moment(issue.created_at),
        axes={axis: _said(taxonomy.axes[axis], verdict[axis], taxonomy, standing.get(axis)) for axis in shown},
        thread=_thread(issue, now),
        refused="; ".join([*([refused] if refused else []), *view_plan(stored).refused]),
        not_there=decision_waits and bool(standing),
        assignee=issue.assignee.removeprefix(ADMIN),
        why=why_here(stored, taxonomy, standing, shown=shown, edited=edited_since(issue, standing), axes=verdict),
        own=[own.label for own in (stored.verdict.own or () if stored is not None else ())],
    )


def _thread(issue: Issue, now: float) -> str:
    """How many comments, and since when the author waits for an answer or else when anything happened last, unless the
    issue's age says it.
    """
    filed, active = age(now - issue.created_at), age(now - issue.updated_at)
    last = "" if active == filed else f", active {active}"
    if issue.created_at < issue.waits_since < NOBODY_WAITS:
        last = f", author waits {span(now - issue.waits_since)}"
    return f"{issue.comments:,} comment{'' if issue.comments == 1 else 's'}{last}" if issue.comments > 0 else ""


def edited_since(issue: Issue, standing: Mapping[str, Review]) -> str:
    """Who decided on an issue in the queue before its report was edited, so that it waits again; or empty."""
    decided = [review for review in standing.values() if review.how == "queue"]
    return max(decided, key=lambda review: review.at).who if decided and issue.status == "open" else ""


def why_here(
    stored: StoredVerdict | None,
    taxonomy: Taxonomy,
    standing: Mapping[str, Review] = MappingProxyType({}),
    *,
    waits_s: float | None = None,
    shown: Collection[str] = (),
    edited: str = "",
    axes: Mapping[str, AxisVerdict] | None = None,
) -> str:
    """Why an issue stands where it stands in the list: as `store.priority` computes it, in a few words, but by the
    labels that stand.

    Args:
        waits_s: Its age, if that is to be said.
        shown: Axes whose labels stand beside it.
        edited: See `edited_since`.
        axes: The verdict as `settled`, if it is at hand.
    """
    if stored is None:
        return "not read yet"
    verdict = settled(stored.verdict.axes, taxonomy, standing) if axes is None else axes
    applicable = {
        axis: said
        for axis, said in verdict.items()
        if axis in taxonomy.axes and said.outcome is not Outcome.NOT_APPLICABLE
    }
    parts = [f"edited since {edited} decided"] if edited else []
    parts += ["readers differ"] if any(said.readers_differ for said in verdict.values()) else []
    labels = {axis: standing[axis].label if axis in standing else said.label for axis, said in applicable.items()}
    weighty = [(axis, label) for axis, label in labels.items() if label and taxonomy.axes[axis].weight(label) != 1]
    parts += [display_name(taxonomy, axis, label).lower() for axis, label in reversed(weighty) if axis not in shown]
    if undecided := {axis: said for axis, said in applicable.items() if axis not in standing}:
        axis, least = min(undecided.items(), key=lambda item: item[1].probability)
        if least.probability < LIKELY and axis not in shown:
            parts.append(f"{taxonomy.axes[axis].name.lower()} unsure")
    if waits_s is not None:
        parts.append(f"waits {span(waits_s)}")
    return ", ".join(parts)


def shown_axes(verdict: Mapping[str, AxisVerdict], taxonomy: Taxonomy, standing: Mapping[str, Review]) -> list[Axis]:
    """A row's axes: those of the filters that apply; for a report that is not a bug, its kind."""
    labels: dict[str, str | None] = {axis: said.label for axis, said in verdict.items()}
    labels |= {axis: review.label for axis, review in standing.items()}
    applicable = [
        axis
        for axis in taxonomy.axes.values()
        if axis.id in verdict and taxonomy.unmet(axis.id, labels) is None
        if axis.id in standing or verdict[axis.id].outcome is not Outcome.NOT_APPLICABLE
    ]
    return [axis for axis in applicable if axis in filter_axes(taxonomy)] or applicable[:1]


def _said(axis: Axis, said: AxisVerdict, taxonomy: Taxonomy, person: Review | None) -> AxisSummary:
    if person is None:
        name, first = display_name(taxonomy, axis.id, said.label), first_said(taxonomy, axis.id, said)
        return AxisSummary(axis.name, name, percent(said.probability), said.probability, str(said.outcome), first)
    name = "None of these" if person.label is None else display_name(taxonomy, axis.id, person.label)
    return AxisSummary(axis.name, name, "", 0.0, "decided")
