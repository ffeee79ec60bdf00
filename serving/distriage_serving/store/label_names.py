"""A repository's labels by GitHub's id, to tell a former name from the same name today. Pure.

Histories and reviews know labels by their names at the time. Since the last look at a repository, a label may have been
renamed, or deleted from all issues at once, which says nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from distriage.answer.feedback import own_axis, own_label

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

    def id_at(self, name: str, at: float) -> int | None:
        """The label that had a name at a time, if the name is a former one."""
        return next((id_ for former, id_, last in self.former if former == name.casefold() and at <= last), None)

    def name_now(self, name: str, at: float) -> str:
        """Today's name of the label that had a name at a time; that name if the label is gone or unknown."""
        return self.now.get(self.id_at(name, at) or UNKNOWN, name)

    def axis_now(self, axis: str, at: float) -> str:
        """Today's axis of a review of that time: that of an own label is its name."""
        name = own_label(axis)
        return own_axis(self.name_now(name, at)) if name is not None else axis
