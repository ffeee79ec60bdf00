"""A repository's labels by GitHub's id, to tell a former name from the same name today. Pure.

An issue's history knows labels by their names at the time. Since the last look at a repository, a label may have been
renamed, or deleted from all issues at once, which says nothing about any of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from distriage_serving.github.issue import ReadIssue, with_label_history
from distriage_serving.github.timeline import LabelEvent
from distriage_serving.store import Review

UNKNOWN: Final = 0  # in place of an id


@dataclass(frozen=True, slots=True)
class LabelNames:
    """The labels that the configuration names, or that we set.

    Attributes:
        now: Id -> name.
        former: (name in lower case, id, when it was last the name of that label, Unix time in seconds), by time.
    """

    now: Mapping[int, str]
    former: tuple[tuple[str, int, float], ...] = ()

    @classmethod
    def read(cls, stored: Any) -> LabelNames:
        """Read from the store's column."""
        kept = stored or {"now": [], "former": []}
        return cls(dict(kept["now"]), tuple((name, id_, at) for name, id_, at in kept["former"]))

    def stored(self) -> dict[str, Any]:
        """As the store's column keeps it."""
        return {"now": sorted(self.now.items()), "former": self.former}

    def looked_at(self, issue: ReadIssue, watched: Collection[str], at: float) -> LabelNames:
        """The same after a look at an issue and the labels of its repository.

        Args:
            watched: Names, in lower case, that are to be remembered.
            at: Unix time in seconds.
        """
        there = issue.label_ids
        lost = [
            (name.casefold(), id_, at)
            for id_, name in self.now.items()
            if there.get(id_, "").casefold() != name.casefold()
        ]
        # One that we made ourselves, and that went before the next look at the repository.
        used = {event.label.casefold() for event in issue.label_events if self._id_of(event) is None}
        gone = used & {*watched} - {name.casefold() for name in there.values()} - {name for name, *_ in lost}
        lost += [(name, UNKNOWN, at) for name in sorted(gone)]
        kept = {id_: name for id_, name in there.items() if id_ in self.now or name.casefold() in watched}
        return LabelNames(kept, (*self.former, *lost))

    def in_names_of_today(self, issue: ReadIssue, reviews: Iterable[Review]) -> ReadIssue:
        """The issue with its label history in the names of today.

        A label that was deleted and made anew is another one: that the old one went is forgotten, unless a person had
        taken it off before.
        """
        if not self.former:
            return issue
        taken_off = {(review.who, math.floor(review.at)) for review in reviews if review.how == "unlabel"}
        known = {name.casefold() for name in issue.labels_there}
        events = []
        for event in issue.label_events:
            id_ = self._id_of(event)
            if id_ is not None and id_ in self.now:
                events.append(replace(event, label=self.now[id_]))
            elif id_ is None or event.label.casefold() not in known or (event.who, event.at) in taken_off:
                events.append(event)
        return replace(issue, state=with_label_history(issue.state, events), label_events=tuple(events))

    def name_now(self, name: str, at: float) -> str:
        """Today's name of a label that had a name at a time; that name if the label is gone or unknown."""
        return self.now.get(self._id_at(name, at) or UNKNOWN, name)

    def _id_of(self, event: LabelEvent) -> int | None:
        """The label that an event was of, if its name is a former one."""
        return self._id_at(event.label, event.at)

    def _id_at(self, name: str, at: float) -> int | None:
        return next((id_ for former, id_, last in self.former if former == name.casefold() and at <= last), None)
