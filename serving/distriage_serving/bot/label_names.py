"""An issue's label history in the names that labels have today. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace

from distriage_serving.github.issue import ReadIssue, with_label_history
from distriage_serving.store import Review
from distriage_serving.store.label_names import UNKNOWN, LabelNames


def looked_at(known: LabelNames, issue: ReadIssue, watched: Collection[str], at: float) -> LabelNames:
    """What is known after a look at an issue and the labels of its repository.

    Args:
        watched: Names, in lower case, that are to be remembered.
        at: Unix time in seconds.
    """
    there = issue.label_ids
    lost = [
        (name.casefold(), id_, at)
        for id_, name in known.now.items()
        if there.get(id_, "").casefold() != name.casefold()
    ]
    # One that we made ourselves, and that went before the next look at the repository.
    used = {event.label.casefold() for event in issue.label_events if known.id_at(event.label, event.at) is None}
    gone = used & {*watched} - {name.casefold() for name in there.values()} - {name for name, *_ in lost}
    lost += [(name, UNKNOWN, at) for name in sorted(gone)]
    kept = {id_: name for id_, name in there.items() if id_ in known.now or name.casefold() in watched}
    return LabelNames(kept, (*known.former, *lost))


def in_names_of_today(known: LabelNames, issue: ReadIssue, reviews: Iterable[Review]) -> ReadIssue:
    """The issue with its label history in the names of today.

    A label that was deleted and made anew is another one: that the old one went is forgotten, unless a person had taken
    it off before.
    """
    if not known.former:
        return issue
    taken_off = {(review.who, math.floor(review.at)) for review in reviews if review.how == "unlabel"}
    there = {name.casefold() for name in issue.labels_there}
    events = []
    for event in issue.label_events:
        id_ = known.id_at(event.label, event.at)
        if id_ is not None and id_ in known.now:
            events.append(replace(event, label=known.now[id_]))
        elif id_ is None or event.label.casefold() not in there or (event.who, event.at) in taken_off:
            events.append(event)
    return replace(issue, state=with_label_history(issue.state, events), label_events=tuple(events))
