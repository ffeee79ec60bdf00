"""People's decisions on an issue, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from distriage.answer.feedback import own_label
from distriage.model.taxonomy import Taxonomy
from distriage_serving.queue.listing import age, display_name, moment
from distriage_serving.store import Review, SuggestionRow

_HOW: Final[Mapping[str, str]] = {
    "queue": "in the queue",
    "command": "by command",
    "label": "by label on GitHub",
    "unlabel": "by taking a label off",
    "approve": "by approving a suggestion on GitHub",
    "dismiss": "by dismissing a suggestion on GitHub",
}
NOBODY: Final = "0.0"  # decided anything so far


def decided_so_far(reviews: Sequence[Review]) -> str:
    """A digest of people's decisions on an issue: each decision and each undo changes it.

    PostgreSQL may show a review after one with a higher id, so the highest id alone does not tell.

    Args:
        reviews: All of the issue, including undone ones.
    """
    changes = len(reviews) + sum(row.undone_at is not None for row in reviews)
    return f"{max((row.id for row in reviews), default=0)}.{changes}"


def standing_of(reviews: Sequence[Review]) -> dict[str, Review]:
    """Axis -> the standing decision.

    Args:
        reviews: One issue's, by time.
    """
    return {row.axis: row for row in reviews if row.undone_at is None}


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision of a person."""

    what: str
    who: str
    how: str
    at: str
    age: str
    undone: bool


def view_history(reviews: Sequence[Review], taxonomy: Taxonomy, now: float) -> list[Decided]:
    """The newest decision first; a person's reviews of one moment are one decision."""
    groups: dict[tuple[float, str, str, bool], list[str]] = {}
    for item in reviews:
        key = (item.at, item.who, item.how, item.undone_at is not None)
        groups.setdefault(key, []).append(_words(item, taxonomy))
    return [
        Decided("; ".join(said), who, _HOW[how], moment(at), age(now - at), undone)
        for (at, who, how, undone), said in sorted(groups.items(), key=lambda group: -group[0][0])
    ]


def view_suggestions(rows: Sequence[SuggestionRow], now: float) -> list[tuple[str, str]]:
    """Suggestions on GitHub and their fate, without those that GitHub ended."""
    became = {"pending": "waits for a person there", "approved": "approved", "dismissed": "dismissed"}
    found = []
    for row in rows:
        if row.state in became:
            what = f"close as a duplicate of #{row.value}" if row.action == "close_issue" else row.value
            who = f" by {row.who}" if row.who else ""
            when = f", {age(now - row.decided_at)}" if row.decided_at is not None else ""
            found.append((what, f"{became[row.state]}{who}{when}"))
    return found


def _words(review: Review, taxonomy: Taxonomy) -> str:
    own = own_label(review.axis)
    if own is not None:
        return f"{own}: {'wrong' if review.label is None else 'right'}"
    if review.axis not in taxonomy.axes:
        return f"{review.axis}: {review.label or 'none'}"
    label = "none" if review.label is None else display_name(taxonomy, review.axis, review.label)
    return f"{taxonomy.axes[review.axis].name}: {label}"


def meanwhile(reviews: Sequence[Review], seen_id: int, taxonomy: Taxonomy, who: str) -> str:
    """The last decision or undo, as a sentence for a person whose page is older.

    Args:
        reviews: All of the issue, including undone ones. Since the page was made, one was added or undone; empty: the
            page named a decision that nobody made.
        seen_id: The newest review on the page.
    """
    if not reviews:
        return "The issue was classified anew or changed meanwhile."
    new = [item for item in reviews if item.id > seen_id]
    last = max(new or reviews, key=lambda item: item.undone_at or item.at)
    one = [item for item in reviews if (item.at, item.who, item.how) == (last.at, last.who, last.how)]
    what = "; ".join(_words(item, taxonomy) for item in one)
    person = "you" if last.who == who else last.who
    if last.undone_at is not None:
        return f"Meanwhile a decision by {person} was undone: {what}."
    return f"Meanwhile {person} decided {_HOW[last.how]}: {what}."
